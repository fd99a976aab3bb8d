"""Items to look at in the report: the largest clusters, pairs from the least alike to identical, and near misses.

Where all items can be read again in a few seconds, the best examples are chosen and read. Of larger collections there
are those that were caught while they passed by (`engines/local/specimens.py`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from lookalike.engines.local.pipeline import Found
from lookalike.engines.local.result_tables import ids_of
from lookalike.engines.local.specimens import CAUGHT_TEXT, Specimens, evenly
from lookalike.items.from_rows import ItemPiece
from lookalike.measure_table import FIELDS
from lookalike.report.thumbnails import shows_pictures, thumbnails
from lookalike.threads.ordered import ordered_map
from lookalike.types import BoolArray, F64Array, I64Array
from lookalike.wording.alignment import aligned_words

__all__ = ["examples"]

_CLUSTERS, _MEMBERS, _PAIRS, _NEAR = 10, 3, 12, 4
# Characters of a text that is read again for them.
_READ_TEXT = 10_000
# Matches of one stretch that are looked at for examples.
_LOOKED_AT = 10_000
# Bytes of input that are read again for examples: some 5 s.
_FEW_BYTES = 1_000_000_000
# What is shown of each item: a text, and whether it is cut, or a picture.
Shown = dict[int, dict[str, Any]]
_NOTHING = {"text": ""}


def examples(found: Found) -> dict[str, Any]:
    """The largest clusters and some pairs, with what the items hold."""
    size = found.collection.size()
    again = size is not None and size <= _FEW_BYTES
    known = np.full(len(found.matched.folds.leader), again)
    if found.known is not None:
        # What an index has of its items cannot be read.
        known[: found.collection.references] = False
    known[list(found.matched.specimens)] = True
    clusters, pairs, near = _largest(found, known), _pairs(found, known), _near(found, known)
    wanted = [item for keeper, members in clusters for item in (keeper, *members)]
    wanted += [item for _, a, b in [*pairs, *near] for item in (a, b)]
    if shows_pictures(found):
        shown = thumbnails(found, sorted(set(wanted)))
    else:
        texts = found.matched.specimens | (_read(found, wanted) if again else {})
        # The last character of what was read tells only that there is more.
        most = (_READ_TEXT if again else CAUGHT_TEXT) - 1
        shown = {item: _beginning(texts[item], most) for item in wanted if item in texts}
    return {
        "largest_clusters": [_cluster(found, shown, *each) for each in clusters],
        "sample_pairs": [_pair(found, shown, *each) for each in pairs],
        "near_misses": [_pair(found, shown, *each) for each in near],
    }


def _beginning(text: str, most: int) -> dict[str, Any]:
    """So many characters of a text, and whether there is more of it."""
    return {"text": text[:most]} | ({"cut": True} if len(text) > most else {})


def _read(found: Found, items: list[int]) -> dict[int, str]:
    specimens = Specimens(np.array(items, np.int64), found.items.form, most=_READ_TEXT)
    wanted = np.zeros(len(found.matched.folds.leader), np.bool_)
    wanted[specimens.items] = True

    def catch(piece: ItemPiece) -> None:
        for batch in piece.load():
            specimens.catch(batch.first, batch.values)

    for _ in ordered_map(catch, found.collection.pieces_again(wanted, lambda amount: None), found.config.threads):
        pass
    return specimens.texts


def _largest(found: Found, known: BoolArray) -> list[tuple[int, list[int]]]:
    """The keepers of the largest clusters, each with some of those it stands for, spread over its cluster."""
    clustering = found.matched.clustering
    if clustering is None:
        return []
    sizes, out = clustering.sizes, []
    order = np.argsort(-sizes, kind="stable")[:_CLUSTERS]
    for keeper in order[sizes[order] > 1].tolist():
        members = np.flatnonzero((clustering.keeper == keeper) & known)
        members = members[members != keeper]
        out.append((keeper, members[_spread(len(members), _MEMBERS)].tolist()))
    return out


def _cluster(found: Found, shown: Shown, keeper: int, members: list[int]) -> dict[str, Any]:
    clustering = found.matched.clustering
    assert clustering is not None
    kept = shown.get(keeper, _NOTHING)
    told = []
    for name, item in zip(_ids(found, members), members, strict=True):
        member = shown.get(item, _NOTHING)
        _, marks = _marks(found, kept.get("text", ""), member.get("text", ""))
        told.append({"id": name, **_told(found, clustering.similarity[item]), **member, "marks": marks})
    return {
        "size": int(clustering.sizes[keeper]),
        "kept": {"id": _ids(found, [keeper])[0], **kept},
        "members": told,
    }


def _pairs(found: Found, known: BoolArray) -> list[tuple[float, int, int]]:
    """Matches of known items from the least alike on, spread over how alike they are."""
    parts: list[tuple[F64Array, I64Array, I64Array]] = []
    for left, right, scores in found.matched.matches.stretches():
        mine = np.flatnonzero(known[left] & known[right])
        mine = mine[_spread(len(mine), _LOOKED_AT)]
        parts.append((scores[mine], left[mine], right[mine]))
    if not parts:
        return []
    scores, left, right = (np.concatenate(each) for each in zip(*parts, strict=True))
    places = evenly(scores, _PAIRS)
    return list(zip(scores[places].tolist(), left[places].tolist(), right[places].tolist(), strict=True))


def _near(found: Found, known: BoolArray) -> list[tuple[float, int, int]]:
    """Pairs of known items that just miss the threshold, from the least alike on."""
    near = [(score, a, b) for a, b, score in found.matched.near if known[a] and known[b]]
    return [near[at] for at in evenly(np.array([score for score, _, _ in near]), _NEAR)]


def _spread(count: int, most: int) -> I64Array:
    """At most so many of the numbers below `count`, evenly spread, the first and the last among them."""
    return np.unique(np.linspace(0, max(0, count - 1), min(count, most)).astype(np.int64))


def _pair(found: Found, shown: Shown, score: float, a: int, b: int) -> dict[str, Any]:
    ids, one, two = _ids(found, [a, b]), shown.get(a, _NOTHING), shown.get(b, _NOTHING)
    marks_a, marks_b = _marks(found, one.get("text", ""), two.get("text", ""))
    return {
        "a": {"id": ids[0], **one},
        "b": {"id": ids[1], **two},
        **_told(found, score),
        "marks_a": marks_a,
        "marks_b": marks_b,
    }


def _told(found: Found, score: float) -> dict[str, float | None]:
    """How alike two items are, under the name that the measure has for it; None where they were not compared."""
    scale = found.config.scale
    return {scale.column: None if np.isnan(score) else float(scale.told(np.array([score]))[0])}


def _ids(found: Found, items: list[int]) -> list[Any]:
    ids: list[Any] = ids_of(found, np.asarray(items, np.int64)).to_pylist()
    return ids


def _marks(found: Found, a: str, b: str) -> tuple[list[list[int]], list[list[int]]]:
    """The ranges of characters that two items share, where what is shown of them can tell; of texts, place by place."""
    form = found.items.traits
    if form.is_text or form.name == FIELDS:
        return aligned_words(a, b)
    if form.name == "bits":
        same = np.array([x == y != " " for x, y in zip(a, b, strict=False)], np.bool_)
        return _ranges(same), _ranges(same)
    # Of sets that are not shown whole nobody knows what the rest holds.
    if form.has_elements and "…" not in a + b:
        return _shared(a, b), _shared(b, a)
    return [], []


def _shared(text: str, other: str) -> list[list[int]]:
    """Where the elements of a set stand that are in another one too."""
    elements, there = text.split(", "), set(other.split(", "))
    starts = np.cumsum([0, *(len(element) + 2 for element in elements)]).tolist()
    places = zip(elements, pairwise(starts), strict=True)
    return [[begin, end - 2] for element, (begin, end) in places if element in there]


def _ranges(marks: BoolArray) -> list[list[int]]:
    edges = np.diff(np.concatenate([[0], marks.astype(np.int8), [0]]))
    begins, ends = np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist()
    return [[begin, end] for begin, end in zip(begins, ends, strict=True)]
