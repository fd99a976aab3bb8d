"""The report of a run as plain data: what went in, what came out, how sure that is, and examples to look at.

`report.json` is this, and `report.html` is drawn from it.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from lookalike.certificate import certify
from lookalike.explain import compare_texts
from lookalike.outcome import ids_of
from lookalike.pipeline import Found
from lookalike.spec import VERSION as SPEC_VERSION
from lookalike.types import BoolArray, I64Array
from lookalike.wording import counted

__all__ = ["cluster_report", "examples", "report", "warnings"]

_BIN = 0.01
_MOST_SOURCES = 300
_FEW = 20
_CLUSTERS, _MEMBERS, _PAIRS = 10, 3, 12


def report(found: Found) -> dict[str, Any]:
    """What went in, what was found and how."""
    config, counts, planned, matched = found.config, found.counts, found.plan, found.matched
    rejected = counts.candidates - counts.matches
    out: dict[str, Any] = {
        "lookalike": version("lookalike"),
        "hash_spec": SPEC_VERSION,
        "inputs": list(found.items.source.files),
        "column": list(found.items.columns),
        "id": found.items.id,
        "keep": config.keep if isinstance(config.keep, str) else "callable",
        "cluster": config.cluster,
        "measure": "identity" if config.exact else config.scale.measure,
        "threshold": 1.0 if config.exact else config.scale.limit,
        "told_as": config.scale.column,
        "compared": found.items.kind,
        "normalize": sorted(config.shingle.normalize) if found.items.form == "text" else [],
        "verify": config.verify,
        "seed": config.seed,
        **asdict(counts),
        "pairs": matched.pairs,
        "candidates_rejected": rejected,
        "candidates_rejected_share": rejected / counts.candidates if counts.candidates else 0.0,
        "precision": 1.0 if config.verify == "exact" else None,
        "similarities": _similarities(found),
        "spilled": matched.spilled,
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
        out["certificate"] = certify(config, planned, matched, found.sketched.audit)
        for pair in out["certificate"].get("audit", {}).get("missed", []):
            pair["a"], pair["b"] = _ids(found, [pair["a"], pair["b"]])
        out["curve"] = [
            {"measured": point.pop("found"), **point, "similarity": float(_told(found, point["similarity"]))}
            for point in out["certificate"].pop("curve", [])
            if point["found"] is not None
        ]
    if found.expected is not None:
        out["expected"] = found.expected.as_dict()
    if config.group_by is not None:
        out["group_by"] = config.group_by
    if found.collection.against is not None:
        out["against"] = list(found.collection.against.source.files)
    bad = [*found.items.source.bad, *found.sketched.bad]
    if bad:
        out["skipped_examples"] = bad
    return out


def _told(found: Found, share: float) -> float:
    """What people see of a place on the scale from 0 to 1."""
    return float(found.config.scale.from_share(np.array([share]))[0])


def _similarities(found: Found) -> list[dict[str, Any]]:
    """How many of the found pairs have which similarity, or distance; identical ones in a bin of their own."""
    matched, scale = found.matched, found.config.scale
    counted_pairs = np.zeros(101, np.int64)
    counted_pairs[100] = matched.folds.within
    for left, right, similarities in matched.matches.stretches():
        known = ~np.isnan(similarities)
        weights = (matched.folds.sizes[left] * matched.folds.sizes[right])[known]
        # 0.8 in bins of 0.01 is 80, not 80.00000000000001.
        places = np.floor(scale.share(similarities[known]) / _BIN + 1e-9).astype(np.int64)
        counted_pairs += np.bincount(np.clip(places, 0, 100), weights=weights, minlength=101).astype(np.int64)
    bins = [
        {"from": i * _BIN if i < 100 else 1.0, "to": min(1.0, round((i + 1) * _BIN, 2)), "pairs": int(n)}
        for i, n in enumerate(counted_pairs)
        if n
    ]
    if not scale.is_distance:
        return bins
    return [
        {"from": _told(found, each["to"]), "to": _told(found, each["from"]), "pairs": each["pairs"]}
        for each in reversed(bins)
    ]


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
        "unit": found.config.unit,
        "kept": int(kept.sum()),
        "removed": int(len(kept) - kept.sum()),
        "clusters": int((sizes > 1).sum()),
        "largest_cluster": int(sizes.max(initial=0)),
        "cluster_sizes": _cluster_sizes(sizes),
        "sources": _sources(found, kept),
    }


def _hits(found: Found) -> dict[str, Any]:
    """How many items were removed for one of the other collection, and which of its files those are from."""
    clustering, references, against = found.matched.clustering, found.collection.references, found.collection.against
    if against is None or clustering is None:
        return {}
    keepers = clustering.keeper[references:]
    hit = keepers[keepers < references]
    out: dict[str, Any] = {"removed_against": len(hit)}
    if against.source.files:
        rows = found.sketched.rows()[hit]
        starts = np.array(against.source.first_rows(), np.int64)
        counts = np.bincount(np.searchsorted(starts, rows, side="right") - 1, minlength=len(starts))
        order = np.argsort(-counts, kind="stable")[:_MOST_SOURCES]
        out["hits"] = [{"name": against.source.files[i], "removed": int(counts[i])} for i in order if counts[i]]
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


def warnings(data: dict[str, Any]) -> list[str]:
    """What a person should look at."""
    out = []
    items = max(1, data["items"])
    # Shares of a handful of items say nothing.
    few = items < _FEW
    if data["short"] > 0.05 * items and not few:
        out.append(
            f"{data['short'] / items:.0%} of the items are shorter than {data['compared']}: they have one shingle, the "
            "whole, and match only if it is the same; a smaller shingle size may serve better"
        )
    if data["empty"] > 0.05 * items and not few:
        out.append(f"{data['empty'] / items:.0%} of the items have nothing to compare: no word at all")
    if data["invalid_utf8"]:
        out.append(f"{counted(data['invalid_utf8'], 'item')} with invalid UTF-8, replaced by U+FFFD")
    if data["skipped_rows"]:
        out.append(f"{counted(data['skipped_rows'], 'broken row')} skipped")
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
    out += data.get("certificate", {}).get("recall", {}).get("suspicious", [])
    audit, recall = data.get("certificate", {}).get("audit"), data.get("certificate", {}).get("recall", {})
    if audit and audit["recall"] is not None and recall.get("low") is not None and audit["high"] < recall["low"]:
        out.append(
            f"the audit found {audit['recall']:.1%} of its pairs, below what the plan explains "
            f"({recall['low']:.1%}): please report this"
        )
    return out


def examples(found: Found) -> dict[str, Any]:
    """The largest clusters and some pairs, with texts."""
    clustering, texts = found.matched.clustering, found.matched.specimens
    out: dict[str, Any] = {"largest_clusters": [], "sample_pairs": _sample_pairs(found, texts)}
    if clustering is None:
        return out
    sizes = clustering.sizes
    largest = np.argsort(-sizes, kind="stable")[:_CLUSTERS]
    caught = np.array(sorted(texts), np.int64)
    for keeper in largest[sizes[largest] > 1].tolist():
        mine = caught[(clustering.keeper[caught] == keeper) & (caught != keeper)] if len(caught) else caught
        mine = mine[:_MEMBERS]
        out["largest_clusters"].append(
            {
                "size": int(sizes[keeper]),
                "kept": {"id": _ids(found, [keeper])[0], "text": texts.get(keeper, "")},
                "members": [
                    {"id": name, "similarity": float(clustering.similarity[item]), "text": texts[item]}
                    for name, item in zip(_ids(found, mine), mine.tolist(), strict=True)
                ],
            }
        )
    return out


def _ids(found: Found, items: Any) -> list[Any]:
    ids: list[Any] = ids_of(found, np.asarray(items, np.int64)).to_pylist()
    return ids


def _sample_pairs(found: Found, texts: dict[int, str]) -> list[dict[str, Any]]:
    """Matches of which both texts were caught, spread over the similarities."""
    caught = np.zeros(len(found.matched.folds.leader), np.bool_)
    caught[list(texts)] = True
    both: list[tuple[float, int, int]] = []
    for left, right, similarities in found.matched.matches.stretches():
        mine = np.flatnonzero(caught[left] & caught[right])
        both += zip(similarities[mine].tolist(), left[mine].tolist(), right[mine].tolist(), strict=True)
    if not both or found.items.form != "text":
        return []
    order = np.argsort([similarity for similarity, _, _ in both], kind="stable")
    out = []
    for place in order[np.unique(np.linspace(0, len(both) - 1, _PAIRS).astype(np.int64))].tolist():
        similarity, a, b = both[place]
        one, two = texts[a].encode("utf-8", "replace"), texts[b].encode("utf-8", "replace")
        compared = compare_texts(one, two, found.config.shingle)
        ids = _ids(found, [a, b])
        out.append(
            {
                "a": {"id": ids[0], "text": texts[a]},
                "b": {"id": ids[1], "text": texts[b]},
                "similarity": None if np.isnan(similarity) else similarity,
                "marks_a": _ranges(one, compared.shared_a),
                "marks_b": _ranges(two, compared.shared_b),
            }
        )
    return out


def _ranges(text: bytes, marks: BoolArray) -> list[list[int]]:
    """Marked bytes of a UTF-8 text as ranges of characters."""
    # A character begins at every byte that is no continuation.
    starts = (np.frombuffer(text, np.uint8) & 0xC0) != 0x80
    flags = marks[starts].astype(np.int8)
    edges = np.diff(np.concatenate([[0], flags, [0]]))
    begins, ends = np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist()
    return [[begin, end] for begin, end in zip(begins, ends, strict=True)]
