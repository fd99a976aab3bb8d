"""What a run says of items that were known from before: how many new ones were like them, and how sure that is.

The certificate is about pairs of new items. This is about new items and known ones: a part of its own, with its own
measurement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.engines.local.pipeline import Found
from lookalike.wording.phrases import counted
from lookalike.wording.printable import spelled

__all__ = ["known_report"]


def known_report(found: Found) -> dict[str, Any]:
    """What became of the new items, in numbers and in two sentences."""
    known, clustering, counts = found.known, found.matched.clustering, found.counts
    assert known is not None and clustering is not None
    references = found.collection.references
    keepers = clustering.keeper[references:]
    removed = int((keepers < references).sum())
    kept = int((keepers == np.arange(references, references + len(keepers))).sum())
    out: dict[str, Any] = {
        "name": spelled(known.name),
        "items": counts.references,
        "new": counts.items,
        "removed": removed,
        "removed_among_new": counts.items - kept - removed,
        "kept": kept,
        "added": kept - _cannot_be_added(found) if known.grows else None,
        "replaced": known.replaced,
    }
    audit = found.sketched.known_audit
    if audit is not None and len(audit.rows):
        out["audit"] = audit.as_dict()
    return out | {"statement": _statement(out), "recall_statement": _recall(out, str(found.config.scale))}


def _cannot_be_added(found: Found) -> int:
    """Items that are kept because they cannot be compared."""
    return found.counts.bad_items + (found.counts.null if found.items.traits.dense else 0)


def _statement(data: dict[str, Any]) -> str:
    kept = f"{data['kept']:,} kept"
    if data["added"] is not None:
        kept += f", {data['added']:,} added"
    if data["replaced"] is not None:
        kept += f", {data['replaced']:,} of them in place of items with the same id"
    return (
        f"{counted(data['new'], 'new item')}: {data['removed']:,} seen before and removed (compared with "
        f"{data['name']}, {counted(data['items'], 'item')}), {data['removed_among_new']:,} removed as duplicates of "
        f"each other, {kept}"
    )


def _recall(data: dict[str, Any], limit: str) -> str:
    audit = data.get("audit")
    if audit is None:
        return f"the recall of matches in {data['name']} was not measured"
    sampled = f"{counted(audit['sampled'], 'sampled new item')} compared with all of {data['name']}"
    if audit["recall"] is None:
        return f"{sampled}: no match ({limit})"
    return (
        f"{sampled}: the index found {audit['found']:,} of {counted(audit['pairs'], 'match')} ({limit}), "
        f"recall {audit['recall']:.4f} (95% interval {audit['low']:.4f} to {audit['high']:.4f})"
    )
