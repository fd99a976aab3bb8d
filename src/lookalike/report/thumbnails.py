"""Pictures to look at, small, in place of the numbers that they were compared by.

They are part of the report's data, so that the page needs no other file, and stays what it was when pictures move.
"""

from __future__ import annotations

import numpy as np

from lookalike.engines.local.pipeline import Found
from lookalike.io.reading.images import ImageSource
from lookalike.items.from_rows import Items
from lookalike.report.page.inline_pictures import picture_or_text
from lookalike.threads.ordered import ordered_map

__all__ = ["shows_pictures", "thumbnails"]


def shows_pictures(found: Found) -> bool:
    """Whether the items of a run are files of pictures."""
    return isinstance(found.items.source, ImageSource)


def thumbnails(found: Found, items: list[int]) -> dict[int, dict[str, str]]:
    """What to show of some items; nothing of those that are no files of pictures."""
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
    name = source.files[int(np.searchsorted(np.array(source.first_rows(), np.int64), row, side="right")) - 1]
    return picture_or_text(source.small(name), name)
