"""A few words that all processes share which have an index open: see `index_folder.py` for where they are.

The number of items is right while somebody writes. A process that ends as it should leaves a mark that it made of the
number. Where the mark is not that of the number, nobody closed the index, or the page is damaged: items are counted.

To count them is to look at every record, a microsecond each, unless nothing was ever removed: then there are as many as
have been listed. Another mark tells that. It is there from the first item on, and goes, on the disk as well, before
anything is removed; so where it is found, it is right, whatever has happened since.
"""

from __future__ import annotations

import numpy as np

from lookalike.types import U64Array

__all__ = ["ITEMS", "SharedState"]

_GENERATION, ITEMS, _CLEAN, _REMOVED, _NEVER = range(5)
_MARK, _NEVER_MARK = 0x6C6F_6F6B_616C_696B, 0x6E65_7665_7220_2D31


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
            if not self.never_removed:
                # Something may have been removed, and that not be known.
                self.removed(1)
        self.words[_CLEAN] = 0

    @property
    def has_removed(self) -> bool:
        """Whether anything was ever removed."""
        return bool(self.words[_REMOVED])

    @property
    def never_removed(self) -> bool:
        """Whether it is certain that nothing was ever removed."""
        return int(self.words[_NEVER]) == _NEVER_MARK

    def has_no_items(self) -> None:
        """There is nothing yet that could have been removed."""
        self.words[_NEVER] = _NEVER_MARK

    def will_remove(self) -> None:
        """Something is going to be removed, as soon as this is on the disk."""
        self.words[_NEVER] = 0

    def removed(self, count: int) -> None:
        """So many items are about to be removed."""
        self.words[_REMOVED] += np.uint64(count)
