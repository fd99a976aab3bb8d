"""Reports to render: a rich one as a large run would write it, and texts that no page should trust."""

from __future__ import annotations

import random
import re
from typing import Any

__all__ = ["HOSTILE", "hostile_report", "rich_report", "shared_ranges"]

_SUBJECTS = [
    "The harbour office",
    "The regional water board",
    "A spokesman for the ferry company",
    "The city's museum of transport",
    "The committee for monuments",
    "A group of beekeepers",
    "The new library",
    "The ministry of agriculture",
]
_VERBS = ["announced", "confirmed", "denied", "said in a statement", "told reporters", "repeated", "decided"]
_OBJECTS = [
    "that the old bridge will be closed for repairs until the end of the month",
    "that tickets bought before the storm remain valid for another year",
    "that the number of visitors rose by a third compared with the previous season",
    "that work on the northern breakwater will begin as soon as the weather allows it",
    "that nobody was hurt and the damage to the roof is smaller than was feared at first",
    "that the collection of nineteenth century timetables will be shown in full for the first time",
]

HOSTILE = (
    "<script>alert(document.domain)</script>",
    "</div></details></main><h1>taken over</h1>",
    '"><img src=https://evil.example/x.png onerror=alert(1)>',
    "<!-- <style>body{display:none}</style> -->",
    "<svg onload=alert(1)><use href='http://evil.example/#x'/></svg>",
    "&lt;b&gt; &amp;amp; &#x3c;i&#x3e;",
    "\x00\x01\x1b[31m\x7f\x85 controls",
    "lone \ud83d surrogate \udc00 and \ufffe noncharacter",
    "\u202egnp.exe \u2066 override that is never closed",
    "مرحبا بالعالم שלום עולם",
    "👩‍👩‍👧‍👦🏳️‍🌈 emoji",
    "Z̷̢͔̈́a̸͙͊l̶̰̈́g̷̱͝o̵͎͂ " * 3,
    "long" * 500,
    "line\r\nbreak\rand\ttab\u2028separator",
    "]]> ${x} {{y}} `z` %s \\u003cscript\\u003e",
)


def _article(rng: random.Random, sentences: int = 6) -> str:
    return " ".join(f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)}." for _ in range(sentences))


def _edited(rng: random.Random, text: str) -> str:
    """The same article with a sentence exchanged and a word changed, as another site would print it."""
    sentences = text.split(". ")
    sentences[rng.randrange(len(sentences))] = f"{rng.choice(_SUBJECTS)} did not wish to comment"
    return ". ".join(sentences).replace("month", "quarter", 1)


def shared_ranges(text: str, other: str, k: int = 5) -> list[list[int]]:
    """The ranges of `text` that stand in a shingle of k words which `other` has too."""
    there = {tuple(words) for words in _shingles(re.findall(r"\w+", other.lower()), k)}
    found = list(re.finditer(r"\w+", text))
    ranges: list[list[int]] = []
    for at, words in enumerate(_shingles([each.group().lower() for each in found], k)):
        if tuple(words) in there:
            low, high = found[at].start(), found[at + k - 1].end()
            if ranges and low <= ranges[-1][1]:
                ranges[-1][1] = high
            else:
                ranges.append([low, high])
    return ranges


def _shingles(words: list[str], k: int) -> list[list[str]]:
    return [words[at : at + k] for at in range(len(words) - k + 1)]


def _pair(rng: random.Random, similarity: float) -> dict[str, Any]:
    a = _article(rng)
    b = _edited(rng, a)
    return {
        "a": {"id": f"news-{rng.randrange(10**6):06}", "text": a},
        "b": {"id": f"news-{rng.randrange(10**6):06}", "text": b},
        "similarity": similarity,
        "marks_a": shared_ranges(a, b),
        "marks_b": shared_ranges(b, a),
    }


