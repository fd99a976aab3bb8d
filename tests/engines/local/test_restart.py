"""A run that is broken off anywhere goes on where it was, and its result is that of one that was not."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lookalike.config import make_config
from lookalike.engines.local.pipeline import Found, find
from lookalike.engines.local.result_tables import clusters_table, pairs_table, removed_table
from lookalike.engines.local.store.work_folder import Work
from lookalike.io import open_source

pytestmark = pytest.mark.no_cover

# A chunk of sketches is a megabyte at least: 202 words of 8 bytes make one of 649 items.
BANDS = 200


def rows(count: int, seed: int) -> pa.Table:
    """Texts of a few words, of which many are near copies, with an id, a score and a group."""
    rng = random.Random(seed)
    texts: list[str] = []
    for _ in range(count):
        words = [f"w{rng.randrange(10**6)}" for _ in range(12)]
        if texts and rng.random() < 0.4:
            words = rng.choice(texts).split()
        if rng.random() < 0.7:
            words = [*words[:-1], f"w{rng.randrange(10**6)}"]
        texts.append(" ".join(words))
    return pa.table(
        {
            "id": [f"{seed}-{i:05}" for i in rng.sample(range(count), count)],
            "text": texts,
            "score": [rng.randrange(9) for _ in range(count)],
            "group": [rng.choice("ab") for _ in range(count)],
        }
    )


OWN = rows(1700, 1)
# A hundred of the others are copies of some that are to be compared with them.
OTHERS = pa.concat_tables([rows(700, 2), rows(100, 3).set_column(1, "text", OWN["text"].slice(600, 100))])


class Breaking:
    """A source that breaks off after so many pieces over all passes."""

    def __init__(self, table: pa.Table, most: int, batch_rows: int) -> None:
        self._source = open_source(table, batch_rows=batch_rows)
        self._left = most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def pieces(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        for piece in self._source.pieces(*arguments, **options):
            self._left -= 1
            if self._left < 0:
                raise KeyboardInterrupt
            yield piece


OPTIONS: dict[str, dict[str, Any]] = {
    "ids": {"id": "id"},
    "keep": {"id": "id", "keep": "max:score"},
    "longest": {"keep": "longest"},
    "groups": {"group_by": "group", "report_by": "score"},
    "lines": {"unit": "line"},
    "spilled": {"memory": 400_000},
    "only against": {"id": "id", "only_against": True},
}


def told(run: Found) -> list[Any]:
    """Everything that a run tells, but how long it took."""
    counts = dataclasses.asdict(run.counts)
    tables = [table(run).to_pylist() for table in (pairs_table, removed_table, clusters_table)]
    sketched = run.sketched
    audited = None if sketched.audit is None else str(sketched.audit)
    labels = None if sketched.labels is None else (sketched.labels[0], sketched.labels[1].tolist())
    return [*tables, counts, labels, audited]


def run_of(
    options: dict[str, Any], work: Work | None = None, most: int = 10**9, *, against: bool = False, batch_rows: int = 90
) -> Found:
    more = {name: options[name] for name in ("memory", "group_by", "report_by") if name in options}
    plain = {name: value for name, value in options.items() if name not in more}
    config = make_config(shingle="word:1", threshold=0.7, bands=BANDS, rows=1, threads=2, **plain)
    config = dataclasses.replace(config, memory=1 << 24) if "memory" not in more else config
    source: Any = Breaking(OWN, most, batch_rows)
    other: Any = Breaking(OTHERS, most, batch_rows) if against else None
    return find(source, dataclasses.replace(config, **more), against=other, work=work)


@pytest.mark.parametrize(
    ("name", "against"),
    [(name, against) for name in OPTIONS for against in (False, True) if against or name != "only against"],
)
def test_a_run_that_is_broken_off_again_and_again_ends_with_the_same_result(
    name: str, against: bool, tmp_path: Path
) -> None:
    """It gets a little further each time; batches may be others than before."""
    options = OPTIONS[name]
    whole = told(run_of(options, against=against))
    assert all(whole[:3])
    for time, (batch_rows, most) in enumerate(((90, 3), (90, 12), (50, 20), (90, 16), (90, 18))):
        work = Work(tmp_path / "work")
        work.begin({"name": name}, resume=time > 0)
        with pytest.raises(KeyboardInterrupt):
            run_of(options, work, most, against=against, batch_rows=batch_rows)
    work = Work(tmp_path / "work")
    work.begin({"name": name}, resume=True)
    assert len(list((tmp_path / "work").glob("sketch-*.bin"))) >= 2
    assert told(run_of(options, work, against=against)) == whole

    again = Work(tmp_path / "work")
    again.begin({"name": name}, resume=True)
    assert again.finished("found") is not None
    assert told(run_of(options, again, against=against)) == whole
