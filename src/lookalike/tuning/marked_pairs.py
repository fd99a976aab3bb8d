"""The pairs of a tuning, with what they are made of; for a page with their differences marked, or as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.io.reading.images import ImageSource
from lookalike.io.source import Source
from lookalike.report.page.inline_pictures import picture_or_text
from lookalike.search.searched_items import SearchedItems
from lookalike.types import I64Array
from lookalike.wording.alignment import aligned_words

__all__ = ["marked_pairs", "shown_items"]

# Characters of an item in the table of pairs.
_SHOWN_TEXT = 4_000


def shown_items(source: Source, items: SearchedItems, numbers: I64Array) -> pa.Array:
    """What some items are, cut to a length that can be shown; of pictures their width and height."""
    rows = items.rows[numbers]
    flags = np.zeros(int(rows.max(initial=-1)) + 1, np.bool_)
    flags[rows] = True
    texts: dict[int, str] = {}
    pictures = isinstance(source, ImageSource)
    for batch in source.batches(["width", "height"] if pictures else list(items.columns)):
        wanted = np.flatnonzero(flags[batch.first : batch.first + batch.rows.num_rows])
        for at, row in zip(wanted.tolist(), batch.rows.take(pa.array(wanted)).to_pylist(), strict=True):
            shown = (" x " if pictures else " ").join(str(value) for value in row.values())
            texts[batch.first + at] = " ".join(shown.split())[:_SHOWN_TEXT]
        if batch.first + batch.rows.num_rows >= len(flags):
            break
    return pa.array([texts[row] for row in rows.tolist()], pa.string())


def marked_pairs(pairs: pa.Table, form: str, sources: Sequence[Source]) -> list[dict[str, Any]]:
    """The rows of the table of pairs, of items of a form; the last of the sources has the items of `b`."""
    first, last = sources[0], sources[-1]
    out = []
    for row in pairs.to_pylist():
        marks: tuple[list[list[int]], list[list[int]]] = ([], [])
        if isinstance(first, ImageSource) and isinstance(last, ImageSource):
            seen: tuple[dict[str, Any], dict[str, Any]] = (_picture(first, row["a"]), _picture(last, row["b"]))
        else:
            seen = _text(row["item_a"]), _text(row["item_b"])
            marks = aligned_words(row["item_a"], row["item_b"]) if form == "text" else marks
        pair = {end: {"id": row[end], **each} for end, each in zip("ab", seen, strict=True)}
        out.append(pair | {"similarity": row["similarity"], "marks_a": marks[0], "marks_b": marks[1]})
    return out


def _picture(source: ImageSource, name: str) -> dict[str, str]:
    return picture_or_text(source.small(name), name)


def _text(text: str) -> dict[str, Any]:
    return {"text": text} | ({"cut": True} if len(text) == _SHOWN_TEXT else {})
