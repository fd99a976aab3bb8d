"""The certificate of a run: how much of what there is was found, measured three ways, each blind to something else.

    recall   Horvitz–Thompson over the verified pairs: measures the plan, cannot see a fault of the program
    bands    each band should be hit about equally often: a dead or biased band stands out
    audit    a random sample of items compared exactly with all others: sees everything, in a small sample

Where giant lists were left to leaders not every pair was looked at, and the recall of pairs is not defined there: what
the certificate then says about items is from the audit alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.certify.audit import Audited
from lookalike.certify.intervals import clopper_pearson
from lookalike.config import Config
from lookalike.matched import Matched
from lookalike.theory import Plan
from lookalike.types import BoolArray, I64Array
from lookalike.wording import counted

__all__ = ["certify"]

_NONE = {"items": 0.0, "low": 0.0, "high": 0.0}


def certify(config: Config, plan: Plan, matched: Matched, audited: Audited | None) -> dict[str, Any]:
    """The certificate as plain data, with the sentence that is printed."""
    out: dict[str, Any] = {"notes": _notes(config, matched, audited)}
    if matched.tally is not None:
        recall = matched.tally.finish(certain=float(matched.folds.within)).as_dict()
        bands, out["curve"] = recall.pop("bands"), recall.pop("curve")
        out["bands"] = bands | {"suspicious": bands.pop("odd")}
        out["notes"] += recall.pop("notes")
        out["recall"] = recall
    if audited is not None:
        out |= _audit(config, plan, matched, audited)
    out["statement"] = _statement(config, plan, matched, out)
    return out


def _audit(config: Config, plan: Plan, matched: Matched, audited: Audited) -> dict[str, Any]:
    """Of the pairs that the audit saw, how many were found; and what is left among the kept."""
    left, right, scale = audited.left, audited.right, config.scale
    found = _found(matched, left, right)
    clustering, led = matched.clustering, matched.counts.led_items > 0
    handled = found
    if clustering is not None:
        kept = clustering.kept
        handled = found | ~(kept[left] & kept[right])
    good = handled if led else found
    # Pairs of one item stand or fall together, so each sampled item with pairs counts once, by its share.
    _, which = np.unique(left, return_inverse=True)
    shares = np.bincount(which, weights=good) / np.maximum(1, np.bincount(which)) if len(left) else np.empty(0)
    low, high = clopper_pearson(float(shares.sum()), len(shares)) if len(shares) else (0.0, 1.0)
    missed = np.flatnonzero(~good)
    out: dict[str, Any] = {
        "audit": {
            "sampled": len(audited.items),
            "of": audited.seen,
            "pairs": len(left),
            "found": int(good.sum()),
            "counted": "pairs of which one item was removed" if led else "pairs",
            "recall": float(shares.mean()) if len(shares) else None,
            "low": low,
            "high": high,
            "full": audited.full,
            "missed": [
                {"a": int(left[i]), "b": int(right[i]), scale.column: float(scale.told(audited.similarities[i]))}
                for i in missed[np.argsort(-audited.similarities[missed], kind="stable")][:20]
            ],
        }
    }
    if clustering is not None:
        # Where every pair was looked at and one item of each match is gone, a sample that shows nothing has no doubt.
        certain = plan.exhaustive and config.verify == "exact" and not led and bool(handled.all())
        out["left"] = (
            _NONE if certain else _left(~handled, left, audited, int(clustering.kept[matched.folds.references :].sum()))
        )
    return out


def _left(bad: BoolArray, left: I64Array, audited: Audited, kept: int) -> dict[str, Any]:
    """How many kept items still have a near-duplicate among the kept.

    A sampled item that has later ones stands for itself and for them. That counts an item twice which has two earlier
    near-duplicates left; where what is left are single pairs, as almost always, it is exact on average. There cannot be
    more of them than are kept.
    """
    items, partners = np.unique(left[bad], return_counts=True)
    sampled = max(1, len(audited.items))
    low, high = clopper_pearson(len(items), sampled)
    each = 1.0 + (float(partners.mean()) if len(items) else 1.0)
    share = len(items) / sampled
    return {
        name: min(float(kept), part * each * audited.seen)
        for name, part in (("items", share), ("low", low), ("high", high))
    }


def _found(matched: Matched, left: I64Array, right: I64Array) -> BoolArray:
    """Whether pairs of items are identical or among the matches."""
    leader = matched.folds.leader
    a, b = leader[left].astype(np.int64), leader[right].astype(np.int64)
    # Items that are identical to those compared against are removed as such, and not compared with one another.
    same: BoolArray = (a == b) | (np.maximum(a, b) < matched.folds.references)
    return same | matched.matches.contains(np.minimum(a, b), np.maximum(a, b))


def _statement(config: Config, plan: Plan, matched: Matched, parts: dict[str, Any]) -> str:
    sentence = f"found {counted(matched.pairs, 'pair')} at {config.scale.sign} {config.scale.limit:g}"
    if matched.counts.led_items:
        sentence += " (giant lists were compared with their leaders only, and their pairs are not all counted)"
    recall = parts.get("recall")
    if plan.exhaustive and not matched.counts.led_items:
        how = "joined exactly, by rare elements" if plan.measure == "containment" else "every pair was compared"
        sentence += f"; recall 1 ({how})"
    if recall is not None and recall["recall"] is not None:
        others = " of the others" if matched.counts.led_items else ""
        sentence += (
            f"; estimated recall{others} {recall['recall']:.4f} "
            f"(95% interval {recall['low']:.4f} to {recall['high']:.4f})"
        )
    sentence += {
        "exact": "; precision 1 (all verified)",
        "sketch": "; not verified exactly (verify=sketch)",
        "none": "; not verified (verify=none)",
    }[config.verify]
    left = parts.get("left")
    if left is not None and left["high"] == 0.0:
        sentence += "; no kept item has a near-duplicate left"
    elif left is not None:
        own = matched.folds.references
        kept = int(matched.clustering.kept[own:].sum()) if matched.clustering is not None else 0
        sentence += (
            f"; about {left['items']:,.0f} of the {kept:,} kept items still have a near-duplicate "
            f"(95% interval {left['low']:,.0f} to {left['high']:,.0f})"
        )
    return sentence


def _notes(config: Config, matched: Matched, audited: Audited | None) -> list[str]:
    """Everything that bends an assumption."""
    counts, notes = matched.counts, []
    if config.verify == "sketch":
        notes.append("verify=sketch: similarities are estimates, so precision and recall are those of the estimate")
    if config.verify == "none":
        notes.append("verify=none: candidates were not compared, so precision is unknown")
    if counts.giant_items:
        notes.append(
            f"{counts.giant_items:,} items of buckets with too many items were joined exactly, by their rare elements: "
            "their pairs are found whatever the bands say"
        )
    if counts.led_items and config.verify == "none":
        notes.append(
            "of a bucket with too many items each was taken for a near-duplicate of one of them, so not all its pairs "
            "are listed"
        )
    elif counts.led_items and config.cluster == "components":
        notes.append(
            f"{counts.led_items:,} items of giant lists were compared until they were connected, and no further: "
            "components are whole, but not all their pairs are listed"
        )
    elif counts.led_items:
        notes.append(
            f"{counts.led_items:,} items of giant lists were compared with leaders, not with one another: "
            "every removed item matches its keeper, but not all their pairs are listed"
        )
    if counts.unexamined_items and config.cluster == "components":
        notes.append(
            f"{counts.unexamined_items:,} items of giant lists were not compared with all others of their list, which "
            "would have been too many, and may belong to larger components"
        )
    elif counts.unexamined_items:
        notes.append(
            f"{counts.unexamined_items:,} items of giant lists matched none of their leaders and were not compared "
            "with the rest of the list"
        )
    if counts.unaudited_items:
        notes.append(f"{counts.unaudited_items:,} items have more than a million elements and were not audited")
    if audited is not None and audited.full:
        notes.append(f"{audited.full:,} audited items have many near-duplicates; only the first of them were checked")
    return notes
