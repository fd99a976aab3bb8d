"""Codes of values against a dict."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io.making import coding
from lookalike.io.making.coding import Coder
from tests.reference.edges import coded


@settings(deadline=None)
@given(st.lists(st.lists(st.binary(max_size=20) | st.sampled_from([b"", b"\0", b"\0\0", b"aaaaaaaa", b"aaaaaaaab"]))))
def test_text_is_coded_as_by_a_dict_however_it_is_cut(batches: list[list[bytes]]) -> None:
    coder = Coder(pa.large_string())
    codes = [code for batch in batches for code in coder.codes(pa.array(batch, pa.binary())).tolist()]
    expected, distinct = coded([value for batch in batches for value in batch])
    assert codes == expected
    assert coder.values().cast(pa.large_binary()).to_pylist() == distinct
    coder.close()
    assert coder.values().cast(pa.large_binary()).to_pylist() == distinct


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3))))
def test_integers_are_coded_as_by_a_dict(batches: list[list[int]]) -> None:
    coder = Coder(pa.int64())
    codes = [code for batch in batches for code in coder.codes(pa.array(batch, pa.int64())).tolist()]
    expected, distinct = coded([value for batch in batches for value in batch])
    assert codes == expected
    assert coder.values().to_pylist() == distinct


def test_many_values_are_coded_through_every_growth_of_the_table() -> None:
    values = [f"value {i % 7001}" for i in range(20_000)]
    coder = Coder(pa.large_string())
    codes = [code for at in range(0, 20_000, 300) for code in coder.codes(pa.array(values[at : at + 300])).tolist()]
    expected, distinct = coded(values)
    assert codes == expected
    assert coder.values().to_pylist() == distinct
    assert coder.values().type == pa.large_string()


def test_a_sliced_column_is_coded_by_its_own_values() -> None:
    coder = Coder(pa.large_string())
    assert coder.codes(pa.array(["a", "b", "c", "b"]).slice(1)).tolist() == [0, 1, 0]
    assert coder.values().to_pylist() == ["b", "c"]


def test_text_that_is_not_utf_8_comes_as_bytes() -> None:
    coder = Coder(pa.large_string())
    coder.codes(pa.array([b"a", b"\xff"]))
    assert coder.values().type == pa.large_binary()


def test_more_values_than_codes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "_MOST_VALUES", 2)
    with pytest.raises(InputError, match="more than 2 distinct values"):
        Coder(pa.int64()).codes(pa.array([1, 2, 3]))
