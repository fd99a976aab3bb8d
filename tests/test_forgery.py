"""Precision 1 against somebody who makes items collide: possible under a key that is known, not under another."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import lookalike
from lookalike.twin.hashing import PUBLIC, hash_bytes, key_of
from tests.reference.forgery import forged_bytes, forged_words

SENTENCE = "the quick brown fox jumped over fifteen lazy dogs near our old river bank today"


@pytest.fixture(scope="module")
def forged() -> str:
    """Fifteen nonsense words, each of which has the hash of a word of the sentence under the public key."""
    return " ".join(forged_words(SENTENCE.split(), PUBLIC))


def secret_seeds(count: int) -> list[int]:
    drawn = random.Random(7)
    return [drawn.getrandbits(128) for _ in range(count)]


def test_under_the_public_seed_anybody_can_have_a_text_removed(forged: str) -> None:
    """What a known key cannot prevent, whatever the hash; the texts themselves can (`verify="text"`)."""
    assert lookalike.dedup([forged, SENTENCE]).removed.to_pylist() == [{"id": 1, "kept": 0, "similarity": 1.0}]


def test_what_collides_under_one_seed_does_not_under_another(forged: str) -> None:
    for seed in [1, *secret_seeds(3)]:
        found = lookalike.dedup([forged, SENTENCE], seed=seed, shingle="word:1", threshold=0.01)
        assert found.removed.num_rows == 0
        words = zip(forged.split(), SENTENCE.split(), strict=True)
        assert all(
            hash_bytes(a.encode(), key=key_of(seed)) != hash_bytes(b.encode(), key=key_of(seed)) for a, b in words
        )


def test_sets_and_bags_of_strings_are_forged_under_their_seed_alone() -> None:
    target = [f"element {i}".encode() for i in range(8)]
    made = [forged_bytes(each, b"forged %d" % i, PUBLIC) for i, each in enumerate(target)]
    sets = pa.table({"items": pa.array([made, target], pa.list_(pa.binary()))})
    weighted = pa.array([[(each, 2.0) for each in item] for item in (made, target)], pa.map_(pa.binary(), pa.float64()))
    cases: list[tuple[pa.Table, dict[str, Any]]] = [
        (sets, {"measure": "jaccard"}),
        (sets, {"measure": "containment"}),
        (sets, {"exact": True}),
        (pa.table({"items": weighted}), {"measure": "weighted-jaccard"}),
        (pa.table({"items": weighted}), {"measure": "cosine"}),
    ]
    for items, options in cases:
        assert len(lookalike.pairs(items, **options)) == 1
        for seed in secret_seeds(2):
            assert len(lookalike.pairs(items, seed=seed, **options)) == 0


def test_no_difference_of_two_strings_hides_from_most_keys() -> None:
    """Differences that a mixer of shifts and odd products lets through, and those of lengths: none under any key."""
    chosen = [1 << bit for bit in range(64)]
    # x ^ x >> 30 makes 2^63 of this one, which a product with an odd number leaves as it is.
    chosen += [2**63 ^ 2**33 ^ 2**3, 2**63 ^ 2**36 ^ 2**9, 2**64 - 1]
    base = b"an element of 24 bytes.."
    others = [base[:16], base + b"\0", base + b"\0" * 8]
    for difference in chosen:
        for lane in range(3):
            changed = int.from_bytes(base[8 * lane : 8 * lane + 8], "little") ^ difference
            others.append(base[: 8 * lane] + changed.to_bytes(8, "little") + base[8 * lane + 8 :])
            # The same in two lanes, as if the first one went through unchanged.
            if lane:
                before = int.from_bytes(base[8 * lane - 8 : 8 * lane], "little") ^ difference
                others.append(
                    base[: 8 * lane - 8]
                    + before.to_bytes(8, "little")
                    + changed.to_bytes(8, "little")
                    + base[8 * lane + 8 :]
                )
    for seed in secret_seeds(20):
        hashes = {hash_bytes(each, key=key_of(seed)) for each in [base, *others]}
        assert len(hashes) == 1 + len(others)
