"""The report of a run as plain data: what went in, what came out, and how sure that is.

`report.json` is this with `examples.py`, and `report.html` is drawn from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lookalike import __version__
from lookalike.config import WEIGHTS, Config
from lookalike.engines.counts import Counts
from lookalike.engines.evidence import histogram_bins, histogram_steps
from lookalike.engines.local.pipeline import Found
from lookalike.engines.local.result_tables import ids_of
from lookalike.engines.planning import more_memory
from lookalike.errors import CertificateError
from lookalike.io.source import remarks_on
from lookalike.items.from_rows import Items
from lookalike.key import seed_shown
from lookalike.measure_table import IDENTITY, form_named
from lookalike.report.certificate import certify
from lookalike.report.seen_before import known_report
from lookalike.report.thumbnails import shows_pictures
from lookalike.scale import Scale
from lookalike.spec import VERSION as SPEC_VERSION
from lookalike.theory import Plan
from lookalike.types import BoolArray, I64Array
from lookalike.wording.phrases import counted
from lookalike.wording.printable import spelled

__all__ = [
    "CLUSTERS_ALONE",
    "RunFacts",
    "certificate_of",
    "check_strict",
    "cluster_classes",
    "cluster_report",
    "compared",
    "hits_by_file",
    "noun",
    "report",
    "report_of",
    "sources_by",
    "warnings",
]

_MOST_SOURCES = 300
# What a report says of clusters from which nothing is removed.
CLUSTERS_ALONE = ("unit", "clusters", "largest_cluster", "cluster_sizes")
_FEW = 20


@dataclass(frozen=True)
class RunFacts:
    """What a report is made of, whichever engine found it.

    Attributes:
        config, items, plan: what was asked for, of what, and how it was found.
        counts: what was seen on the way.
        pairs: how many pairs of items were found, and `binned`, how many of them in each bin of the histogram.
        median_size: of the items that have elements; 0 without any.
        certificate: how much of what there is was found; None where there is no plan.
        seconds: what each stage took.
        spilled: bytes that were in files instead of memory.
        undivided: row groups that one thread had to decode.
        remarks: what users should know of how files were read.
        against: the files of the collection that was compared against, if there was one.
        median_against: the same as `median_size` of the items of that collection.
    """

    config: Config
    items: Items
    plan: Plan | None
    counts: Counts
    pairs: int
    binned: I64Array
    median_size: float
    certificate: dict[str, Any] | None
    seconds: Mapping[str, float]
    spilled: int = 0
    undivided: int = 0
    remarks: tuple[str, ...] = ()
    against: Sequence[str] | None = None
    median_against: float = 0.0


def report(found: Found) -> dict[str, Any]:
    """What went in, what was found and how."""
    out = report_of(_facts(found), lambda items: ids_of(found, items).to_pylist())
    if found.expected is not None:
        out["expected"] = found.expected.as_dict()
    if found.known is not None:
        out["against"] = [spelled(found.known.name)]
        out["known"] = known_report(found)
    bad = [*found.items.source.bad, *found.sketched.bad]
    if bad:
        out["skipped_examples"] = bad
    return out


def _facts(found: Found) -> RunFacts:
    matched, median, median_against = found.matched, 0.0, 0.0
    if found.items.traits.is_text:
        references = found.collection.references
        sizes = found.sketched.sizes()
        median, median_against = _median(sizes[references:]), _median(sizes[:references])
    return RunFacts(
        found.config, found.items, found.plan, found.counts, matched.pairs, _binned(found), median,
        None if found.plan is None else certificate_of(found), matched.seconds, matched.spilled,
        # How it was read, not what was found: with one thread there are none.
        getattr(found.items.source, "undivided", 0),
        remarks_on(found.items.source, None if found.collection.against is None else found.collection.against.source),
        None if found.collection.against is None else found.collection.against.source.files, median_against,
    )  # fmt: skip


def _median(sizes: I64Array) -> float:
    """Of those that are not empty; 0 without any."""
    return float(np.median(sizes[sizes > 0])) if sizes.any() else 0.0


def report_of(facts: RunFacts, ids: Callable[[I64Array], list[Any]]) -> dict[str, Any]:
    """What went in, what was found and how; `ids` are those of items."""
    config, counts, planned, items = facts.config, facts.counts, facts.plan, facts.items
    rejected = counts.candidates - counts.matches
    out: dict[str, Any] = {
        "lookalike": __version__,
        "hash_spec": SPEC_VERSION,
        "inputs": [spelled(name) for name in items.source.files],
        "column": list(items.columns),
        "id": items.id,
        "keep": config.keep if isinstance(config.keep, str) else "callable",
        "cluster": config.cluster,
        "measure": IDENTITY if config.exact else config.scale.measure,
        "threshold": 1.0 if config.exact else config.scale.told_limit,
        "told_as": config.scale.column,
        "form": items.form,
        "compared": compared(items),
        "normalize": sorted(config.shingle.normalize) if items.traits.is_text else [],
        **_of_text(facts),
        "verify": "text" if config.verify_text else config.verify,
        "seed": seed_shown(config.seed),
        **asdict(counts),
        "pairs": facts.pairs,
        "candidates_rejected": rejected,
        "candidates_rejected_share": rejected / counts.candidates if counts.candidates else 0.0,
        "precision": 1.0 if config.verify == "exact" else None,
        **_spread(config.scale, facts.binned),
        "spilled": facts.spilled,
        "undivided_groups": facts.undivided,
        "stages": [{"name": name, "seconds": round(seconds, 3)} for name, seconds in facts.seconds.items()],
    }
    if config.scale.whole is not None:
        out["whole"] = config.scale.whole
    if facts.remarks:
        out["remarks"] = [spelled(remark) for remark in facts.remarks]
    if facts.against is not None:
        out["against"] = [spelled(name) for name in facts.against]
    if planned is not None and facts.certificate is not None:
        out |= {
            "bands": planned.bands,
            "rows_per_band": planned.rows,
            "recall_at_threshold": planned.expected_recall,
        }
        if planned.width is not None:
            out["width"] = planned.width
        out["certificate"] = facts.certificate
        missed = out["certificate"].get("audit", {}).get("missed", [])
        # All at once: on a cluster somebody must look for them.
        told = ids(np.array([pair[end] for end in "ab" for pair in missed], np.int64)) if missed else []
        for pair, a, b in zip(missed, told[: len(missed)], told[len(missed) :], strict=True):
            pair["a"], pair["b"] = a, b
        out["curve"] = [
            {config.scale.column: _told(config.scale, point.pop("similarity")), "measured": point.pop("found"), **point}
            for point in out["certificate"].pop("curve", [])
            if point["found"] is not None
        ]
    if config.only_against:
        out["only_against"] = True
    if config.group_by is not None:
        out["group_by"] = config.group_by
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


def _of_text(facts: RunFacts) -> dict[str, Any]:
    """How texts became sets or bags, where it is not the plain way."""
    config = facts.config
    if not facts.items.traits.is_text or config.exact:
        return {}
    out: dict[str, Any] = {}
    if config.scale.traits.weighs:
        out["weights"] = config.weights or WEIGHTS[0]
    else:
        out["median_shingles"] = facts.median_size
        out["shingles_needed"] = _needed(config)
        # Told where it is what keeps all from matching.
        if facts.median_against and not facts.pairs:
            out["median_shingles_against"] = facts.median_against
    if config.html:
        out["html"] = True
    if config.max_share is not None:
        out["max_share"] = config.max_share
    return out


def _needed(config: Config) -> int:
    """How many shingles a text needs for one changed word in its middle to leave it at the threshold.

    A word is in k shingles of words, and (of five letters with a space) in k + 5 of characters. Of n shingles n - k are
    shared then, of n + k in all: n = k(1+t)/(1-t).
    """
    shingle, threshold = config.shingle, config.threshold
    touched = shingle.k if shingle.kind == "word" else shingle.k + 5
    return math.ceil(touched * (1.0 + threshold) / (1.0 - threshold) - 1e-9) if threshold < 1.0 else 0


def _told(scale: Scale, share: float) -> float:
    """What people see of a place on the scale from 0 to 1."""
    return float(scale.told_from_share(np.array([share]))[0])


def compared(items: Items) -> str:
    """What items are compared as: word:5 shingles, sets, vectors of 384 components, strings of 256 bits."""
    if items.dimensions is None:
        return items.kind
    return f"{items.traits.rows_of} of {counted(items.dimensions, items.traits.part)}"


def _binned(found: Found) -> I64Array:
    """How many of the found pairs are in each bin."""
    matched, scale = found.matched, found.config.scale
    steps = histogram_steps(scale)
    pairs = np.zeros(steps + 1, np.int64)
    pairs[steps] = matched.folds.within
    for left, right, scores in matched.matches.stretches():
        known = ~np.isnan(scores)
        weights = matched.folds.weights(left, right)[known]
        places = histogram_bins(scale, scores[known])
        pairs += np.bincount(places, weights=weights, minlength=steps + 1).astype(np.int64)
    return pairs


def _spread(scale: Scale, pairs: I64Array) -> dict[str, list[dict[str, Any]]]:
    """How many of the found pairs have which similarity, or distance."""
    steps = len(pairs) - 1
    bins = []
    for place in np.flatnonzero(pairs).tolist():
        ends = place / steps, min(steps, place + 1) / steps
        if scale.traits.boundless:
            # What is beyond the scale stands in the last, as if it were at its end.
            ends = _told(scale, ends[0]), _told(scale, ends[1])
        elif scale.is_distance:
            far = scale.told_limit
            ends = far * (steps - min(steps, place + 1)) / steps, far * (steps - place) / steps
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
    if shows_pictures(found):
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
        out["hits"] = hits_by_file(against.source.files, counts)
    if found.config.only_against:
        out |= _hit_items(found)
    return out


def _hit_items(found: Found) -> dict[str, Any]:
    """How many items of the other collection are like one of the run, and those that are like most, with how many."""
    folds, references = found.matched.folds, found.collection.references
    like = folds.own_sizes.astype(np.float64)
    for left, right, _ in found.matched.matches.stretches():
        for one, other in ((left, right), (right, left)):
            like += np.bincount(one, weights=folds.own_sizes[other], minlength=len(like))
    counts = like[folds.leader[:references]].astype(np.int64)
    most = np.argsort(-counts, kind="stable")[:_MOST_SOURCES]
    most = most[counts[most] > 0]
    ids = ids_of(found, most).to_pylist()
    return {
        "items_hit": int(np.count_nonzero(counts)),
        "hit_items": [{"id": name, "matches": int(counts[at])} for name, at in zip(ids, most, strict=True)],
    }


def hits_by_file(files: Sequence[str], counts: I64Array) -> list[dict[str, Any]]:
    """The files of another collection for which most was removed, and how much for each."""
    order = np.argsort(-counts, kind="stable")[:_MOST_SOURCES]
    return [{"name": spelled(files[i]), "removed": int(counts[i])} for i in order if counts[i]]


def _cluster_sizes(sizes: I64Array) -> list[dict[str, int]]:
    """Clusters by size, in classes that double: 2, 3 to 4, 5 to 8, …"""
    large = sizes[sizes > 1]
    klass = np.ceil(np.log2(large)).astype(np.int64)
    return cluster_classes(
        {k: (int((klass == k).sum()), int(large[klass == k].sum())) for k in np.unique(klass).tolist()}
    )


def cluster_classes(found: Mapping[int, tuple[int, int]]) -> list[dict[str, int]]:
    """Classes of clusters, from (clusters, items in them) of those with more than 2^(k-1) and up to 2^k items."""
    return [
        {"from": 2 ** (k - 1) + 1, "to": 2**k, "clusters": found[k][0], "items": found[k][1]} for k in sorted(found)
    ]


def _unexpected(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sources of which it says something that they lost much: with `first`, later files lose to earlier ones."""
    sources, inputs = data.get("sources", {}), data.get("inputs", [])
    rows: list[dict[str, Any]] = sources.get("rows", [])
    spared = {"first": inputs[:1], "last": inputs[-1:]}.get(data.get("keep", ""))
    if spared is None or sources.get("by") != "file":
        return rows
    return [row for row in rows if row["name"] in spared]


