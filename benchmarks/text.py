"""Made-up English: deterministic text for the benchmarks, with nothing to download.

The idea: words are drawn from a Zipf law over a vocabulary of 86 real function words and 24,000 invented
content words; every word has a few preferred followers (a first-order Markov chain), and every document
returns to a few words of its own topic, so that the text repeats itself about as much as prose does.
Sentences, commas, quotation marks, capitals, numbers and paragraphs lie on top. One document in ten is
"typographic": it has curly quotes, dashes and accents, so that a reader of UTF-8 meets sequences of two and
three bytes; the others are ASCII.

The layout: a document is a row of pieces, word, separator, word, separator, …; Arrow's `take` copies the
pieces one after the other, and the buffer that it fills is the text. All documents of a batch advance by one
word at a time, so the Python loop runs once per position and never once per word.

Measured on 20,000 documents: 1.72 kB each (5% below 1.44, 5% above 2.01), 4.7 letters a word, 287 word
5-shingles each, nearly all distinct; of the shingles of 2,000 documents 1% are repeats; zstd (level 3) 2.7
times (real news 2.9); 100,000 documents take 6 to 9 seconds.

    python benchmarks/text.py text.parquet --docs 100000 --near-duplicates 0.3
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

# A batch has its own random stream, keyed by (seed, batch number): the first n documents are the same
# whatever the total is.
BATCH = 2_000

WORDS = (238, 338)  # words a document, uniform: about 1.4 to 2.0 kB

_FUNCTION_WORDS, _ONSETS, _VOWELS = (
    line.split()
    for line in (
        "the of and to a in that is was it for on with as he be by at had not are but from or have an they "
        "which one you were all her she there would their we him been has when who will no more if out so up "
        "said what its about than into them can only other time new some could these two may first then do "
        "any like my now over such our man me even most made after also did many",
        "b c d f g h l m n p r s t v w br cl cr dr fl gr pl pr sc sh sp st str th tr qu ch",
        "a e i o u a e i o e ea ai ou ee io",
    )
)
_CODAS = ["", "", "", "n", "r", "t", "s", "l", "d", "m", "st", "nt", "ck", "ng", "rd", "ll", "p"]
_ENDINGS = ["", "", "", "", "s", "s", "ed", "ing", "er", "ly", "ion", "al", "ment", "ness"]
_CONTENT_WORDS = 24_000
_FOLLOWERS = 10

# What stands between two words; the table adds whether a quotation closes before it or opens after it.
_KINDS = [" ", ", ", "; ", ": ", " - ", ". ", "? ", "! ", ".\n\n", "."]
_COMMA, _FULL_STOP, _LAST = 1, 5, 9
_QUOTED_WORDS = 4


@dataclass(frozen=True)
class Corpus:
    """Documents (an Arrow string array) and the planted copies, as rows (original, copy) of their numbers."""

    texts: pa.Array
    copies: NDArray[np.int64]


class Uniform(Protocol):
    """Where the random numbers come from: a generator of numpy, or anything that draws as it does."""

    def random(self, size: int | tuple[int, int]) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Style:
    """How much the text repeats itself: shares of the words that are a preferred follower or a topic word, how many
    words a topic has, and how many topics there are; None: every document has one of its own."""

    following: float = 0.58
    topical: float = 0.14
    topic_words: int = 24
    topics: int | None = None


PROSE = Style()


@dataclass(frozen=True)
class Draft:
    """Documents before they are spelled. `words`, `starts` and `separators` are documents x the longest length; what
    stands after a document's own length is not used."""

    words: NDArray[np.int32]
    starts: NDArray[np.bool_]  # of sentences
    separators: NDArray[np.int32]  # after each word
    lengths: NDArray[np.int64]  # in words
    typographic: NDArray[np.bool_]

    def first(self, count: int) -> Draft:
        return Draft(
            self.words[:count],
            self.starts[:count],
            self.separators[:count],
            self.lengths[:count],
            self.typographic[:count],
        )


