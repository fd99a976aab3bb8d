"""The report of a run as plain data: what went in, what came out, and how sure that is.

`report.json` is this with `examples.py`, and `report.html` is drawn from it.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from lookalike import __version__
from lookalike.config import WEIGHTS
from lookalike.engines.local.pipeline import Found
from lookalike.engines.local.result_tables import ids_of
from lookalike.engines.planning import more_memory
from lookalike.errors import CertificateError
from lookalike.io.reading.images import ImageSource
from lookalike.items.from_rows import Items
from lookalike.key import seed_shown
from lookalike.measure_table import IDENTITY, form_named
from lookalike.report.certificate import certify
from lookalike.report.seen_before import known_report
from lookalike.spec import VERSION as SPEC_VERSION
from lookalike.types import BoolArray, I64Array
from lookalike.wording.phrases import counted
from lookalike.wording.printable import spelled

__all__ = ["check_strict", "cluster_report", "compared", "noun", "report", "warnings"]

# Columns of the histogram: a hundredth of a similarity, or so many up to the largest distance that counts.
_BIN = 0.01
_STEPS = 50
_MOST_SOURCES = 300
_FEW = 20


def report(found: Found) -> dict[str, Any]:
    """What went in, what was found and how."""
    config, counts, planned, matched = found.config, found.counts, found.plan, found.matched
    rejected = counts.candidates - counts.matches
    out: dict[str, Any] = {
        "lookalike": __version__,
        "hash_spec": SPEC_VERSION,
        "inputs": [spelled(name) for name in found.items.source.files],
        "column": list(found.items.columns),
        "id": found.items.id,
        "keep": config.keep if isinstance(config.keep, str) else "callable",
        "cluster": config.cluster,
        "measure": IDENTITY if config.exact else config.scale.measure,
        "threshold": 1.0 if config.exact else config.scale.limit,
        "told_as": config.scale.column,
        "form": found.items.form,
        "compared": compared(found.items),
        "normalize": sorted(config.shingle.normalize) if found.items.traits.is_text else [],
        **_of_text(found),
        "verify": "text" if config.verify_text else config.verify,
        "seed": seed_shown(config.seed),
        **asdict(counts),
        "pairs": matched.pairs,
        "candidates_rejected": rejected,
        "candidates_rejected_share": rejected / counts.candidates if counts.candidates else 0.0,
        "precision": 1.0 if config.verify == "exact" else None,
        **_spread(found),
        "spilled": matched.spilled,
        # How it was read, not what was found: with one thread there are none.
        "undivided_groups": getattr(found.items.source, "undivided", 0),
        "stages": [{"name": name, "seconds": round(seconds, 3)} for name, seconds in matched.seconds.items()],
    }
    if planned is not None:
        out |= {
            "bands": planned.bands,
            "rows_per_band": planned.rows,
            "recall_at_threshold": planned.expected_recall,
        }
        if planned.width is not None:
            out["width"] = planned.width
        out["certificate"] = certificate_of(found)
        for pair in out["certificate"].get("audit", {}).get("missed", []):
            pair["a"], pair["b"] = ids_of(found, np.array([pair["a"], pair["b"]], np.int64)).to_pylist()
        out["curve"] = [
            {config.scale.column: _told(found, point.pop("similarity")), "measured": point.pop("found"), **point}
            for point in out["certificate"].pop("curve", [])
            if point["found"] is not None
        ]
    if found.expected is not None:
        out["expected"] = found.expected.as_dict()
    if config.group_by is not None:
        out["group_by"] = config.group_by
    if found.collection.against is not None:
        out["against"] = [spelled(name) for name in found.collection.against.source.files]
    if found.known is not None:
        out["against"] = [spelled(found.known.name)]
        out["known"] = known_report(found)
    bad = [*found.items.source.bad, *found.sketched.bad]
    if bad:
        out["skipped_examples"] = bad
    return out


def check_strict(found: Found) -> None:
    """Refuse a run whose certificate raises an alarm, if that was asked for."""
    if found.config.strict and found.plan is not None:
        alarms = certificate_of(found)["alarms"]
        if alarms:
            raise CertificateError(f"strict: {'; '.join(alarms)}; nothing is written")


def certificate_of(found: Found) -> dict[str, Any]:
    """How much of what there is was found."""
    assert found.plan is not None
    among = "" if found.known is None else " among the new items"
    about = f"{found.config.scale} on {compared(found.items)}{among}"
    audited = found.sketched.audit
    return certify(found.config, found.plan, found.matched.evidence(audited), audited, about)


def _of_text(found: Found) -> dict[str, Any]:
    """How texts became sets or bags, where it is not the plain way."""
    config = found.config
    if not found.items.traits.is_text or config.exact:
        return {}
    out: dict[str, Any] = {}
    if config.scale.traits.weighs:
        out["weights"] = config.weights or WEIGHTS[0]
    else:
        sizes = found.sketched.sizes()[found.collection.references :]
        out["median_shingles"] = float(np.median(sizes[sizes > 0])) if sizes.any() else 0.0
        out["shingles_needed"] = _needed(found)
    if config.html:
        out["html"] = True
    if config.max_share is not None:
        out["max_share"] = config.max_share
    return out


def _needed(found: Found) -> int:
    """How many shingles a text needs for one changed word in its middle to leave it at the threshold.

    A word is in k shingles of words, and (of five letters with a space) in k + 5 of characters. Of n shingles n - k are
    shared then, of n + k in all: n = k(1+t)/(1-t).
    """
    shingle, threshold = found.config.shingle, found.config.threshold
    touched = shingle.k if shingle.kind == "word" else shingle.k + 5
    return math.ceil(touched * (1.0 + threshold) / (1.0 - threshold) - 1e-9) if threshold < 1.0 else 0


def _told(found: Found, share: float) -> float:
    """What people see of a place on the scale from 0 to 1."""
    return float(found.config.scale.from_share(np.array([share]))[0])


def compared(items: Items) -> str:
    """What items are compared as: word:5 shingles, sets, vectors of 384 components, strings of 256 bits."""
    if items.dimensions is None:
        return items.kind
    return f"{items.traits.rows_of} of {counted(items.dimensions, items.traits.part)}"


def _spread(found: Found) -> dict[str, list[dict[str, Any]]]:
    """How many of the found pairs have which similarity, or distance; those at 1, or at 0, in a bin of their own."""
    matched, scale = found.matched, found.config.scale
    steps = _STEPS if scale.is_distance else round(1 / _BIN)
    pairs = np.zeros(steps + 1, np.int64)
    pairs[steps] = matched.folds.within
    for left, right, scores in matched.matches.stretches():
        known = ~np.isnan(scores)
        weights = (matched.folds.sizes[left] * matched.folds.sizes[right])[known]
        # 0.8 in bins of 0.01 is 80, not 80.00000000000001.
        places = np.floor(scale.share(scores[known]) * steps + 1e-9).astype(np.int64)
        pairs += np.bincount(np.clip(places, 0, steps), weights=weights, minlength=steps + 1).astype(np.int64)
    bins = []
    for place in np.flatnonzero(pairs).tolist():
        ends = place / steps, min(steps, place + 1) / steps
        if scale.is_distance:
            ends = scale.limit * (steps - min(steps, place + 1)) / steps, scale.limit * (steps - place) / steps
        bins.append({"from": ends[0], "to": ends[1], "pairs": int(pairs[place])})
    return {"distances": bins[::-1]} if scale.is_distance else {"similarities": bins}


def cluster_report(found: Found) -> dict[str, Any]:
    """What clusters there are, and what they leave."""
    clustering, references = found.matched.clustering, found.collection.references
    assert clustering is not None
    kept = clustering.kept[references:]
    sizes = clustering.sizes
    if references:
        # A cluster counts if an own item is in it; the other collection's items are only there to be like.
        own = np.bincount(clustering.keeper[references:], minlength=len(sizes))
        sizes = np.where(own > 0, sizes, 0)
    return _hits(found) | {
        "unit": noun(found),
        "kept": int(kept.sum()),
        "removed": int(len(kept) - kept.sum()),
        "clusters": int((sizes > 1).sum()),
        "largest_cluster": int(sizes.max(initial=0)),
        "cluster_sizes": _cluster_sizes(sizes),
        "sources": _sources(found, kept),
    }


def noun(found: Found) -> str:
    """What an item is called: a document, a paragraph, a line; a picture, a vector, or just an item."""
    if found.items.traits.is_text:
        return found.config.unit
    if isinstance(found.items.source, ImageSource):
        return "picture"
    return found.items.traits.noun


def _hits(found: Found) -> dict[str, Any]:
    """How many items were removed for one of the other collection, and which of its files those are from."""
    clustering, references, against = found.matched.clustering, found.collection.references, found.collection.against
    if (against is None and found.known is None) or clustering is None:
        return {}
    keepers = clustering.keeper[references:]
    hit = keepers[keepers < references]
    out: dict[str, Any] = {"removed_against": len(hit)}
    if against is not None and against.source.files:
        rows = found.sketched.rows()[hit]
        starts = np.array(against.source.first_rows(), np.int64)
        counts = np.bincount(np.searchsorted(starts, rows, side="right") - 1, minlength=len(starts))
        order = np.argsort(-counts, kind="stable")[:_MOST_SOURCES]
        out["hits"] = [
            {"name": spelled(against.source.files[i]), "removed": int(counts[i])} for i in order if counts[i]
        ]
    return out


def _cluster_sizes(sizes: I64Array) -> list[dict[str, int]]:
    """Clusters by size, in classes that double: 2, 3 to 4, 5 to 8, …"""
    large = sizes[sizes > 1]
    if not len(large):
        return []
    klass = np.ceil(np.log2(large)).astype(np.int64)
    out = []
    for k in range(1, int(klass.max()) + 1):
        inside = large[klass == k]
        if len(inside):
            out.append({"from": 2 ** (k - 1) + 1, "to": 2**k, "clusters": len(inside), "items": int(inside.sum())})
    return out


def _sources(found: Found, kept: BoolArray) -> dict[str, Any]:
    """How much each source lost: by file, or by the value of a column."""
    names, codes = found.sketched.sources(found.items.source)
    if not names:
        return {}
    items = np.bincount(codes, minlength=len(names))
    stay = np.bincount(codes[kept], minlength=len(names))
    removed = items - stay
    order = np.argsort(-removed, kind="stable")
    rows = [
        {"name": names[i], "items": int(items[i]), "kept": int(stay[i]), "removed": int(removed[i])}
        for i in order[:_MOST_SOURCES]
    ]
    by = found.config.report_by or "file"
    return {"by": by, "rows": rows, "left_out": max(0, len(names) - _MOST_SOURCES)}


def warnings(data: dict[str, Any], *, counts: bool = True) -> list[str]:
    """What a person should look at; without `counts`, which are told anyway on the screen, what is left."""
    out = []
    items = max(1, data["items"])
    # Shares of a handful of items say nothing.
    few = items < _FEW
    if data["short"] > 0.05 * items and not few:
        out.append(
            f"{data['short'] / items:.0%} of the items are shorter than {data['compared']}: they have one shingle, the "
            "whole, and match only if it is the same; a smaller shingle size may serve better"
        )
    if 0 < data.get("median_shingles", 0) < data.get("shingles_needed", 0) and not few:
        out.append(
            f"half of the items have {data['median_shingles']:.0f} shingles or fewer ({data['compared']}): one changed "
            f"word takes them below {data['threshold']:g}, so many near-duplicates are none here. For short records "
            "try char:4 or word:1 as the shingle and a threshold of 0.5 to 0.6"
        )
    if data["empty"] > 0.05 * items and not few:
        what = ": no word at all" if form_named(data["form"]).is_text else ""
        out.append(f"{data['empty'] / items:.0%} of the items have nothing to compare{what}")
    forged = (("refused_identical", "item", "identical"), ("refused_matches", "pair", "alike"))
    out += [
        f"{counted(data[name], noun)} {what} by hashes, but not by the texts or elements: made to collide"
        for name, noun, what in forged
        if data[name]
    ]
    if data["bad_items"] and counts:
        out.append(f"{counted(data['bad_items'], 'item')} cannot be compared: kept, and like nothing")
    if data["invalid_utf8"] and counts:
        out.append(f"{counted(data['invalid_utf8'], 'item')} with invalid UTF-8, replaced by U+FFFD")
    if data["skipped_rows"] and counts:
        out.append(f"{counted(data['skipped_rows'], 'broken row')} skipped")
    if data["undivided_groups"]:
        out.append(
            f"decoded by one thread: {counted(data['undivided_groups'], 'large row group')} of lists, of times or at "
            "an address; smaller ones are shared by all threads"
        )
    over = data.get("expected", {}).get("over", 0)
    if over:
        out.append(f"about {data['expected']['memory'] / 1e9:.1f} GB of memory were needed; {more_memory(over)}")
    out += [
        f"{source['name']} lost {source['removed'] / source['items']:.0%} of its items"
        for source in data.get("sources", {}).get("rows", [])
        if source["items"] >= _FEW and source["removed"] > 0.5 * source["items"]
    ]
    if data.get("largest_cluster", 0) > 0.05 * items and not few:
        out.append(
            f"one cluster holds {data['largest_cluster'] / items:.0%} of all items: look whether they are what you "
            "take for the same"
        )
    return out + [f"{alarm}: please report this" for alarm in data.get("certificate", {}).get("alarms", [])]
