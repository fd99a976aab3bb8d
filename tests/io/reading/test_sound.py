"""Arrays that point outside of their buffers are refused; everything else that Arrow holds is not."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lookalike
from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.reading.sound import check_sound
from tests.io.reading.forged import forged, written

FORGED = forged()


@pytest.mark.parametrize("what", FORGED)
@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
def test_a_forged_file_is_an_error_that_names_file_batch_and_column(what: str, stream: bool, tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    path.write_bytes(FORGED[what][stream])
    source = open_files([str(path)])
    with pytest.raises(InputError, match=r"in.arrow: record batch 0: column '\w+' is broken: ") as caught:
        list(source.batches(source.schema().names))
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="is broken"):
        lookalike.dedup(str(path))


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_table_in_memory_is_refused_too(what: str) -> None:
    table = pa.ipc.open_stream(FORGED[what][1]).read_all()

    class Stranger:
        """Anything that speaks the Arrow C interface."""

        def __arrow_c_stream__(self, requested: Any = None) -> Any:
            return table.__arrow_c_stream__(requested)

    with pytest.raises(InputError, match=r"items: column '\w+' is broken: "):
        lookalike.pairs(table)
    # The interface does not tell how large a buffer of bytes is: the last offset is all there is to go by.
    if what.split(":")[0] in ("sets", "large lists", "vectors") or "beyond the end" not in what:
        with pytest.raises(InputError, match=r"items: column '\w+' is broken: "):
            lookalike.pairs(Stranger())


DAY = datetime.date(2020, 2, 29)
SOUND: dict[str, Any] = {
    "text": pa.array(["a", None]),
    "views": pa.array(["a", "b" * 30], pa.string_view()),
    "bytes in views": pa.array([b"a", b"b" * 30], pa.binary_view()),
    "decimals": pa.array([decimal.Decimal("1.5"), None]),
    "wide decimals": pa.array([decimal.Decimal("1.5"), None], pa.decimal256(50, 3)),
    "dates": pa.array([DAY, None]),
    "times": pa.array([datetime.time(1), None]),
    "intervals": pa.array([pa.MonthDayNano([1, 2, 3]), None]),
    "structs": pa.array([{"a": "x", "d": DAY, "l": [["q"]]}, None]),
    "maps": pa.array([[("a", DAY)], None], pa.map_(pa.string(), pa.date32())),
    "fixed lists": pa.array([["a", "b"], None], pa.list_(pa.string(), 2)),
    "list views": pa.array([["a"], None], pa.list_view(pa.string_view())),
    "large list views": pa.array([["a"], None], pa.large_list_view(pa.string())),
    "dictionaries": pa.array(["a", None]).dictionary_encode(),
    "dictionaries in lists": pa.array([["a"], None], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "truths": pa.array([True, None]),
    "nulls": pa.nulls(2),
    "runs": pc.run_end_encode(pa.array([1, 1])),
    "unions": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array(["a", "b"]), pa.array([1, 2])]),
    "an extension": pa.array([b"a" * 16, None], pa.uuid()),
    # What full validation refuses, and what is read here all the same.
    "text that is not UTF-8": pa.array([b"\xff", b"a"]).view(pa.string()),
    "such text in lists": pa.ListArray.from_arrays([0, 1, 2], pa.array([b"\xff", b"a"]).view(pa.string())),
    "such text in dictionaries": pa.DictionaryArray.from_arrays([0, 1], pa.array([b"\xff", b"a"]).view(pa.string())),
    "dates that are no whole days": pa.array([86_400_001, 0]).view(pa.date64()),
}


@pytest.mark.parametrize("what", SOUND)
def test_nothing_sound_is_refused_whole_or_sliced(what: str) -> None:
    table = pa.table({"x": SOUND[what]})
    check_sound(table, "here")
    check_sound(table.slice(1), "here")


def test_text_that_is_not_utf8_is_still_read_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    path.write_bytes(written(pa.array([b"one two three \xff", b"one two three"]).view(pa.string()), "text"))
    assert lookalike.pairs(str(path), shingle="word:1", threshold=0.5).report["invalid_utf8"] == 1
