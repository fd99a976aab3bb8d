"""What a search for spans found, before it is put into words; it can be stored and taken up again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from lookalike.config import Config
from lookalike.engines.counts import Counts
from lookalike.engines.local.spans.entry_pass import SpanEntries
from lookalike.engines.local.spans.place_pass import TextPlaces
from lookalike.engines.local.spans.token_numbers import TokenNumbers
from lookalike.engines.local.spans.window_pass import RepeatedWords
from lookalike.engines.local.store.array_file import Arrays, DamagedError, write_arrays
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.items.collection import Collection
from lookalike.items.from_rows import Items
from lookalike.items.ids import Ids
from lookalike.types import BoolArray, I64Array

__all__ = ["Cuts", "FoundSpans", "SpanCounts", "cuts_of", "kept_rows", "load_cuts", "save_cuts"]

_STAGE, _FILE = "spans", "spans.bin"


@dataclass(frozen=True, slots=True)
class Cuts:
    """What goes, in the order of the input, each with the place where its first words stand for the first time.

    Attributes:
        rows: the row of the document.
        begins: the bytes of its text before the cut, and `ends`, those before what follows it.
        characters: the characters before the cut, and `lengths`, how many it has.
        first_words: the words before the cut, and `words`, how many it has.
        sources: the document of the earlier place, numbered over both collections.
        source_characters: the characters before that, and `source_words`, the words.
    """

    rows: I64Array
    begins: I64Array
    ends: I64Array
    characters: I64Array
    lengths: I64Array
    first_words: I64Array
    words: I64Array
    sources: I64Array
    source_characters: I64Array
    source_words: I64Array

    def __len__(self) -> int:
        return len(self.rows)

    def between(self, first: int, end: int) -> slice:
        """The cuts of the rows first … end - 1."""
        begin, stop = np.searchsorted(self.rows, [first, end])
        return slice(int(begin), int(stop))

    def take(self, numbers: I64Array) -> Cuts:
        """Some of the cuts."""
        return Cuts(**{each.name: getattr(self, each.name)[numbers] for each in fields(Cuts)})


def cuts_of(numbers: TokenNumbers, found: RepeatedWords, places: TextPlaces) -> Cuts:
    """From numbers of tokens to places in documents."""
    documents, sources = numbers.documents_of(found.begins), numbers.documents_of(found.sources)
    begins, characters = places.of(found.begins)
    ends, last_characters = places.of(found.ends)
    return Cuts(
        documents - numbers.references, begins, ends, characters, last_characters - characters,
        found.begins - numbers.tokens[documents], found.ends - found.begins,
        sources, places.of(found.sources)[1], found.sources - numbers.tokens[sources],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """What the run's own documents have, and what of it goes.

    Attributes:
        words, bytes: of all texts.
        spans: how many are cut, and `spanned_documents`, out of how many documents.
        words_removed, bytes_removed: what they add up to.
        compared_stretches: runs of words whose hashes were the same, and that were compared word by word.
        rehashed: how often that found different words, so that all was done again with another key.
    """

    words: int
    bytes: int
    spans: int
    spanned_documents: int
    words_removed: int
    bytes_removed: int
    compared_stretches: int
    rehashed: int

    @classmethod
    def of(cls, entries: SpanEntries, cuts: Cuts, stretches: int, rehashed: int) -> SpanCounts:
        """The figures of a search that is done."""
        own = entries.numbers.counts[entries.numbers.references :]
        return cls(
            int(own.sum()), entries.bytes, len(cuts), len(np.unique(cuts.rows)), int(cuts.words.sum()),
            int((cuts.ends - cuts.begins).sum()), stretches, rehashed,
        )  # fmt: skip


@dataclass(frozen=True)
class FoundSpans:
    """A finished search: what it read, how, and what it found; `kept` are the rows of which something is left."""

    collection: Collection
    config: Config
    counts: Counts
    figures: SpanCounts
    cuts: Cuts
    kept: BoolArray
    ids: tuple[Ids, ...]
    seconds: dict[str, float]
    spilled: int
    # What a search for near-duplicates has: there are no bands to plan, and no index is asked.
    plan: None = None
    known: None = None

    @property
    def items(self) -> Items:
        """The run's own documents."""
        return self.collection.items

    def with_cuts(self, cuts: Cuts) -> FoundSpans:
        """The same with other cuts: some of them, to be told of."""
        return replace(self, cuts=cuts)


def kept_rows(numbers: TokenNumbers, cuts: Cuts) -> BoolArray:
    """A row goes when it had words and none of them stays; one that had none from the start is left alone."""
    words = numbers.counts[numbers.references :]
    gone = np.bincount(cuts.rows, weights=cuts.words, minlength=len(words)).astype(np.int64)
    kept: BoolArray = (words == 0) | (gone < words)
    return kept


def save_cuts(work: Work, cuts: Cuts, data: dict[str, Any]) -> None:
    """Leave what was found in the work folder, with what was counted."""
    with spilling(str(work.folder)):
        write_arrays(work.files([_FILE])[0], asdict(cuts), data, run=work.token)
    work.finish(_STAGE, {"spans": len(cuts)})


def load_cuts(work: Work) -> tuple[Cuts, dict[str, Any]] | None:
    """Take it up again, if it was finished and is there."""
    if work.finished(_STAGE) is None:
        return None
    try:
        file = Arrays.verified(work.folder / _FILE, work.token)
    except DamagedError as error:
        work.redo(_STAGE, str(error))
        return None
    return Cuts(**{each.name: file.read(each.name) for each in fields(Cuts)}), file.data
