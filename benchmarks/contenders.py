"""Who takes part in `benchmarks/sketch.py`, and how each is called.

A contender turns raw text into one sketch of K = 128 slots per document, over word 5-shingles. Where a
library leaves the shingles to its caller (rensa, datasketch), it gets the quickest plain Python we know: one
regular expression, and `" ".join` mapped over zipped slices. Where it brings its own words (gaoya,
datatrove), it uses those, though they are not quite the same words: gaoya cuts at white space only, which is
less work, and datatrove runs spaCy, which is more. The column "words" says so.

A factory imports its library when it is called: a missing one raises ImportError, and the others still run.
"""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

K = 128
SHINGLE = 5
BANDS, ROWS = 16, 8  # gaoya and datatrove ask for bands and rows; 16 x 8 = K
LOOKALIKE_BATCH = 1_024  # documents

# The characters of scripts that put no space between words: each is a word of its own, as in lookalike.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_SPACED_WORDS = re.compile(r"\w+")
_ANY_WORDS = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


@dataclass(frozen=True)
class Texts:
    """The same documents in the two forms that callers hold text in; making either is not timed."""

    strings: list[str]
    array: pa.Array
    unspaced: bool


@dataclass(frozen=True)
class Contender:
    """`sketch` is what is timed. The rest is used outside the clock: `shingles` counts those of one text, as
    cut by `words`; `slots` turns a result into an array documents x K, and is None where a library keeps
    its sketches to itself."""

    name: str
    words: str
    how: str
    sketch: Callable[[Texts], object]
    shingles: Callable[[str], int]
    slots: Callable[[Any], NDArray[Any]] | None
    peer: bool = True


Factory = Callable[[bool], Contender]


def python_shingles(unspaced: bool) -> Callable[[str], list[str]]:
    """The shingles of a text as strings, in text order, repeats included; a short text has one, the whole."""
    find = (_ANY_WORDS if unspaced else _SPACED_WORDS).findall

    def shingles(text: str) -> list[str]:
        words = find(text.lower())
        if len(words) < SHINGLE:
            return [" ".join(words)] if words else []
        return list(map(" ".join, zip(*(words[start:] for start in range(SHINGLE)), strict=False)))

    return shingles


def _count(shingles: Callable[[str], list[str]]) -> Callable[[str], int]:
    return lambda text: len(shingles(text))


def lookalike_sketch(texts: pa.Array) -> object:
    """The library under test: an Arrow string array to a uint32 array, documents x K, on one thread."""
    from lookalike.represent.text_sets import shingle_texts
    from lookalike.shingle import Shingle
    from lookalike.sketch.minhash import constants, sketch_sets

    shingle, slots = Shingle(k=SHINGLE), constants(K, 0)
    batches = (texts.slice(start, LOOKALIKE_BATCH) for start in range(0, len(texts), LOOKALIKE_BATCH))
    return np.concatenate([sketch_sets(shingle_texts(batch, shingle), *slots) for batch in batches])


def lookalike(unspaced: bool) -> Contender:
    lookalike_sketch(pa.array(["one two three four five six"]))  # ImportError here, and the kernels compile
    return Contender(
        name="lookalike",
        words="runs of \\w",
        how="shingle_texts and sketch_sets, an Arrow string array in batches",
        sketch=lambda texts: lookalike_sketch(texts.array),
        shingles=_count(python_shingles(unspaced)),  # the same words
        slots=np.asarray,
        peer=False,
    )


def _gaoya_index() -> Any:
    return import_module("gaoya").minhash.MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=0.8,
        num_bands=BANDS,
        band_size=ROWS,
        analyzer="word",
        lowercase=True,
        ngram_range=(SHINGLE, SHINGLE),
        id_container="smallvec",
    )


def _gaoya_shingles(text: str) -> int:
    return max(0, len(text.split()) - SHINGLE + 1)


def gaoya(unspaced: bool) -> Contender:
    """The documented way; sketches and indexes in one call, and the sketches stay inside."""
    _gaoya_index()

    def sketch(texts: Texts) -> object:
        index = _gaoya_index()
        index.par_bulk_insert_docs(list(range(len(texts.strings))), texts.strings)
        return index

    return Contender(
        name="gaoya",
        words="white space",
        how="MinHashStringIndex(word, 5-grams, 16 x 8).par_bulk_insert_docs: sketches and indexes",
        sketch=sketch,
        shingles=_gaoya_shingles,
        slots=None,
    )


