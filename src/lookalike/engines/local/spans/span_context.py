"""What the passes of a search for spans share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from lookalike.config import Config
from lookalike.engines.counts import Counts
from lookalike.engines.local.room import Ceiling, Room
from lookalike.engines.local.store.work_folder import Work
from lookalike.items.collection import Collection
from lookalike.key import key_of
from lookalike.represent.text_sets import shingle_texts
from lookalike.shingle import Shingle
from lookalike.types import Sets, U64Array
from lookalike.wording.progress import Progress

__all__ = ["SpanContext"]


@dataclass(frozen=True)
class SpanContext:
    """What is read and asked for, and where that is counted, spilled and told.

    Attributes:
        attempt: how often hashes took different words for the same; each time the words are hashed with another key.
    """

    collection: Collection
    config: Config
    counts: Counts
    work: Work
    progress: Progress
    attempt: int = 0

    @cached_property
    def words(self) -> int:
        """How many words a span has at the least."""
        least = self.config.span
        assert least is not None, "spans are asked for"
        return least

    @cached_property
    def shingle(self) -> Shingle:
        """Single words, normalised as the options say."""
        return replace(self.config.shingle, k=1)

    @cached_property
    def key(self) -> U64Array:
        """The key of all hashes of this attempt."""
        return key_of((self.config.seed + self.attempt) % 2**128)

    @cached_property
    def room(self) -> Room:
        """Lets long texts pass one at a time."""
        return Room(self.config.memory, self.config.threads)

    @cached_property
    def ceiling(self) -> Ceiling:
        """Gives memory back where too much is held."""
        return Ceiling(self.config.memory)

    def tokens(self, texts: pa.Array) -> Sets:
        """The hashes of all words of each text, in order."""
        return shingle_texts(texts, self.shingle, key=self.key, every=True)
