"""Repeated spans against the definition, window by window: with all threads, any memory, and another collection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.budget import Budget
from lookalike.collide.windows import find_windows
from lookalike.config import make_config
from lookalike.engines.local.spans.found_spans import FoundSpans
from lookalike.engines.local.spans.span_pipeline import find_spans
from lookalike.errors import InputError, OptionError
from lookalike.io import open_source
from lookalike.key import key_of
from lookalike.represent.text_sets import tokens_of
from lookalike.represent.token_places import place_tokens
from lookalike.shingle import Shingle
from tests.reference.windows import Span, repeated_spans
from tests.represent.test_shingle_kernels import option_sets, raws

K = 5
SECOND_PASS = "lookalike.engines.local.spans.window_pass.find_windows"
# Few words, so that there is much to find, parted by what belongs to no word; and runs of a single word.
word = st.sampled_from(["a", "B", "b", "ça", "中"])
between = st.sampled_from([" ", ", ", "\n\n", ' "'])
texts = st.lists(st.tuples(word, between), max_size=30).map(lambda parts: "".join(a + b for a, b in parts))
collections = st.lists(st.one_of(texts, st.integers(0, 20).map(lambda n: "no " * n)), min_size=1, max_size=8)
some = settings(max_examples=60, deadline=None, derandomize=True)


def find(documents: list[str], against: list[str] | None = None, **options: Any) -> FoundSpans:
    config = make_config(unit=f"span:{K}", **{"threads": 1, **options})
    other = None if against is None else open_source(against)
    return find_spans(open_source(documents), config, against=other)


def told(found: FoundSpans) -> list[Span]:
    """The cuts in the words of the twin, with the documents of the other collection first."""
    cuts, first = found.cuts, found.collection.references
    rows = zip(
        cuts.rows + first, cuts.first_words, cuts.first_words + cuts.words, cuts.sources, cuts.source_words, strict=True
    )
    return [Span(*map(int, row)) for row in rows]


def truth(documents: list[str]) -> list[Span]:
    return repeated_spans([tokens_of(text.encode(), Shingle()) for text in documents], K)


@some
@given(collections)
def test_what_is_found_is_what_the_definition_says(documents: list[str]) -> None:
    assert told(find(documents)) == truth(documents)


@some
@given(collections)
def test_a_cut_is_from_its_first_word_to_the_next_one_that_stays(documents: list[str]) -> None:
    found = find(documents)
    cuts = found.cuts
    for number, span in enumerate(truth(documents)):
        text = documents[span.document]
        places = [*place_tokens(text.encode(), Shingle()).spans[:, 0].tolist(), len(text.encode())]
        assert (cuts.begins[number], cuts.ends[number]) == (places[span.begin], places[span.end])
        cut = text.encode()[places[span.begin] : places[span.end]].decode()
        begin = int(cuts.characters[number])
        assert text[begin : begin + int(cuts.lengths[number])] == cut
        source = documents[span.source][int(cuts.source_characters[number]) :]
        assert tokens_of(source.encode(), Shingle())[:K] == tokens_of(cut.encode(), Shingle())[:K]


@some
@given(collections)
def test_a_document_goes_if_no_word_of_it_is_left(documents: list[str]) -> None:
    spans = truth(documents)
    for row, (text, kept) in enumerate(zip(documents, find(documents).kept.tolist(), strict=True)):
        words = len(tokens_of(text.encode(), Shingle()))
        gone = sum(span.end - span.begin for span in spans if span.document == row)
        assert kept == (words == 0 or gone < words)


@some
@given(st.lists(raws, min_size=1, max_size=4), option_sets)
def test_texts_of_any_bytes_under_any_normalisation_are_read_alike_in_all_passes(
    raw: list[bytes], options: frozenset[str]
) -> None:
    """Each text twice, so that all of it repeats: what the passes make of it must agree."""
    config = make_config(unit=f"span:{K}", threads=1, normalize=options)
    found = find_spans(open_source([*raw, *raw]), config)
    shingle = Shingle(normalize=options)
    assert told(found) == repeated_spans([tokens_of(text, shingle) for text in [*raw, *raw]], K)


@some
@given(collections, collections)
def test_what_is_in_another_collection_is_there_earlier(documents: list[str], others: list[str]) -> None:
    own = [span for span in truth([*others, *documents]) if span.document >= len(others)]
    assert told(find(documents, others)) == own


@some
@given(collections, collections)
def test_only_what_is_in_another_collection_goes_where_that_is_asked_for(
    documents: list[str], others: list[str]
) -> None:
    """Repeats inside the input stay: as if each document were read alone after the other collection."""
    expected = []
    for row, text in enumerate(documents):
        inside = _only_from(others, text)
        expected += [span._replace(document=len(others) + row) for span in inside]
    assert told(find(documents, others, only_against=True)) == expected


def _only_from(others: list[str], text: str) -> list[Span]:
    """The spans of a text made of the windows that the other texts have."""
    first: dict[tuple[bytes, ...], tuple[int, int]] = {}
    for number, other in enumerate(others):
        tokens = tokens_of(other.encode(), Shingle())
        for begin in range(len(tokens) - K + 1):
            first.setdefault(tuple(tokens[begin : begin + K]), (number, begin))
    tokens = tokens_of(text.encode(), Shingle())
    spans: list[Span] = []
    for begin in range(len(tokens) - K + 1):
        window = tuple(tokens[begin : begin + K])
        if window not in first:
            continue
        if spans and begin <= spans[-1].end:
            spans[-1] = spans[-1]._replace(end=begin + K)
        else:
            spans.append(Span(0, begin, begin + K, *first[window]))
    return spans


def drawn(seed: int, documents: int) -> list[str]:
    """Texts that take passages from one another."""
    rng = np.random.default_rng(seed)
    texts: list[list[str]] = []
    for _ in range(documents):
        text = [f"w{number}" for number in rng.integers(0, 500, rng.integers(0, 200))]
        for _ in range(rng.integers(0, 3) if texts else 0):
            other = texts[rng.integers(len(texts))]
            begin = int(rng.integers(0, len(other) + 1))
            at = int(rng.integers(0, len(text) + 1))
            text[at:at] = other[begin : begin + int(rng.integers(3, 60))]
        texts.append(text)
    return [" ".join(text) for text in texts]


def test_threads_memory_and_seed_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = drawn(1, 400)
    expected = truth(documents)
    assert len(expected) > 100
    assert told(find(documents)) == expected
    assert told(find(documents, threads=4, seed=7)) == expected
    monkeypatch.setattr(Budget, "span_keys", 16 * 300)
    spilled = find(documents, threads=2)
    assert spilled.spilled > 0
    assert told(spilled) == expected


def test_hashes_that_take_different_words_for_the_same_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the first key every window has one hash; with the next all are as they should be."""
    documents = drawn(2, 50)
    first_key = key_of(0)

    def weak(*given: Any) -> Any:
        found = find_windows(*given)
        return found._replace(codes=np.full_like(found.codes, 3)) if (given[3] == first_key).all() else found

    monkeypatch.setattr(SECOND_PASS, weak)
    found = find(documents)
    assert found.figures.rehashed == 1
    assert told(found) == truth(documents)


