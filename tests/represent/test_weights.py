"""Shingles counted and weighed: against Counter, and the same bits whatever the batches."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.represent.document_counts import Frequencies
from lookalike.represent.text_sets import shingle_texts
from lookalike.represent.weights import as_sets, bm25, count_shingles, drop_frequent, tf_idf, weighed
from lookalike.shingle import Shingle, parse_shingle
from lookalike.twin import hashing
from lookalike.twin.text import shingle_hashes, shingles, tokens
from lookalike.types import Sets
from tests.plain_sets import plain_sets
from tests.reference import weighted as twin

Weigh = Callable[[Sets, Frequencies], Sets]

TEXTS = [
    "the cat sat on the mat and the cat sat on the hat",
    "the dog sat on the mat",
    "",
    "a rose is a rose is a rose is a rose",
    "the the the the the",
    "Dvořák wrote the symphony, and the\u0301 rest",
    "the cat sat on the mat and the cat sat on the hat",
]


def texts(strings: Sequence[str]) -> pa.Array:
    return pa.array(strings, pa.string())


def bags(sets: Sets) -> list[dict[int, float]]:
    assert sets.weights is not None
    values, weights = sets.values.tolist(), sets.weights.tolist()
    cuts = zip(sets.offsets[:-1].tolist(), sets.offsets[1:].tolist(), strict=True)
    return [dict(zip(values[a:b], weights[a:b], strict=True)) for a, b in cuts]


def true_counts(text: str, shingle: Shingle) -> Counter[int]:
    cut = tokens(text.encode(), shingle.kind, shingle.normalize)
    return Counter(shingle_hashes(cut, shingle.kind, shingle.k))


def counted_frequencies(strings: Sequence[str], shingle: Shingle, **sizes: int) -> Frequencies:
    frequencies = Frequencies(**sizes)  # type: ignore[arg-type]
    frequencies.add(count_shingles(texts(strings), shingle))
    return frequencies


words = st.lists(st.sampled_from(["a", "b", "the", "Zoë", "e\u0301", "中文"]), max_size=30).map(" ".join)


@given(st.lists(words, max_size=5), st.sampled_from(["word:1", "word:2", "char:3", "word:1:bag"]))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_shingles_are_counted_as_a_counter_does(strings: list[str], name: str) -> None:
    shingle = parse_shingle(name)
    counted = count_shingles(texts(strings), shingle)
    expected = [true_counts(text, shingle) for text in strings]
    assert bags(counted) == expected
    # In order of first occurrence, as `shingle_texts` has them.
    plain = shingle_texts(texts(strings), parse_shingle(name.removesuffix(":bag")))
    assert counted.values.tolist() == plain.values.tolist()
    assert counted.offsets.tolist() == plain.offsets.tolist()
    assert (counted.invalid, counted.short) == (plain.invalid, plain.short)


def test_the_tokens_of_a_callable_are_counted_too() -> None:
    shingle = parse_shingle("word:1", tokens=str.split)
    (bag,) = bags(count_shingles(texts(["x y x x"]), shingle))
    assert sorted(bag.values()) == [1.0, 3.0]


def test_fingerprints_tell_weights_apart_and_fold_what_is_identical() -> None:
    shingle = parse_shingle("word:1")
    counted = count_shingles(texts(["a b b", "b a b", "a a b", "a b", "", "?"]), shingle)
    found = [tuple(row) for row in counted.fingerprints.tolist()]
    assert found[0] == found[1]
    assert len(set(found)) == 5
    assert found[:4] == [twin.weighted_fingerprint(bag) for bag in bags(counted)[:4]]
    assert found[4:] == [hashing.fingerprint(set(), raw) for raw in (b"", b"?")]


def test_the_golden_fingerprints_are_met() -> None:
    golden = Path(__file__).resolve().parents[1] / "golden" / "vectors.json"
    for each in json.loads(golden.read_text(encoding="ascii"))["bags"]:
        bag = twin.bag_of_hex(each["bag"])
        plain = plain_sets([bag.keys()])
        found = weighed(plain, np.array([bag[x] for x in plain.values.tolist()], np.float32)).fingerprints[0]
        assert "".join(f"{half:016x}" for half in found.tolist()) == each["fingerprint"]


def test_weights_are_the_formulas_rounded_to_single_precision() -> None:
    shingle = parse_shingle("word:1")
    frequencies = counted_frequencies(TEXTS, shingle)
    counted = count_shingles(texts(TEXTS), shingle)
    df = Counter(x for text in TEXTS for x in true_counts(text, shingle))
    N, mean = len(TEXTS), frequencies.mean_length
    for tf, by_idf, by_bm25 in zip(
        bags(counted), bags(tf_idf(counted, frequencies)), bags(bm25(counted, frequencies)), strict=True
    ):
        length = int(sum(tf.values()))
        for x, times in tf.items():
            # Half a unit of 2^-24 for the rounding, and hardly anything for the float64 before.
            assert by_idf[x] == pytest.approx(twin.tf_idf(int(times), df[x], N), rel=2.0**-24 * 1.001)
            assert by_bm25[x] == pytest.approx(twin.bm25(int(times), df[x], N, length, mean), rel=2.0**-24 * 1.001)
            assert by_bm25[x] > 0


def test_a_shingle_in_every_document_and_one_that_was_never_seen_have_weight_too() -> None:
    shingle = parse_shingle("word:1")
    frequencies = counted_frequencies(["a b", "a c"], shingle)
    counted = count_shingles(texts(["a new"]), shingle)
    everywhere, unseen = bags(tf_idf(counted, frequencies))[0].values()
    assert everywhere == pytest.approx(math.log(2), rel=1e-6)
    assert unseen == pytest.approx(math.log(3), rel=1e-6)
    assert all(0 < weight < math.inf for weight in bags(bm25(counted, frequencies))[0].values())
    nothing = Frequencies()
    for weigh in (tf_idf, bm25):
        assert all(0 < weight < math.inf for weight in bags(weigh(counted, nothing))[0].values())


def test_a_count_above_the_number_of_documents_is_taken_for_all_of_them() -> None:
    """In a table of one counter everything falls together."""
    shingle = parse_shingle("word:1")
    frequencies = counted_frequencies(["a b c d"], shingle, exact=0, width=1)
    (bag,) = bags(bm25(count_shingles(texts(["a b"]), shingle), frequencies))
    assert all(weight > 0 for weight in bag.values())


@pytest.mark.parametrize("weigh", [tf_idf, bm25])
def test_weights_do_not_depend_on_batches(weigh: Weigh) -> None:
    shingle = parse_shingle("word:2")
    frequencies = counted_frequencies(TEXTS, shingle)
    together = weigh(count_shingles(texts(TEXTS), shingle), frequencies)
    for i, bag in enumerate(bags(together)):
        alone = weigh(count_shingles(texts(TEXTS[i : i + 1]), shingle), frequencies)
        assert bags(alone) == [bag]
        assert alone.fingerprints.tolist() == [together.fingerprints[i].tolist()]
    assert together.fingerprints[0].tolist() == together.fingerprints[6].tolist()


def test_frequent_shingles_are_dropped_and_what_that_empties_is_counted() -> None:
    shingle = parse_shingle("word:1")
    strings = ["the a b", "the the", "the c", "", "c"]
    frequencies = counted_frequencies(strings, shingle)
    counted = count_shingles(texts(strings), shingle)
    left, dropped = drop_frequent(counted, frequencies, 0.5)
    (the,) = true_counts("the", shingle)
    assert bags(left) == [{x: w for x, w in bag.items() if x != the} for bag in bags(counted)]
    assert dropped == (3, 1)
    assert dropped.documents == 1
    prints = [tuple(row) for row in left.fingerprints.tolist()]
    assert prints[2] == prints[4], "what is left is the same"
    assert prints[1] == tuple(counted.fingerprints[1].tolist()), "an emptied document equals only its own copies"
    # Three of five documents are 0.6 of them, not more.
    same, none = drop_frequent(counted, frequencies, 0.6)
    assert none == (0, 0)
    assert bags(same) == bags(counted)
    assert same.fingerprints.tolist() == counted.fingerprints.tolist()


@pytest.mark.parametrize("count", range(1, 100))
def test_a_share_is_met_exactly_as_it_is_written(count: int) -> None:
    documents = plain_sets([{7} if i < count else {100 + i} for i in range(100)])
    frequencies = Frequencies()
    frequencies.add(documents)
    assert drop_frequent(documents, frequencies, count / 100)[1] == (0, 0)
    assert drop_frequent(documents, frequencies, (count - 0.5) / 100)[1].shingles >= count


def test_sets_without_weights_lose_frequent_shingles_too() -> None:
    shingle = parse_shingle("word:1")
    strings = ["the a b", "the b", "a b the"]
    plain = shingle_texts(texts(strings), shingle)
    frequencies = Frequencies()
    frequencies.add(plain)
    left, dropped = drop_frequent(plain, frequencies, 0.7)
    assert left.weights is None
    assert dropped == (6, 1)
    (a,) = true_counts("a", shingle)
    assert left.values.tolist() == [a, a]
    assert left.fingerprints[0].tolist() == list(hashing.fingerprint({a}, b"")) == left.fingerprints[2].tolist()


@pytest.mark.parametrize("kind", ["word:1", "word:2", "char:2"])
def test_counted_bags_become_the_sets_that_bags_of_shingles_are(kind: str) -> None:
    strings = ["a a b a", "b", "", "a b a b a b", "x"]
    found = as_sets(count_shingles(texts(strings), parse_shingle(kind)))
    bagged = shingle_texts(texts(strings), parse_shingle(f"{kind}:bag"))
    rows = [set(found.values[a:b].tolist()) for a, b in pairwise(found.offsets.tolist())]
    shingle = parse_shingle(kind)
    assert rows == [shingles(text.encode(), shingle.kind, shingle.k, shingle.normalize, True) for text in strings]
    assert found.fingerprints.tolist() == bagged.fingerprints.tolist()
    assert found.weights is None