def gaoya_bare(unspaced: bool) -> Contender:
    """Not in its documentation, but it is the sketch alone: a list of 128 ints for each document."""
    _gaoya_index()
    return Contender(
        name="gaoya, sketch alone",
        words="white space",
        how="the same index's minhash_index.bulk_hash_docs (undocumented)",
        sketch=lambda texts: _gaoya_index().minhash_index.bulk_hash_docs(texts.strings),
        shingles=_gaoya_shingles,
        slots=np.asarray,
    )


def rensa(unspaced: bool) -> Contender:
    sketcher = import_module("rensa").RMinHash
    shingles = python_shingles(unspaced)
    return Contender(
        name="rensa",
        words="runs of \\w",
        how="RMinHash.digest_matrix_from_token_sets over Python shingles",
        sketch=lambda texts: sketcher.digest_matrix_from_token_sets(map(shingles, texts.strings), K, 42),
        shingles=_count(shingles),
        slots=lambda matrix: np.asarray(matrix.to_rows()),
    )


def rensa_rho(unspaced: bool) -> Contender:
    """What rensa advertises for bulk work. It samples token positions, so it is not a sketch of the set."""
    sketcher = import_module("rensa").RMinHash
    shingles = python_shingles(unspaced)
    return Contender(
        name="rensa, rho",
        words="runs of \\w",
        how="RMinHash.digest_matrix_from_token_sets_rho over Python shingles; samples positions",
        sketch=lambda texts: sketcher.digest_matrix_from_token_sets_rho(map(shingles, texts.strings), K, 42),
        shingles=_count(shingles),
        slots=lambda matrix: np.asarray(matrix.to_rows()),
    )


def _datasketch_slots(sketches: Any) -> NDArray[Any]:
    return np.stack([sketch.hashvalues for sketch in sketches])


def datasketch(unspaced: bool) -> Contender:
    bulk = import_module("datasketch").MinHash.bulk
    xxh32 = import_module("xxhash").xxh32_intdigest
    shingles = python_shingles(unspaced)
    return Contender(
        name="datasketch, xxh32",
        words="runs of \\w",
        how="MinHash.bulk(hashfunc=xxh32, scheme affine32) over Python shingles",
        sketch=lambda texts: bulk(map(shingles, texts.strings), num_perm=K, hashfunc=xxh32),
        shingles=_count(shingles),
        slots=_datasketch_slots,
    )


def datasketch_sha1(unspaced: bool) -> Contender:
    bulk = import_module("datasketch").MinHash.bulk
    shingles = python_shingles(unspaced)
    return Contender(
        name="datasketch, sha1",
        words="runs of \\w",
        how="MinHash.bulk with its defaults over Python shingles, encoded",
        sketch=lambda texts: bulk(
            ([shingle.encode() for shingle in shingles(text)] for text in texts.strings), num_perm=K
        ),
        shingles=_count(shingles),
        slots=_datasketch_slots,
    )


def datatrove(unspaced: bool) -> Contender:
    """What its first stage does for each document before it writes the result to a file."""
    module = import_module("datatrove.pipeline.dedup.minhash")
    if unspaced:
        import_module("jieba").setLogLevel(logging.WARNING)
    step = module.MinhashDedupSignature(
        output_folder=tempfile.gettempdir(),  # asked for, never written to here
        config=module.MinhashConfig(n_grams=SHINGLE, num_buckets=BANDS, hashes_per_bucket=ROWS),
        language="cmn" if unspaced else "eng",
    )

    def sketch(texts: Texts) -> object:
        sketches = []
        for text in texts.strings:
            shingles = step.get_shingles(text)
            if shingles.size:  # as its own `run` does
                sketches.append(step.get_signature(shingles))
        return sketches

    return Contender(
        name="datatrove",
        words="jieba" if unspaced else "spaCy",
        how="MinhashDedupSignature.get_shingles + get_signature (16 x 8, xxh64)",
        sketch=sketch,
        shingles=lambda text: int(step.get_shingles(text).size),
        slots=lambda sketches: np.asarray(sketches, dtype=np.uint64).reshape(len(sketches), K),
    )


# In the order in which they take their turns; the name is what a missing one is reported by.
FACTORIES: dict[str, Factory] = {
    "lookalike": lookalike,
    "gaoya": gaoya,
    "gaoya, sketch alone": gaoya_bare,
    "rensa": rensa,
    "rensa, rho": rensa_rho,
    "datasketch, xxh32": datasketch,
    "datasketch, sha1": datasketch_sha1,
    "datatrove": datatrove,
}