def test_hashes_that_never_tell_words_apart_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        SECOND_PASS, lambda *given: (found := find_windows(*given))._replace(codes=np.full_like(found.codes, 3))
    )
    with pytest.raises(InputError, match="give another seed"):
        find(drawn(2, 50))


def test_what_stands_a_thousand_times_is_cut_but_once() -> None:
    """Boilerplate in many documents: every copy goes, and the first stays."""
    boilerplate = " ".join(f"all rights reserved by{i}" for i in range(10))
    documents = [f"text {i} says {i * 7} {boilerplate} and {i * 13} ends {i}" for i in range(1000)]
    found = find(documents)
    assert len(found.cuts) == 999
    assert set(found.cuts.sources.tolist()) == {0}
    assert set(found.cuts.words.tolist()) == {41}  # forty, and the one behind them


def test_a_text_of_a_few_words_is_compared_as_a_whole() -> None:
    """And not window by window, of which all have the same first one."""
    documents = ["0 " * 1000, "1 2 3 " * 300 + "4 " * 100, "0 " * 50]
    found = find(documents)
    assert told(found) == truth(documents)
    assert found.figures.compared_stretches <= 6


def test_documents_without_anything_in_common_are_not_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("there is nothing to look at")

    monkeypatch.setattr(SECOND_PASS, never)
    assert len(find([" ".join(f"{i}-{j}x" for j in range(40)) for i in range(20)]).cuts) == 0


def test_spans_are_for_text() -> None:
    with pytest.raises(OptionError, match="unit is 'span:5': it is for text"):
        find_spans(open_source([{1, 2}, {2, 3}]), make_config(unit="span:5"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"unit": "span"}, "unit is 'span': it must be one of"),
        ({"unit": "span:4"}, "with K from 5 to 10,000"),
        ({"unit": "span:50", "threshold": 0.9}, "threshold does not go with unit='span:50'"),
        ({"unit": "span:50", "shingle": "char:9"}, "shingle does not go with"),
        ({"unit": "span:50", "group_by": "site"}, "group_by does not go with"),
        ({"unit": "span:50", "exact": True}, "exact does not go with"),
        ({"unit": "span:50", "keep": "longest"}, "keep does not go with"),
        ({"unit": "span:50", "column": ["a", "b"]}, "it takes one column"),
    ],
)
def test_options_that_mean_nothing_to_spans_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        make_config(**options)