@dataclass(frozen=True)
class _Vocabulary:
    """`pieces` holds four forms of every word (lower, capital, and both in typographic spelling), then the
    separators twice (plain, typographic)."""

    pieces: pa.Array
    words: int
    cumulative: NDArray[np.float64]  # of the Zipf law over word numbers
    followers: NDArray[np.int32]  # words x _FOLLOWERS
    always_capital: NDArray[np.bool_]


def _pick(cumulative: NDArray[np.float64], uniform: NDArray[np.float64]) -> NDArray[np.int32]:
    """Draws by inverting the distribution; of numpy's generators only `random()` is used, the most stable."""
    return np.searchsorted(cumulative, uniform, side="right").astype(np.int32)


def _invent_words(count: int) -> list[str]:
    """Distinct invented words, the short ones rather first: frequent words are short in every language."""
    rng = np.random.default_rng(1)
    function_words = set(_FUNCTION_WORDS)
    words: dict[str, float] = {}
    while len(words) < count:
        for syllables, order, *parts in rng.random((4_096, 14)):
            word = ""
            for syllable in range(1 + int(syllables * 2.6)):
                onset, vowel, coda = parts[3 * syllable : 3 * syllable + 3]
                word += _ONSETS[int(onset * onset * len(_ONSETS))] + _VOWELS[int(vowel * len(_VOWELS))]
                word += _CODAS[int(coda * len(_CODAS))]
            word += _ENDINGS[int(parts[9] * len(_ENDINGS))]
            if len(word) > 2 and word not in function_words:
                words.setdefault(word, len(word) + 11.0 * order)
    return sorted(words, key=words.__getitem__)[:count]


def _typographic(word: str) -> str:
    """Apostrophes become curly; one in nine of the words with an e inside gets an accent."""
    word = word.replace("'", "’")
    at = word.find("e", 1)
    return word[:at] + "é" + word[at + 1 :] if at > 0 and sum(word.encode()) % 9 == 0 else word


def _separators(opening: str, closing: str, dash: str) -> list[str]:
    """`_KINDS` x (quotation closes) x (quotation opens); full stops stand inside the closing mark."""
    table = []
    for kind in _KINDS:
        mark, space = kind.rstrip(), kind[len(kind.rstrip()) :]
        mark = mark.replace("-", dash)
        table += [mark + close + space + opens for close in ("", closing) for opens in ("", opening)]
    return table


