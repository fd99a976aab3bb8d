"""A few words that all processes share which have an index open: see `index_folder.py` for where they are.

The number of items is right while somebody writes. A process that ends as it should leaves a mark that it made of the
number. Where the mark is not that of the number, nobody closed the index, or the page is damaged: items are counted.
"""

from __future__ import annotations

import numpy as np

from lookalike.types import U64Array

__all__ = ["ITEMS", "SharedState"]

_GENERATION, ITEMS, _CLEAN, _REMOVED = range(4)
_MARK = 0x6C6F_6F6B_616C_696B


class SharedState:
    """Those words, by their names."""

    def __init__(self, words: U64Array) -> None:
        self.words = words

    @property
    def generation(self) -> int:
        """How often the manifest was changed."""
        return int(self.words[_GENERATION])

    def changed(self) -> None:
        """The manifest is another one now."""
        self.words[_GENERATION] += np.uint64(1)

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.words[ITEMS])

    def count(self, more: int) -> None:
        """There are so many items more."""
        self.words[ITEMS] = self.items + more

    @property
    def is_closed(self) -> bool:
        """Whether the last one who wrote ended as it should."""
        return int(self.words[_CLEAN]) == self.items ^ _MARK

    def close(self) -> None:
        """Nobody writes any more, and the count is right."""
        self.words[_CLEAN] = self.items ^ _MARK

    def begin(self, counted: int | None) -> None:
        """Somebody writes from now on, and has counted the items where the count was not to be relied on."""
        if counted is not None:
            self.words[ITEMS] = counted
            # Something may have been removed, and that not be known.
            self.removed(1)
        self.words[_CLEAN] = 0

    @property
    def has_removed(self) -> bool:
        """Whether anything was ever removed."""
        return bool(self.words[_REMOVED])

    def removed(self, count: int) -> None:
        """So many items are about to be removed."""
        self.words[_REMOVED] += np.uint64(count)
