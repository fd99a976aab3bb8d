"""The texts of the items that results name, for tables that show them beside the ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.engines.local.matched import Matched
from lookalike.errors import OptionError
from lookalike.io.json_text import python_values
from lookalike.items.collection import Collection
from lookalike.items.from_rows import ItemPiece
from lookalike.threads.ordered import ordered_map
from lookalike.types import BoolArray, I64Array

__all__ = ["ItemTexts", "texts_of"]

_KIND = pa.large_string()


@dataclass(frozen=True, slots=True)
class ItemTexts:
    """Texts, and the place of that of each item, or -1 where there is none: items of an index cannot be read."""

    texts: pa.ChunkedArray
    place: I64Array

    def of(self, items: I64Array) -> pa.Array:
        """The texts of some items."""
        places = self.place[items]
        return self.texts.take(pa.array(places, mask=places < 0)).combine_chunks()


def texts_of(collection: Collection, matched: Matched, config: Config) -> ItemTexts:
    """Read the texts of all items that are like another one; they must fit into the memory."""
    wanted = _matched(matched)
    place = np.full(len(wanted), -1, np.int64)
    parts: list[pa.Array] = []
    count = held = 0

    def read(piece: ItemPiece) -> list[tuple[I64Array, pa.Array]]:
        out = []
        for batch in piece.load():
            there = np.flatnonzero(wanted[batch.first : batch.first + len(batch.values)])
            out.append((batch.first + there, _as_text(batch.values.take(pa.array(there)))))
        return out

    for done in ordered_map(read, collection.pieces_again(wanted, lambda amount: None), config.threads):
        for items, texts in done:
            place[items] = np.arange(count, count + len(items))
            parts.append(texts)
            count, held = count + len(items), held + texts.nbytes
            if held > config.memory:
                raise OptionError(
                    f"with_text: the texts of all matches take more than the {config.memory / 1e9:,.1f} GB that memory "
                    "allows: raise it, or read some of them with `Run.open` and `take`"
                )
    return ItemTexts(pa.chunked_array(parts, _KIND), place)


def _matched(matched: Matched) -> BoolArray:
    """Which items are like another one, or identical to it."""
    folds = matched.folds
    led = folds.sizes > 1
    for left, right, _ in matched.matches.stretches():
        led[left] = led[right] = True
    out: BoolArray = led[folds.leader]
    return out


def _as_text(values: pa.Array) -> pa.Array:
    """Texts, of which some may come as bytes that are not all UTF-8; of rows a line for each column."""
    if pa.types.is_struct(values.type):
        rows = python_values(values)
        lines = (
            "\n".join(f"{name}: {value}" for name, value in row.items() if value is not None) if row else None
            for row in rows
        )
        return pa.array(lines, _KIND)
    try:
        return values.cast(_KIND)
    except pa.ArrowException:
        plain = values.cast(pa.large_binary()).to_pylist()
        return pa.array([None if each is None else each.decode("utf-8", "replace") for each in plain], _KIND)