@cache
def _vocabulary() -> _Vocabulary:
    invented = _invent_words(_CONTENT_WORDS)
    for rank in range(40, len(invented), 97):
        invented[rank] += "'s"
    for rank in range(75, len(invented), 151):
        invented[rank] += "-" + invented[rank // 2]
    for rank in range(30, len(invented), 113):
        invented[rank] = str(1800 + rank % 230) if rank % 2 else str(rank % 997 + 2)
    words = _FUNCTION_WORDS + invented
    plain = words + [word.capitalize() for word in words]
    pieces = plain + [_typographic(word) for word in plain]
    pieces += _separators('"', '"', "-") + _separators("“", "”", "—")

    weight = 1.0 / (np.arange(len(words)) + 2.7) ** 1.04
    cumulative = np.cumsum(weight / weight.sum())
    cumulative[-1] = 1.0
    rng = np.random.default_rng(2)
    followers = _pick(cumulative, rng.random((len(words), _FOLLOWERS)))
    names = np.zeros(len(words), dtype=np.bool_)
    names[len(_FUNCTION_WORDS) + 20 :: 19] = True
    return _Vocabulary(pa.array(pieces), len(words), cumulative, followers, names)


def _topics(vocabulary: _Vocabulary, rng: Uniform, topics: int, words: int) -> NDArray[np.int32]:
    """Word numbers, topics x words: none of the frequent ones, which make up 55% of the text."""
    return _pick(vocabulary.cumulative, 0.55 + 0.45 * rng.random((topics, words)))


def _chain(vocabulary: _Vocabulary, rng: Uniform, documents: int, length: int, style: Style) -> NDArray[np.int32]:
    """Word numbers, documents x length: preferred followers, topic words, the rest by Zipf's law."""
    uniform = rng.random((documents, length))
    if style.topics is None:
        topics = _topics(vocabulary, rng, documents, style.topic_words)
    else:
        shared = _topics(vocabulary, np.random.default_rng(3), style.topics, style.topic_words)
        topics = shared[(style.topics * rng.random(documents)).astype(np.int32)]
    which = (style.topic_words * rng.random((documents, length))).astype(np.int32)
    fresh = np.take_along_axis(topics, which, axis=1)
    choice = rng.random((documents, length))
    follows = choice < style.following
    follows[:, 0] = False
    anywhere = ~follows & (choice <= 1 - style.topical)
    fresh[anywhere] = _pick(vocabulary.cumulative, uniform[anywhere])
    preferred = (_FOLLOWERS * rng.random((documents, length)) ** 2).astype(np.int32)
    words = np.empty((documents, length), dtype=np.int32)
    words[:, 0] = fresh[:, 0]
    for position in range(1, length):
        follower = vocabulary.followers[words[:, position - 1], preferred[:, position]]
        words[:, position] = np.where(follows[:, position], follower, fresh[:, position])
    return words


def _sentences(rng: Uniform, documents: int, length: int) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Where a sentence starts, and the number of the separator after each word (a row of `_separators`)."""
    left = np.zeros(documents, dtype=np.int32)
    new_left = (5 + 27 * rng.random((documents, length)) ** 1.4).astype(np.int32)
    starts = np.empty((documents, length), dtype=np.bool_)
    for position in range(length):
        starts[:, position] = left == 0
        left = np.where(left == 0, new_left[:, position], left - 1)
    ends = np.zeros_like(starts)
    ends[:, :-1] = starts[:, 1:]

    mark = rng.random((documents, length))
    inner = np.searchsorted([0.925, 0.985, 0.990, 0.995], mark).astype(np.int32)
    final = _FULL_STOP + np.searchsorted([0.72, 0.78, 0.80], mark).astype(np.int32)
    kind = np.where(ends, final, inner)
    opens = (rng.random((documents, length)) < 0.004) & (kind <= _COMMA)
    closes = np.zeros_like(opens)
    closes[:, _QUOTED_WORDS:] = opens[:, :-_QUOTED_WORDS]
    separator: NDArray[np.int32] = 4 * kind + 2 * closes.astype(np.int32) + opens.astype(np.int32)
    return starts, separator


def _plant_copies(
    vocabulary: _Vocabulary,
    rng: np.random.Generator,
    words: NDArray[np.int32],
    share: float,
) -> NDArray[np.int64]:
    """Replaces the rows at the end of the batch by edited copies of earlier ones; returns (original, copy).

    A share e of the words is replaced, e uniform in [0, 0.06]. A word lies in 5 shingles, so the Jaccard
    similarity of word 5-shingles is about (1 - e)^5 / (2 - (1 - e)^5): from 1 down to 0.58 and somewhat less.
    """
    documents, length = words.shape
    planted = round(share * documents)
    if not planted:
        return np.empty((0, 2), dtype=np.int64)
    copies = np.arange(documents - planted, documents)
    originals = (rng.random(planted) * (documents - planted)).astype(np.int64)
    edited = rng.random((planted, length)) < 0.06 * rng.random((planted, 1))
    words[copies] = np.where(edited, _pick(vocabulary.cumulative, rng.random(edited.shape)), words[originals])
    return np.stack([originals, copies], axis=1)


def any_words(uniform: NDArray[np.float64]) -> NDArray[np.int32]:
    """Numbers of words that stand anywhere, by Zipf's law, from uniform numbers."""
    return _pick(_vocabulary().cumulative, uniform)


def draft(rng: Uniform, documents: int, lengths: tuple[int, int] = WORDS, style: Style = PROSE) -> Draft:
    """Fresh documents of `lengths` words, uniform, both ends included."""
    shortest, longest = lengths
    words = _chain(_vocabulary(), rng, documents, longest, style)
    starts, separators = _sentences(rng, documents, longest)
    own_lengths = (shortest + rng.random(documents) * (longest - shortest + 1)).astype(np.int64)
    return Draft(words, starts, separators, own_lengths, rng.random(documents) < 0.1)


def spell(drafted: Draft) -> pa.Array:
    """The texts, an Arrow string array."""
    vocabulary = _vocabulary()
    documents, length = drafted.words.shape
    lengths, typographic = drafted.lengths, drafted.typographic
    capital = (drafted.starts | vocabulary.always_capital[drafted.words]).astype(np.int32)
    pieces = np.empty((documents, length, 2), dtype=np.int32)
    pieces[:, :, 0] = drafted.words + vocabulary.words * (capital + 2 * typographic[:, None])
    pieces[:, :, 1] = 4 * vocabulary.words + drafted.separators + 4 * len(_KINDS) * typographic[:, None]
    pieces[np.arange(documents), lengths - 1, 1] = 4 * vocabulary.words + 4 * _LAST + 4 * len(_KINDS) * typographic
    inside = np.arange(length) < lengths[:, None]
    joined = pc.take(vocabulary.pieces, pa.array(pieces[inside].reshape(-1)))
    piece_offsets = np.frombuffer(joined.buffers()[1], dtype=np.int32)
    offsets = piece_offsets[np.concatenate([[0], np.cumsum(2 * lengths)])].astype(np.int32)
    return pa.StringArray.from_buffers(documents, pa.py_buffer(offsets), joined.buffers()[2])


def _batch(number: int, documents: int, seed: int, near_duplicates: float) -> Corpus:
    rng = np.random.default_rng([seed, number])
    drafted = draft(rng, BATCH)
    copies = _plant_copies(_vocabulary(), rng, drafted.words, near_duplicates)
    for layout in (drafted.starts, drafted.separators, drafted.lengths, drafted.typographic):
        layout[copies[:, 1]] = layout[copies[:, 0]]
    return Corpus(spell(drafted.first(documents)), copies[copies[:, 1] < documents] + number * BATCH)


def batches(count: int, *, seed: int = 0, near_duplicates: float = 0.0) -> Iterator[Corpus]:
    """`count` documents in batches of `BATCH`; copies lie in the batch of their original."""
    if not 0 <= near_duplicates < 1:
        raise ValueError(f"near_duplicates is a share of the documents, 0 <= share < 1, not {near_duplicates}")
    for number, start in enumerate(range(0, count, BATCH)):
        yield _batch(number, min(BATCH, count - start), seed, near_duplicates)


def generate(count: int, *, seed: int = 0, near_duplicates: float = 0.0) -> Corpus:
    """`count` documents in one Arrow array (`string`, and `large_string` above 2 GB)."""
    made = list(batches(count, seed=seed, near_duplicates=near_duplicates))
    if not made:
        return Corpus(pa.array([], pa.string()), np.empty((0, 2), dtype=np.int64))
    size = sum(corpus.texts.buffers()[2].size for corpus in made)
    kind = pa.string() if size < 2**31 else pa.large_string()
    texts = pa.concat_arrays([corpus.texts.cast(kind) for corpus in made])
    return Corpus(texts, np.concatenate([corpus.copies for corpus in made]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Write made-up English (id, text) to a Parquet file.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--near-duplicates", type=float, default=0.0, help="share of planted copies, below 1")
    options = parser.parse_args()
    start = time.perf_counter()
    written = size = planted = 0
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    with pq.ParquetWriter(options.output, schema, compression="zstd") as writer:
        for corpus in batches(options.docs, seed=options.seed, near_duplicates=options.near_duplicates):
            ids = pa.array(np.arange(written, written + len(corpus.texts)))
            writer.write_table(pa.table([ids, corpus.texts], schema=schema))
            written += len(corpus.texts)
            size += pc.sum(pc.binary_length(corpus.texts)).as_py()
            planted += len(corpus.copies)
    print(
        f"{written:,} documents, {size / 1e6:,.1f} MB of text ({size / max(written, 1):,.0f} bytes each), "
        f"{planted:,} planted near-duplicates, {options.output.stat().st_size / 1e6:,.1f} MB on disk, "
        f"{time.perf_counter() - start:.1f} s"
    )


if __name__ == "__main__":
    main()
