"""Trials: a hostile collection, what is asked of it, and how it is handed over. Each is known by its number alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from benchmarks.hostile_items import BROKEN, Drawn, draw_items

__all__ = ["COLUMN", "Trial", "by_mark", "draw", "letters", "shuffled"]

COLUMN = {"text": "text", "sets": "items", "bags": "vector", "columns": "vector", "vectors": "vector", "bits": "bits"}
MEASURES = {
    "text": ["jaccard"] * 4 + ["containment", "weighted-jaccard", "cosine", "exact"],
    "integers": ["jaccard"] * 4 + ["containment"] * 2 + ["weighted-jaccard", "exact"],
    "strings": ["jaccard"] * 3 + ["containment", "weighted-jaccard"],
    "columns": ["jaccard"] * 3 + ["containment"],
    "bags": ["weighted-jaccard"] * 3 + ["cosine"] * 2 + ["jaccard"],
    "vectors": ["cosine"] * 4 + ["euclidean"] * 2 + ["manhattan"] * 2 + ["lr:1.5", "lr:3", "lr:inf", "exact"],
    "bits": ["hamming"] * 5 + ["exact"],
}
THRESHOLDS = [
    "0.8",
    "0.8",
    "0.5",
    "0.9",
    "1.0",
    "0.75",
    "0.6",
    "0.3",
    "0.1",
    "0.95",
    "0.05",
    "0.99",
    "1/3",
    "2/3",
    "0.7",
]


@dataclass
class Trial:
    """What is done: `items` (references first) of a form, a verb, its options, and how items come to it."""

    number: int
    drawn: Drawn
    verb: str
    way: str
    options: dict[str, Any]
    references: int = 0
    ids: list[str] | None = None
    groups: list[Any] | None = None
    marks: list[Any] | None = None
    # The document of each item, where items are lines or paragraphs.
    documents: list[int] | None = None
    # Options under which the result must be the same; "shuffle" for the items in another order.
    again: dict[str, Any] = field(default_factory=dict)

    @property
    def form(self) -> str:
        return self.drawn.form

    @property
    def measure(self) -> str:
        return "exact" if self.options.get("exact") else str(self.options["measure"])

    def __str__(self) -> str:
        shown = {name: value if not callable(value) else value.__name__ for name, value in self.options.items()}
        return f"{self.verb} of {len(self.drawn.values)} {self.form} ({self.drawn.structure}) by {self.way}, {shown}"


def letters(text: str) -> list[str]:
    """A tokens function: words at white space, as they are."""
    return text.split()


def by_mark(row: dict[str, Any]) -> tuple[bool, int]:
    """What to keep, as a function: the smallest mark, rows without one last."""
    return row["mark"] is None, row["mark"] or 0


def draw(seed: int, number: int) -> Trial:
    """The trial of a number."""
    rng = Random(f"{seed}:{number}")
    form = rng.choice(
        ["text"] * 5 + ["integers"] * 3 + ["strings"] + ["columns", "bags"] * 2 + ["vectors"] * 5 + ["bits"] * 2
    )
    large = rng.random() < 0.015
    n = rng.choice([400, 700, 1500, 2200]) if large else _count(rng)
    limit = Fraction(rng.choice(THRESHOLDS))
    measure = rng.choice(MEASURES[form])
    if large and form in ("bags", "text") and measure in ("weighted-jaccard", "cosine"):
        n = 300
    drawn = draw_items(form, rng, n, limit, large=large)
    options = _options(rng, drawn, measure, limit)
    verb = rng.choice(["pairs"] * 4 + ["clusters"] * 2 + ["dedup"] * 4)
    if form == "vectors" and measure in ("cosine", "euclidean", "manhattan") and rng.random() < 0.25:
        return _neighbors(rng, number, drawn, measure)
    if form == "text" and rng.random() < 0.05 and n >= 2:
        shingling = {key: value for key, value in options.items() if key in ("shingle", "normalize")}
        return Trial(number, drawn, "compare", "native", {"measure": "jaccard", **shingling})
    if verb == "dedup" and form == "text" and rng.random() < 0.08:
        return _units(rng, number, drawn, options)
    if form in ("integers", "strings", "bags") and rng.random() < 0.08:
        return _edges(rng, number, drawn, verb, options)
    way = "cli" if number % 100 == 0 else rng.choice(_ways(drawn, measure))
    trial = Trial(number, drawn, verb, way, options)
    _arrange(rng, trial)
    if rng.random() < 0.25:
        again: list[dict[str, Any]] = [
            {"threads": 1},
            {"threads": 2},
            {"memory": "64MB"},
            {"audit": trial.options["audit"]},
        ]
        trial.again = rng.choice([*again, {"shuffle": True}, {"shuffle": True}])
    return trial


def _units(rng: Random, number: int, drawn: Drawn, options: dict[str, Any]) -> Trial:
    """The texts as lines or paragraphs of documents of one to four each."""
    lines = [" ".join((each or "").split()) for each in drawn.values]
    # What is written again has U+FFFD for what is no UTF-8, and would be another text.
    lines = [each for each in lines if len(each.splitlines()) == 1 and each.isprintable()]
    documents, document = [], 0
    for _ in lines:
        documents.append(document)
        document += rng.random() < 0.4
    more = {"unit": rng.choice(["line", "paragraph"]), "keep": rng.choice(["first", "last"])}
    more["cluster"] = rng.choice(["representative", "components"])
    units = Drawn("text", drawn.structure, lines)
    return Trial(number, units, "dedup", "native", options | more, documents=documents)


def _edges(rng: Random, number: int, drawn: Drawn, verb: str, options: dict[str, Any]) -> Trial:
    """Items as the ends of edges: what has no elements is none, and a weight below zero or no name is an error."""
    values = [each for each in drawn.values if each is not None and len(each) and "" not in list(each)]
    if drawn.form == "bags":
        values = [{x: abs(w) for x, w in each.items()} for each in values]
    ids = [f"e{each:05}" for each in rng.sample(range(len(values)), len(values))]
    if verb != "pairs":
        options |= {"cluster": rng.choice(["representative", "components"]), "keep": rng.choice(["first", "last"])}
    if drawn.form == "sets" and options["measure"] == "weighted-jaccard":
        options["measure"] = "jaccard"
    return Trial(number, Drawn(drawn.form, drawn.structure, values), verb, "edges", options, ids=ids)


def shuffled(trial: Trial) -> Trial:
    """The same items in another order."""
    order = Random(trial.number).sample(range(len(trial.drawn.values)), len(trial.drawn.values))

    def moved(values: list[Any] | None) -> list[Any] | None:
        return None if values is None else [values[i] for i in order]

    drawn = replace(trial.drawn, values=[trial.drawn.values[i] for i in order])
    return replace(trial, drawn=drawn, ids=moved(trial.ids), groups=moved(trial.groups), marks=moved(trial.marks))


def _count(rng: Random) -> int:
    return rng.choice(
        [
            0,
            1,
            1,
            2,
            2,
            2,
            2,
            2,
            *(rng.randrange(3, 12) for _ in range(12)),
            *(rng.randrange(12, 60) for _ in range(20)),
            *(rng.randrange(60, 150) for _ in range(6)),
        ]
    )


def _options(rng: Random, drawn: Drawn, measure: str, limit: Fraction) -> dict[str, Any]:
    options: dict[str, Any] = {
        "measure": measure,
        "audit": rng.choice([0, 0, 0, 3, 1000]),
        "threads": rng.choice([1, 1, 2]),
    }
    options["seed"] = rng.choice([0, rng.randrange(10**6), rng.getrandbits(128)])
    if measure == "exact":
        options |= {"measure": "jaccard", "exact": True, "threshold": 0.8}
    elif measure in ("euclidean", "manhattan") or measure.startswith("lr:"):
        options["max_distance"] = _distance(rng, drawn, measure)
    else:
        options["threshold"] = float(limit)
        if drawn.form == "vectors" and rng.random() < 0.3:
            options["threshold"] = _cosine(rng, drawn) or float(limit)
    if drawn.form == "text":
        options |= _shingling(rng, measure)
    banded = measure not in ("exact", "containment", "lr:3", "lr:inf")
    if banded and rng.random() < 0.45:
        rows = rng.choice([1, 1, 2, 3, 5] if measure != "cosine" else [1, 3, 8, 12])
        options |= {"bands": rng.choice([1, 2, 5, 12, 40]), "rows": rows}
    elif rng.random() < 0.3:
        options["recall"] = rng.choice([0.3, 0.9, 0.999])
    if banded and rng.random() < 0.2:
        allowed = ["none"]
        allowed += ["text"] if drawn.form in ("text", "sets") and measure == "jaccard" else []
        allowed += ["sketch"] if measure == "jaccard" or (measure == "cosine" and drawn.form == "vectors") else []
        options["verify"] = rng.choice(allowed)
        if options["verify"] == "text":
            options.pop("max_share", None)
    elif measure in ("containment", "exact") and drawn.form in ("text", "sets") and rng.random() < 0.2:
        options["verify"] = "text"
        options.pop("max_share", None)
    if rng.random() < 0.15:
        options["memory"] = rng.choice(["64MB", "100MB"])
    if rng.random() < 0.6:
        options["skip_bad"] = True
    return options


def _shingling(rng: Random, measure: str) -> dict[str, Any]:
    kind = rng.choice(
        ["word:1", "word:1", "word:2", "word:3", "word:5", "char:1", "char:3", "char:5", "char:9", "word:64"]
    )
    options: dict[str, Any] = {"shingle": kind + (":bag" if rng.random() < 0.15 and measure != "exact" else "")}
    if measure == "exact":
        options = {}
        if rng.random() < 0.5:
            options["normalize"] = rng.choice(
                ["lower", "whitespace,lower", "accents", "punctuation,whitespace", "none"]
            )
        return options
    if rng.random() < 0.4:
        names = ["lower", "accents", "digits", "punctuation", "whitespace"]
        options["normalize"] = ",".join(rng.sample(names, rng.randrange(1, 6))) if rng.random() < 0.8 else "none"
    elif kind.startswith("word") and rng.random() < 0.1:
        options["tokens"] = letters
    if measure in ("weighted-jaccard", "cosine"):
        options["weights"] = rng.choice(["tf-idf", "bm25", "count"])
        options["shingle"] = kind
    if rng.random() < 0.1:
        options["max_share"] = rng.choice([0.1, 0.5, 0.9])
    return options


def _two(rng: Random, drawn: Drawn) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    rows = [each for each in drawn.values if each is not None]
    if len(rows) < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = (np.array(each, np.float32).astype(float) for each in rng.sample(rows, 2))
    return (a, b) if len(a) == len(b) and np.isfinite(a).all() and np.isfinite(b).all() else None


def _distance(rng: Random, drawn: Drawn, measure: str) -> float:
    """Exactly that of two of the items, or one that is usual; what is no limit at all is left to other tests."""
    both = _two(rng, drawn)
    if both is not None and rng.random() < 0.7:
        apart = np.abs(both[0] - both[1])
        found = {"euclidean": math.sqrt(math.fsum(apart**2)), "manhattan": math.fsum(apart)}.get(
            measure, float(apart.max(initial=0))
        )
        if found > 0:
            return float(found) * rng.choice([1, 1, 1, 1.5, 0.999])
    return rng.choice([0.1, 0.5, 1.0, 2.0, 10.0, 1e-3])


def _cosine(rng: Random, drawn: Drawn) -> float | None:
    both = _two(rng, drawn)
    if both is None or not (both[0].any() and both[1].any()):
        return None
    a, b = (each / np.abs(each).max() for each in both)
    found = math.fsum(a * b) / math.sqrt(math.fsum(a * a)) / math.sqrt(math.fsum(b * b))
    return min(found, 1.0) if found > 0.01 else None


def _neighbors(rng: Random, number: int, drawn: Drawn, measure: str) -> Trial:
    options = {"measure": measure, "k": rng.choice([1, 2, 3, 10, 200]), "recall": rng.choice([0.5, 0.9, 1.0])}
    options |= {"skip_bad": rng.random() < 0.8, "threads": rng.choice([1, 2]), "seed": rng.randrange(100)}
    references = rng.randrange(1, len(drawn.values)) if len(drawn.values) > 2 and rng.random() < 0.5 else 0
    # Of `references` vectors the nearest are asked for, among the others.
    return Trial(number, drawn, "neighbors", "native", options, references)


def _ways(drawn: Drawn, measure: str) -> list[str]:
    ways = ["native"] * 8 + ["dict"] + ["table"] * 3 + ["parquet", "arrow"] * 2
    finite = drawn.form != "vectors" or _finite(drawn)
    broken = drawn.form == "text" and any(
        each is not None and any(bit in each for bit in "".join(BROKEN)) for each in drawn.values
    )
    # JSON has whole numbers of any size: where some are beyond int64, the elements of all sets are text.
    beyond = drawn.form == "sets" and any(
        isinstance(x, int | np.integer) and int(x) >= 2**63 for each in drawn.values if each is not None for x in each
    )
    if finite and not broken and not beyond:
        ways += ["jsonl"] * 3
        if drawn.form == "text":
            ways += ["csv"] * 2
    if isinstance(drawn.array, np.ndarray):
        ways += ["npy", "npz"]
    return ways


def _finite(drawn: Drawn) -> bool:
    return all(np.isfinite(np.array(each, float)).all() for each in drawn.values if each is not None)


def _arrange(rng: Random, trial: Trial) -> None:
    """Ids, groups, what to keep, and what to compare against."""
    n, options = len(trial.drawn.values), trial.options
    tabular = trial.way not in ("native", "dict", "npy", "npz")
    if trial.verb == "dedup" and tabular and n > 2 and rng.random() < 0.3:
        trial.references = rng.randrange(1, n)
    if trial.way == "dict" or trial.references or (tabular and rng.random() < 0.6):
        trial.ids = [f"i{each:05}" for each in rng.sample(range(n), n)]
    # All pairs cannot be compared in groups, and for orders above 2 nothing else is possible.
    if tabular and rng.random() < 0.15 and trial.measure not in ("lr:3", "lr:inf"):
        trial.groups = [rng.choice(["x", "y", "y"]) for _ in range(n)]
        options["group_by"] = "grp"
    if trial.verb != "pairs":
        options["cluster"] = rng.choice(["representative", "representative", "components"])
        keeps: list[Any] = ["first", "first", "last"] + (
            ["longest", "shortest"] if trial.form in ("text", "sets") else []
        )
        if tabular:
            trial.marks = [rng.randrange(4) if rng.random() < 0.9 else None for _ in range(n)]
            keeps += ["max:mark", "min:mark", "prefer:mark=2,0"] + ([by_mark] if trial.way != "cli" else [])
        options["keep"] = rng.choice(keeps)
    if n > 1 and not trial.references and rng.random() < 0.08:
        options["limit"] = rng.randrange(1, n + 3)
    if trial.form == "sets" and trial.measure != "weighted-jaccard":
        options |= trial.drawn.said
    if trial.form == "columns" and (tabular or trial.way == "dict"):
        options["vectors"] = "vector"
        if trial.way == "dict":
            trial.way, trial.ids = "native", None
            options.pop("vectors")
    if trial.ids is not None and tabular:
        options["id"] = "id"
