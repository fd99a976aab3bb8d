"""The report of a run that cuts repeated spans, as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lookalike import __version__
from lookalike.engines.local.spans.found_spans import FoundSpans
from lookalike.io.source import remarks_on
from lookalike.key import seed_shown
from lookalike.spec import VERSION as SPEC_VERSION
from lookalike.wording.phrases import counted
from lookalike.wording.printable import spelled

__all__ = ["span_report"]

_FEW = 20
# What was seen of the documents themselves; all other counts are of comparisons that there are none of here.
_SEEN = ("items", "rows", "null", "empty", "short", "invalid_utf8", "skipped_rows", "references")


def span_report(found: FoundSpans) -> dict[str, Any]:
    """What went in, what was cut and how."""
    config, items, counts = found.config, found.items, asdict(found.counts)
    kept = int(found.kept.sum())
    out: dict[str, Any] = {
        "lookalike": __version__,
        "hash_spec": SPEC_VERSION,
        "inputs": [spelled(name) for name in items.source.files],
        "column": list(items.columns),
        "id": items.id,
        "unit": "document",
        "span_words": config.span,
        "form": items.form,
        "normalize": sorted(config.shingle.normalize),
        "seed": seed_shown(config.seed),
        **{name: counts[name] for name in _SEEN},
        **asdict(found.figures),
        "kept": kept,
        "removed": int(found.counts.rows - kept),
        "precision": 1.0,
        "recall": 1.0,
        "certificate": {"statement": _statement(found), "notes": [], "alarms": []},
        "spilled": found.spilled,
        "stages": [{"name": name, "seconds": round(seconds, 3)} for name, seconds in found.seconds.items()],
    }
    against = found.collection.against
    if against is not None:
        own = found.collection.references
        out["against"] = [spelled(name) for name in against.source.files]
        out["only_against"] = config.only_against
        out["spans_against"] = int((found.cuts.sources < own).sum())
    if remarks := remarks_on(items.source, None if against is None else against.source):
        out["remarks"] = [spelled(remark) for remark in remarks]
    if items.source.bad:
        out["skipped_examples"] = list(items.source.bad)
    return out | {"warnings": _warnings(out)}


def _statement(found: FoundSpans) -> str:
    """How sure it is that everything was found, and nothing else."""
    where = "stands in the other collection" if found.config.only_against else "stands earlier"
    compared = counted(found.figures.compared_stretches, "pair")
    return (
        f"recall 1 and precision 1: every run of {found.config.span} words or more that {where} was found, since equal "
        f"words have equal hashes, and {compared} of runs with equal hashes were compared word by word"
    )


def _warnings(data: dict[str, Any]) -> list[str]:
    """What a person should look at."""
    out, documents = [], max(1, data["rows"])
    if data["empty"] > 0.05 * documents and documents >= _FEW:
        out.append(f"{data['empty'] / documents:.0%} of the documents have no word at all")
    if data["short"] > 0.5 * documents and documents >= _FEW:
        out.append(
            f"{data['short'] / documents:.0%} of the documents have fewer than {data['span_words']} words, "
            "and are left as they are"
        )
    if data["invalid_utf8"]:
        out.append(f"{counted(data['invalid_utf8'], 'document')} with invalid UTF-8: U+FFFD in what is cut")
    if data["skipped_rows"]:
        out.append(f"{counted(data['skipped_rows'], 'broken row')} skipped")
    out += data.get("remarks", [])
    if data["rehashed"]:
        out.append(
            "different words had the same hashes, as happens by chance in three runs of a thousand at the most: all "
            "was done again with another key"
        )
    return out
