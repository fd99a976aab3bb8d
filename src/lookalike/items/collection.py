"""All the items of a run under one numbering: those of a collection to compare against first, then the run's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lookalike.config import Config
from lookalike.errors import InputError, OptionError
from lookalike.io.source import Flags, Source
from lookalike.items.from_rows import ItemBatch, ItemPiece, Items, named_columns, open_items
from lookalike.types import BoolArray, I64Array

__all__ = ["Collection", "open_collection", "rows_from"]


@dataclass(slots=True)
class Collection:
    """`items` are the run's own; `against`, where there is one, is only compared with, and its items come first.

    `references` is the number of those, and `rows` the row of each item in its part where that is not its number;
    both are known once all have been read.
    """

    items: Items
    against: Items | None = None
    references: int = 0
    rows: I64Array | None = None

    @property
    def parts(self) -> tuple[Items, ...]:
        return (self.items,) if self.against is None else (self.against, self.items)

    def size(self) -> int | None:
        """Bytes that a pass reads."""
        sizes = [part.source.size() for part in self.parts]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def again(self, wanted: BoolArray, on_read: Callable[[int], None]) -> Iterator[ItemBatch]:
        """The batches that hold a wanted item, numbered over all parts; the others need not be decoded."""
        for piece in self.pieces_again(wanted, on_read):
            yield from piece.load()

    def pieces_again(
        self, wanted: BoolArray, on_read: Callable[[int], None], most: int | None = None
    ) -> Iterator[ItemPiece]:
        """The same in pieces; a batch is of at most `most` rows."""
        # References that are no part of it have numbers all the same, before the run's own items.
        first = 0 if self.against is not None else self.references
        for part in self.parts:
            count = self.references if part is self.against else len(wanted) - self.references
            flags = wanted[first : first + count]
            only, known = flags, None
            if part.unit != "document":
                assert self.rows is not None, "all items have been read"
                known = self.rows[first : first + count], flags
                only = np.zeros(int(known[0][-1]) + 1 if count else 0, np.bool_)
                only[known[0][flags]] = True
            for piece in part.pieces(on_read=on_read, only=only, known=known, most=most):
                yield replace(piece, load=partial(_numbered, piece, first, flags, known is None))
            first += count


def _numbered(piece: ItemPiece, first: int, wanted: BoolArray, whole: bool) -> Iterator[ItemBatch]:
    """The batches of a piece with numbers that begin at `first`; those without a wanted item only if it is `whole`."""
    for batch in piece.load():
        if whole or wanted[batch.first : batch.first + len(batch.values)].any():
            yield replace(batch, first=batch.first + first)


def open_collection(source: Source, against: Source | None, config: Config) -> Collection:
    """The items that the options ask for; a collection to compare against is read with the same options."""
    items = open_items(source, config)
    if against is None:
        told = {
            "within": config.within,
            "only_against": config.only_against,
            "against_column": config.against_columns != config.columns,
            "against_id": config.against_id is not None,
        }
        for name, given in told.items():
            if given:
                raise OptionError(f"{name} needs another collection: give it with against (--against)")
        return Collection(items)
    # What only tells the run's own items apart need not be there; a name that was given for it must be.
    here = against.schema().names
    own_id = config.against_id or (config.id if config.id in here else None)
    missing = [name for name in named_columns(config.against_columns, here) if name not in here]
    if missing and config.against_columns == config.columns:
        raise InputError(
            f"the other collection has no column {missing[0]!r}; say which to compare with against_column "
            f"(--against-column): {', '.join(here)}"
        )
    other = replace(config, report_by=None, id=own_id, columns=config.against_columns)
    references = open_items(against, other)
    if references.form != items.form:
        raise InputError(f"the items are {items.form}, and those to compare with are {references.form}")
    if references.dimensions != items.dimensions:
        raise InputError(
            f"the items have {items.dimensions} components, and those to compare with have {references.dimensions}"
        )
    return Collection(items, references)


def rows_from(source: Source, start: int) -> Flags | None:
    """Flags that leave out the rows before `start`, where the number of rows is known without reading them."""
    count = source.count() if start else None
    if count is None:
        return None
    flags = np.ones(count, np.bool_)
    flags[:start] = False
    return flags
