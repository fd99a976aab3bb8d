"""What items are made of, as the slow twin has it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lookalike.represent.literal import digest, element_literals, packed, shingle_literals
from lookalike.represent.text_sets import tokens_of
from lookalike.shingle import parse_shingle
from lookalike.twin import text as twin
from tools.make_golden_vectors import OPTION_SETS, TEXTS


@pytest.mark.parametrize("kind", ["word", "char"])
def test_tokens_are_those_of_the_twin(kind: str) -> None:
    for names in OPTION_SETS:
        shingle = parse_shingle(f"{kind}:3", normalize=names.split())
        for text in TEXTS.values():
            raw = text.encode() if isinstance(text, str) else text
            assert tokens_of(raw, shingle) == [token.encode() for token in twin.tokens(raw, kind, shingle.normalize)]


@pytest.mark.parametrize("name", ["word:1", "word:3", "word:5", "char:5", "word:1:bag", "char:2:bag"])
def test_there_are_as_many_as_there_are_hashes(name: str) -> None:
    shingle = parse_shingle(name)
    for text in TEXTS.values():
        raw = text.encode() if isinstance(text, str) else text
        hashes = twin.shingles(raw, shingle.kind, shingle.k, shingle.normalize, shingle.bag)
        assert len(shingle_literals(raw, shingle)) == len(hashes)


def test_runs_of_tokens_keep_their_borders() -> None:
    shingle = parse_shingle("word:2")
    assert shingle_literals(b"ab c", shingle).isdisjoint(shingle_literals(b"a bc", shingle))
    assert shingle_literals(b"A b", shingle) == shingle_literals(b"a, B!", shingle) == {b"a\xffb"}
    assert shingle_literals(b"?!", shingle) == shingle_literals(b"", shingle) == frozenset()
    assert tokens_of(b"a-b", parse_shingle("word:1", tokens=lambda text: text.split("-"))) == [b"a", b"b"]


def test_a_bag_counts_its_repeats() -> None:
    shingle = parse_shingle("word:1:bag")
    assert shingle_literals(b"a b a a", shingle) == {b"a", b"b", b"a\xff\xff1", b"a\xff\xff2"}


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_elements_are_taken_as_they_are(kind: type[pa.ListType]) -> None:
    rows = pa.array([["a", "b", "a", None], [], None], kind(pa.string()))
    assert [element_literals(each) for each in packed(rows)] == [{b"a", b"b"}, frozenset(), frozenset()]
    text, raw = packed(pa.array([["é"]]))[0], packed(pa.array([["é".encode()]]))[0]
    assert element_literals(text) == element_literals(raw)
    encoded = pa.array([["a", "b"]], kind(pa.dictionary(pa.int32(), pa.string())))
    assert element_literals(packed(encoded)[0]) == {b"a", b"b"}
    assert [element_literals(each) for each in packed(pa.array([[1, 2**63]], kind(pa.uint64())))] == [{1, 2**63}]
    assert element_literals(packed(pa.array([[True]]))[0]) == element_literals(packed(pa.array([[1]]))[0])
    assert packed(pa.array(["text", None, "é"])) == [b"text", b"", "é".encode()]


def test_a_digest_is_of_the_set_or_of_the_bytes_without_one() -> None:
    assert digest({b"a", b"b"}, b"x") == digest({b"b", b"a"}, b"y")
    different = [
        digest(set(), b""),
        digest(set(), b"a"),
        digest({b"a"}, b"a"),
        digest({b"ab"}, b""),
        digest({b"a", b"b"}, b""),
    ]
    assert len(set(different)) == len(different)
    assert digest({1, 12}, b"") != digest({11, 2}, b"")
