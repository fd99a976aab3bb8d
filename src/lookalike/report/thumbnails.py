"""Pictures to look at, small, in place of the numbers that they were compared by.

They are part of the report's data, so that the page needs no other file, and stays what it was when pictures move.
"""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np

from lookalike.engines.local.pipeline import Found
from lookalike.errors import InputError
from lookalike.io.reading.images import ImageSource
from lookalike.io.reading.pictures import thumbnail
from lookalike.items.from_rows import Items
from lookalike.threads.ordered import ordered_map

__all__ = ["shows_pictures", "thumbnails"]

# Pixels of a side, which take some 8 kB; a report has up to 72 pictures.
_SIDE = 240


def shows_pictures(found: Found) -> bool:
    """Whether the items of a run are files of pictures."""
    return isinstance(found.items.source, ImageSource)


def thumbnails(found: Found, items: list[int]) -> dict[int, dict[str, str]]:
    """What to show of some items: a `picture`, or a `text` that says that it is no longer there."""
    rows, references = found.sketched.rows_of(np.array(items, np.int64)).tolist(), found.collection.references
    against = found.collection.against

    def shown(place: tuple[int, int]) -> dict[str, str]:
        item, row = place
        of = found.items if item >= references else against
        return {} if of is None else _seen(of, row)

    made = ordered_map(shown, list(zip(items, rows, strict=True)), found.config.threads)
    return {item: each for item, each in zip(items, made, strict=True) if each}


def _seen(items: Items, row: int) -> dict[str, str]:
    source = items.source
    if not isinstance(source, ImageSource):
        return {}
    at = int(np.searchsorted(np.array(source.first_rows(), np.int64), row, side="right")) - 1
    place = source.places[at]
    try:
        data = thumbnail(Path(place.path).read_bytes(), _SIDE, place.name)
    except (OSError, InputError):
        return {"text": f"{place.name} cannot be shown: it is not there, or no whole picture any more"}
    return {"picture": f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"}