def _sources(found: Found, kept: BoolArray) -> dict[str, Any]:
    """How much each source lost: by file, or by the value of a column."""
    names, codes = found.sketched.sources(found.items.source)
    if not names:
        return {}
    items, stay = (np.bincount(some, minlength=len(names)) for some in (codes, codes[kept]))
    return sources_by(names, items, stay, found.config.report_by or "file")


def sources_by(names: Sequence[str], items: I64Array, stay: I64Array, by: str) -> dict[str, Any]:
    """How many items each source has, and how many of them stay; those that lose most come first."""
    removed = items - stay
    order = np.argsort(-removed, kind="stable")
    rows = [
        {"name": names[i], "items": int(items[i]), "kept": int(stay[i]), "removed": int(removed[i])}
        for i in order[:_MOST_SOURCES]
    ]
    return {"by": by, "rows": rows, "left_out": max(0, len(names) - _MOST_SOURCES)}


def warnings(data: dict[str, Any], *, counts: bool = True) -> list[str]:
    """What a person should look at; without `counts`, which are told anyway on the screen, what is left."""
    out = []
    items = max(1, data["items"])
    # Shares of a handful of items say nothing.
    few = items < _FEW
    if data["short"] > 0.05 * items and not few:
        out.append(
            f"{data['short'] / items:.0%} of the items are shorter than {data['compared']}: each is one shingle and "
            "matches identical items only; try a smaller shingle"
        )
    if 0 < data.get("median_shingles", 0) < data.get("shingles_needed", 0) and not few:
        out.append(
            f"half of the items have {data['median_shingles']:.0f} shingles or fewer ({data['compared']}): one changed "
            f"word takes them below {data['threshold']:g}, so many near-duplicates are missed. For short records "
            "try the shingle char:4 or word:1 and a threshold of 0.5 to 0.6"
        )
    # A Jaccard similarity is no more than the size of the smaller set by that of the larger one.
    most = data.get("median_shingles_against", 0) / max(1, data.get("median_shingles", 0))
    if data["measure"] == "jaccard" and not data["matches"] and 0 < most < data["threshold"]:
        out.append(
            f"no match, and half of the references have {data['median_shingles_against']:.0f} shingles or fewer, half "
            f"of the items {data['median_shingles']:.0f} or more: too different in length for a Jaccard similarity of "
            f"{data['threshold']:g}; measure (--measure) containment finds short texts inside longer ones"
        )
    if data["empty"] > 0.05 * items and not few:
        what = ": they contain no words" if form_named(data["form"]).is_text else ""
        out.append(f"{data['empty'] / items:.0%} of the items have nothing to compare{what}")
    forged = (("refused_identical", "item", "identical"), ("refused_matches", "pair", "alike"))
    out += [
        f"{counted(data[name], noun)} {what} by hash, but not in fact: somebody made the hashes collide"
        for name, noun, what in forged
        if data[name]
    ]
    if data["bad_items"] and counts:
        out.append(f"{counted(data['bad_items'], 'item')} cannot be compared: kept, without a match")
    if data["invalid_utf8"] and counts:
        out.append(f"{counted(data['invalid_utf8'], 'item')} with invalid UTF-8, replaced by U+FFFD")
    if data["skipped_rows"] and counts:
        out.append(f"{counted(data['skipped_rows'], 'unreadable row')} skipped")
    out += data.get("remarks", [])
    if data["undivided_groups"]:
        out.append(
            f"slow to read: {counted(data['undivided_groups'], 'large row group')} of lists, of times, of dictionaries "
            "of long texts or at an address decoded by one thread; write smaller row groups"
        )
    over = data.get("expected", {}).get("over", 0)
    if over:
        out.append(f"about {data['expected']['memory'] / 1e9:.1f} GB of memory were needed; {more_memory(over)}")
    out += [
        f"{source['name']} lost {source['removed'] / source['items']:.0%} of its items"
        for source in _unexpected(data)
        if source["items"] >= _FEW and source["removed"] > 0.5 * source["items"]
    ]
    if data.get("largest_cluster", 0) > 0.05 * items and not few:
        out.append(
            f"one cluster holds {data['largest_cluster'] / items:.0%} of all items: check whether they really "
            "are duplicates"
        )
    return out + [f"{alarm}: please report this" for alarm in data.get("certificate", {}).get("alarms", [])]