def _largest(rng: random.Random, size: int) -> dict[str, Any]:
    text = _article(rng, 3)
    members = [
        {"id": f"web-{rng.randrange(10**7):07}", "similarity": similarity, "text": _edited(rng, text)[:300]}
        for similarity in (1.0, 0.93, 0.81)
    ]
    kept = {"id": f"web-{rng.randrange(10**7):07}", "text": text, "file": "crawl/part-0003.parquet", "row": 17_204}
    return {"size": size, "kept": kept, "members": members}


def rich_report(files: int = 24) -> dict[str, Any]:
    """Everything that a report of `dedup` can hold."""
    rng = random.Random(7)
    names = [f"crawl/part-{number:04}.parquet" for number in range(files)]
    sources: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        items = rng.randrange(20_000, 60_000)
        removed = round(items * (0.62 if number == 5 else rng.uniform(0.12, 0.41)))
        sources.append({"name": name, "items": items, "kept": items - removed, "removed": removed})
    items = sum(row["items"] for row in sources)
    kept = sum(row["kept"] for row in sources)
    bins = [(round(0.8 + 0.01 * step, 2), round(0.81 + 0.01 * step, 2)) for step in range(20)]
    similarities = [
        {"from": low, "to": high, "pairs": round(9000 + 26_000 * (low - 0.8) + 700 * rng.uniform(-1, 1))}
        for low, high in bins
    ]
    pairs = sum(row["pairs"] for row in similarities)
    curve = []
    for row in similarities:
        s = (row["from"] + row["to"]) / 2
        planned = 1 - (1 - s**6) ** 16
        half = 0.0035 * (1 - planned + 0.02) ** 0.5 / 0.15
        measured = min(1.0, planned + half * rng.uniform(-0.6, 0.6))
        low, high = max(0.0, measured - half), min(1.0, measured + half)
        curve.append({"similarity": s, "pairs": row["pairs"], "measured": measured, "low": low, "high": high})
    expected = round(0.55 * pairs, 1)
    z = [rng.gauss(0, 1) for _ in range(16)]
    sizes = [(2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 128), (129, 256), (257, 512)]
    clusters = [round(0.2 * (items - kept) * 0.38**step) + 1 for step in range(len(sizes))]
    held = [number * (low + high) // 2 for (low, high), number in zip(sizes, clusters, strict=True)]
    # A cluster of two removes one item, so the first class takes up the difference.
    missing = items - kept - (sum(held) - sum(clusters))
    clusters[0], held[0] = clusters[0] + missing, held[0] + 2 * missing
    return {
        "lookalike": "0.1.0",
        "hash_spec": 2,
        "command": "lookalike dedup 'crawl/*.parquet' -o run --column text --id id --threshold 0.8 --memory 4GB",
        "finished": "2026-11-15T22:40:12+00:00",
        "inputs": names,
        "column": ["text"],
        "id": "id",
        "keep": "first",
        "cluster": "representative",
        "measure": "jaccard",
        "threshold": 0.8,
        "compared": "word:5",
        "normalize": ["case", "unicode", "whitespace"],
        "verify": "exact",
        "seed": 0,
        "unit": "document",
        "bands": 16,
        "rows_per_band": 6,
        "recall_at_threshold": 1 - (1 - 0.8**6) ** 16,
        "items": items,
        "rows": items + 14,
        "null": 14,
        "empty": 12,
        "short": 340,
        "invalid_utf8": 3,
        "skipped_rows": 2,
        "skipped_examples": [
            "crawl/part-0002.parquet: row 7: not a text",
            "crawl/part-0009.parquet: row 81: not a text",
        ],
        "identical": 31_120,
        "candidates": 211_820,
        "candidates_rejected": 31_306,
        "candidates_rejected_share": 0.1478,
        "matches": 180_514,
        "pairs": pairs,
        "pairs_left_out": 0,
        "largest_bucket": 412,
        "precision": 1.0,
        "kept": kept,
        "removed": items - kept,
        "clusters": sum(clusters),
        "largest_cluster": 512,
        "sources": {"by": "file", "rows": sources, "left_out": 0},
        "cluster_sizes": [
            {"from": low, "to": high, "clusters": number, "items": inside}
            for (low, high), number, inside in zip(sizes, clusters, held, strict=True)
        ],
        "similarities": similarities,
        "curve": curve,
        "certificate": {
            "statement": f"found {pairs:,} pairs at >= 0.8; estimated recall 0.994 (95% interval 0.991 to 0.997); "
            "precision 1 (every match verified)",
            "recall": {"recall": 0.994, "low": 0.991, "high": 0.997, "basis": "estimate and audit"},
            "estimate": {"found": pairs, "total": round(pairs / 0.994), "recall": 0.994, "low": 0.991, "high": 0.997},
            "bands": {
                "hits": [round(expected + 420 * each) for each in z],
                "expected": expected,
                "z": z,
                "suspicious": [],
            },
            "audit": {
                "sampled": 1412,
                "pairs": 210,
                "found": 209,
                "recall": 209 / 210,
                "low": 0.9738,
                "high": 0.9999,
                "missed": [{"a": "news-001734", "b": "news-883021", "similarity": 0.803}],
                "full": 3,
            },
            "left": {"items": 1200, "low": 300, "high": 2600},
            "notes": ["2 rows could not be read and are no part of any figure here."],
        },
        "largest_clusters": [_largest(rng, size) for size in (512, 498, 377, 260, 201, 164, 130, 128, 96, 95)],
        "sample_pairs": [
            _pair(rng, s) for s in (0.80, 0.82, 0.83, 0.85, 0.87, 0.9, 0.91, 0.93, 0.95, 0.96, 0.98, 0.99)
        ],
        "warnings": [
            "crawl/part-0005.parquet lost 62% of its items: is it a copy of another crawl?",
            "340 items are shorter than word:5; each is one shingle, the whole, and matches only what is equal to it.",
        ],
        "expected": {"seconds": 21.5, "memory": 1.1e9, "disk": 0},
        "actual": {"seconds": 24.0, "memory": 1.3e9, "disk": 0},
        "stages": [
            {"name": "reading and sketching", "seconds": 8.2},
            {"name": "grouping", "seconds": 2.1},
            {"name": "verifying", "seconds": 5.4},
            {"name": "clustering", "seconds": 0.6},
            {"name": "writing", "seconds": 7.7},
        ],
        "spilled": False,
        "recut": 0,
    }


def hostile_report() -> dict[str, Any]:
    """The rich report with hostile text wherever a run takes text from its data or its user."""
    report = rich_report(files=len(HOSTILE))
    texts = list(HOSTILE)
    report["command"] = f"lookalike dedup '{texts[0]}' -o \"{texts[2]}\""
    report["inputs"] = report["skipped_examples"] = report["warnings"] = texts
    report["column"], report["id"], report["keep"] = [texts[0], texts[8]], texts[1], f"max:{texts[2]}"
    report["compared"], report["finished"] = texts[4], texts[0]
    report["unit"] = report["measure"] = texts[3]
    report["sources"]["by"] = texts[2]
    for row, text in zip(report["sources"]["rows"], texts, strict=True):
        row["name"] = text
    certificate = report["certificate"]
    certificate["statement"], certificate["notes"] = texts[0], texts
    certificate["audit"]["missed"] = [{"a": text, "b": text, "similarity": 0.8} for text in texts]
    for cluster, text in zip(report["largest_clusters"], texts, strict=False):
        cluster["kept"] = {"id": text, "text": text, "file": text, "row": 3}
        cluster["members"] = [{"id": each, "similarity": 0.9, "text": each} for each in texts[:3]]
    report["sample_pairs"] = [
        {
            "a": {"id": text, "text": text * 3},
            "b": {"id": text, "text": text},
            "similarity": 0.9,
            # Ranges that overlap, run backwards, leave the text and cut an entity in the middle.
            "marks_a": [[0, 3], [2, 9], [7, 5], [-4, 1], [len(text), 10**9]],
            "marks_b": [[1, len(text)]],
        }
        for text in texts
    ]
    report["stages"] = [{"name": text, "seconds": 1.0} for text in texts]
    report[texts[0]] = texts[2]
    return report
