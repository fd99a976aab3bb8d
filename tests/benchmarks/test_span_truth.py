"""The suffix array of benchmarks/spans.py against sorted suffixes and the definition of a repeated span."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.span_truth import numbered, suffix_array, true_spans
from tests.reference.windows import repeated_spans

collections = st.lists(st.lists(st.sampled_from("abc"), max_size=25), min_size=1, max_size=6)
some = settings(max_examples=60, deadline=None, derandomize=True)


@some
@given(collections)
def test_suffixes_are_sorted(documents: list[list[str]]) -> None:
    tokens = numbered(documents)[0]
    expected = sorted(range(len(tokens)), key=lambda at: tokens[at:].tolist())
    assert suffix_array(tokens).tolist() == expected


@some
@given(collections, st.integers(1, 6))
def test_spans_are_those_of_the_definition(documents: list[list[str]], k: int) -> None:
    assert [tuple(each) for each in true_spans(documents, k)] == [tuple(each) for each in repeated_spans(documents, k)]
