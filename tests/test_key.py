"""The key of a seed, and that everything is hashed with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lookalike.key import MOST_SEED, PUBLIC_KEY, TOKEN, key_of, seed_shown, sketch_seed
from lookalike.represent.bags import bags
from lookalike.represent.elements import hash_cells, hash_ints, hash_raw, hash_strings
from lookalike.represent.text_sets import shingle_texts, spans_of
from lookalike.represent.vectors import dense, packed_bits
from lookalike.represent.weights import count_shingles
from lookalike.shingle import parse_shingle
from lookalike.twin import hashing
from lookalike.twin import text as twin
from lookalike.types import U64Array

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "vectors.json").read_text(encoding="ascii"))


def test_the_golden_keys_are_met() -> None:
    for seed, words in GOLDEN["keys"].items():
        assert [*key_of(int(seed)).tolist(), sketch_seed(int(seed))] == [int(word, 16) for word in words.split()]
        assert hashing.key_of(int(seed)) == tuple(int(word, 16) for word in words.split())


def test_the_golden_hashes_of_another_seed_are_met() -> None:
    said, key = GOLDEN["under_seed_1"], key_of(1)
    numbers = np.array([int(value) % 2**64 for value in said["hash_int"]], np.uint64)
    assert [f"{h:016x}" for h in hash_ints(numbers, key).tolist()] == list(said["hash_int"].values())
    strings = [bytes.fromhex(data) for data in said["hash_bytes"]]
    assert [f"{h:016x}" for h in hash_strings(strings, key).tolist()] == list(said["hash_bytes"].values())
    text = pa.array(["Seven grey herons stood in the shallow water"])
    for name, elements in said["shingles"].items():
        found = shingle_texts(text, parse_shingle(name, normalize="lower"), key=key).values
        assert " ".join(f"{x:016x}" for x in sorted(found.tolist())) == elements


@pytest.mark.parametrize("seed", [1, 2**63, MOST_SEED])
def test_texts_are_shingled_under_any_key_as_their_twin_has_it(seed: int) -> None:
    raw = "Seven grey herons; Straße e\u0301 我用Python3写代码 donaudampfschifffahrtsgesellschaft".encode()
    for kind, k in (("word", 1), ("word", 3), ("char", 9)):
        found = shingle_texts(pa.array([raw]), parse_shingle(f"{kind}:{k}", normalize="lower"), key=key_of(seed))
        expected = twin.shingles(raw, kind, k, frozenset({"lower"}), key=hashing.key_of(seed))
        assert set(found.values.tolist()) == expected
        assert tuple(found.fingerprints[0].tolist()) == hashing.fingerprint(expected, raw)


def everything(key: U64Array) -> dict[str, list[int]]:
    """Every kind of hash that stands for an item or a part of one."""
    texts, words = pa.array(["one two three two", "?!"]), parse_shingle("word:1")
    tokens = parse_shingle("word:1", tokens=str.split)
    vectors = dense(pa.array([[1.0, 2.0], None], pa.list_(pa.float32())), 2, key)
    bits = packed_bits(pa.array([b"12345678", None]), 64, key)
    counted, bag = count_shingles(texts, words, key), bags(pa.array([["a", "b"], []]), key=key)
    return {
        "shingles": shingle_texts(texts, words, key=key).values.tolist(),
        "characters": shingle_texts(texts, parse_shingle("char:3"), key=key).values.tolist(),
        "tokens": shingle_texts(texts, tokens, key=key).values.tolist(),
        "spans": spans_of("one two three", words, key)[0].tolist(),
        "texts": shingle_texts(texts, words, key=key).fingerprints.ravel().tolist(),
        "counted": counted.values.tolist() + counted.fingerprints.ravel().tolist(),
        "bags": bag.values.tolist() + bag.fingerprints.ravel().tolist(),
        "vectors": vectors.fingerprints.ravel().tolist(),
        "bits": bits.fingerprints.ravel().tolist(),
        "integers": hash_ints(np.arange(4, dtype=np.uint64), key).tolist(),
        "strings": hash_strings([b"", b"x", b"nine byte"], key).tolist(),
        "groups": hash_cells(pa.array(["a", "b"]), key).tolist(),
        "raw": hash_raw(np.frombuffer(b"raw", np.uint8), np.array([0, 3]), key).ravel().tolist(),
    }


def test_nothing_is_hashed_without_the_key() -> None:
    one, other = everything(PUBLIC_KEY), everything(key_of(1))
    for name, hashes in one.items():
        assert set(hashes).isdisjoint(other[name]), name


def test_the_factor_of_tokens_loses_as_little_as_it_can() -> None:
    """Two tokens that change places make a difference of p - 1 times theirs; with p = 5 modulo 8 it loses two bits."""
    for seed in range(50):
        key = key_of(seed).tolist()
        assert key[TOKEN] % 8 == 5
        assert all(word % 2 for word in key[:3])


def test_a_long_seed_is_not_shown() -> None:
    assert seed_shown(2**64 - 1) == 2**64 - 1
    shown = {seed_shown(seed) for seed in (2**64, 2**64 + 1, MOST_SEED)}
    assert len(shown) == 3
    assert all(str(each).startswith("secret, ") for each in shown)
    hidden = set(GOLDEN["keys"][str(2**64)].split())
    assert str(seed_shown(2**64)).removeprefix("secret, ") not in hidden
