"""What is true of a small collection, by definition: how alike any two items are, and which pairs are to be found.

Plain Python up to 150 items; above that NumPy, by products of whole matrices, which nothing in the engine does. Text is
cut into tokens by the slow twin of the shingle kernels (`lookalike/twin/text.py`). Nothing is hashed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.twin.text import normalise, tokens

__all__ = ["Truth", "shingles_of", "truth_of"]

F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]
PLAIN = 150
# What is within this of 1 is a cosine of parallel vectors (docs/measures.md, verify/cosine.py).
PARALLEL = 1 - 2.0**-45
DEFAULT_NORMALIZE = {"word": frozenset({"lower"}), "char": frozenset({"lower", "whitespace"})}


@dataclass
class Items:
    """Items in plain Python: what is compared (sets, bags, or rows of an array), and what makes two identical."""

    content: Any
    identity: list[Hashable]
    sizes: list[int]
    lengths: list[int]
    bad: list[bool]


@dataclass
class Truth:
    """Of every two items how alike they are, whether they must be found, and whether they may be.

    The two differ only where the last digits of a sum decide. `first[i]` is the first item that is identical to i;
    those before `references` belong to the collection that is compared against.
    """

    score: F64
    must: Bools
    may: Bools
    first: list[int]
    sizes: list[int]
    lengths: list[int]
    bad: list[bool]
    references: int
    is_distance: bool
    slack: Callable[[float], float]


def truth_of(
    form: str, values: Sequence[Any], options: dict[str, Any], groups: Sequence[Any] | None, references: int = 0
) -> Truth:
    """The truth about items for the options of a run."""
    measure = options["measure"]
    items = _items(form, values, options)
    n = len(values)
    nothing: Scored = np.zeros((n, n)), (np.zeros((n, n), bool), np.zeros((n, n), bool)), _exactly
    scored, met, slack = nothing if items.content is None else _scores(items.content, measure, options)
    keys = [(groups[i] if groups else None, i if items.bad[i] else None, items.identity[i]) for i in range(n)]
    places: dict[Hashable, int] = {}
    first = [places.setdefault(key, i) for i, key in enumerate(keys)]
    same = np.equal.outer(np.array(first, int), np.array(first, int))
    distance = options.get("max_distance") is not None
    scored = np.where(same, 0.0 if distance else 1.0, scored)
    bad = np.array(items.bad, bool)
    compared = ~(bad[:, None] | bad[None, :])
    if groups:
        codes = np.array([{g: i for i, g in enumerate(dict.fromkeys(groups))}[g] for g in groups], int)
        compared &= np.equal.outer(codes, codes)
    # What is identical to something that is compared against is removed as such, and not looked at again.
    known = np.array(first, int) < references
    compared &= ~(known[:, None] & known[None, :])
    listed = np.triu(np.ones((n, n), bool), 1)
    listed[:references, :references] = False
    must, may = ((same | (compared & each)) & listed for each in met)
    return Truth(scored, must, may, first, items.sizes, items.lengths, items.bad, references, distance, slack)


# What items are made of


def _items(form: str, values: Sequence[Any], options: dict[str, Any]) -> Items:
    if options.get("exact"):
        return _identical(form, values, options)
    if form == "text":
        return _texts(values, options)
    if form == "vectors":
        return _vectors(values, options)
    if form == "bits":
        rows = [tuple(map(bool, row)) for row in values]
        return Items(np.array(rows, bool).reshape(len(rows), len(rows[0]) if rows else 0), list(rows), *_plain(values))
    weighed = options["measure"] in ("weighted-jaccard", "cosine")
    if form == "bags" or weighed:
        counted = [Counter(() if each is None else _listed(each)) if form != "bags" else each for each in values]
        return _bags([_rounded(each) for each in counted], values, options, weighed)
    sets = [frozenset(() if each is None else _listed(each)) for each in values]
    return Items(sets, list(sets), [len(each) for each in sets], *_plain(values)[1:])


def _listed(each: Any) -> list[Any]:
    return each.tolist() if isinstance(each, np.ndarray) else list(each)


def _plain(values: Sequence[Any]) -> tuple[list[int], list[int], list[bool]]:
    """Sizes, lengths and flags of items of which none is bad."""
    lengths = [0 if each is None else len(each) for each in values]
    return lengths, lengths, [False] * len(values)


def _rounded(bag: Any) -> dict[Any, float]:
    """A bag with weights of float32, without those that are zero."""
    with np.errstate(over="ignore"):
        found = {x: float(np.float32(w)) for x, w in (bag or {}).items()}
    return {x: w for x, w in found.items() if w != 0}


def _bags(bags: list[dict[Any, float]], values: Sequence[Any], options: dict[str, Any], weighed: bool) -> Items:
    lengths, bad = _plain(values)[1:]
    if options["measure"] == "weighted-jaccard":
        bad = [any(w < 0 for w in (value.values() if isinstance(value, dict) else ())) for value in values]
        bags = [{} if wrong else bag for wrong, bag in zip(bad, bags, strict=True)]
    if not weighed:
        bad = [any(w not in (0, 1) for w in value.values()) for value in values]
        sets = [frozenset(bag) for bag in bags]
        return Items(sets, list(sets), [len(each) for each in sets], lengths, bad)
    return Items(bags, [frozenset(bag.items()) for bag in bags], [len(bag) for bag in bags], lengths, bad)


def _vectors(values: Sequence[Any], options: dict[str, Any]) -> Items:
    width = next((len(each) for each in values if each is not None), 1)
    rows = np.zeros((len(values), width), np.float32)
    identity: list[Hashable] = []
    bad = []
    for i, each in enumerate(values):
        fits = each is not None and len(each) == width
        with np.errstate(over="ignore", invalid="ignore"):
            row = np.array(each if fits else [0] * width, np.float32) + np.float32(0)
        wrong = each is not None and (
            not fits or not np.isfinite(row).all() or (options["measure"] == "cosine" and not row.any())
        )
        rows[i] = 0 if wrong else row
        bad.append(wrong)
        identity.append(None if each is None else row.tobytes())
    content = rows.astype(np.float64)
    content[[each is None for each in values]] = math.nan
    return Items(content, identity, [width] * len(values), [width] * len(values), bad)


def shingles_of(text: Any, options: dict[str, Any]) -> list[Hashable]:
    """The shingles of a text in their order, repeated ones too."""
    kind, k, *_ = options.get("shingle", "word:5").split(":")
    raw = raw_of(text)
    if options.get("tokens") is not None:
        cut = list(options["tokens"](raw.decode("utf-8", "replace")))
    else:
        cut = tokens(raw, kind, _normalize(options, kind))
    m = min(int(k), len(cut))
    return [tuple(cut[i : i + m]) for i in range(len(cut) - m + 1)] if m else []


def _normalize(options: dict[str, Any], kind: str) -> frozenset[str]:
    given = options.get("normalize")
    return DEFAULT_NORMALIZE[kind] if given is None else frozenset(given.split(",")) - {"none"}


def raw_of(text: Any) -> bytes:
    """The bytes of a text; a lone surrogate is three bytes that are no UTF-8, null is none."""
    return b"" if text is None else text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _texts(values: Sequence[Any], options: dict[str, Any]) -> Items:
    counted = [Counter(shingles_of(text, options)) for text in values]
    frequency = Counter(shingle for each in counted for shingle in each)
    lengths = [len(raw_of(text)) for text in values]
    whole: list[Any] = [frozenset(each) for each in counted]
    share = options.get("max_share")
    rare = {x for x, df in frequency.items() if share is None or df / len(values) <= share}
    left: list[Any] = [each & rare for each in whole]
    if options.get("shingle", "").endswith(":bag"):
        whole = [frozenset((x, j) for x, times in each.items() for j in range(times)) for each in counted]
        left = [frozenset((x, j) for x, j in each if x in rare) for each in whole]
    fine = [False] * len(values)
    if options["measure"] in ("jaccard", "containment"):
        # What loses everything is like its own copies alone; and so is what had nothing to lose.
        three = zip(left, whole, values, strict=True)
        names: list[Hashable] = [(bool(some), some or everything or raw_of(text)) for some, everything, text in three]
        return Items(left, names, [len(each) for each in left], lengths, fine)
    mean = sum(sum(each.values()) for each in counted) / max(1, len(values))
    bags = []
    for each in counted:
        weighed = {
            x: _weight(tf, frequency[x], each, mean, len(values), options) for x, tf in each.items() if x in rare
        }
        bags.append(_rounded(weighed))
    identity: list[Hashable] = [
        (True, frozenset(bag.items())) if bag else (False, frozenset(each.items()) or raw_of(text))
        for bag, each, text in zip(bags, counted, values, strict=True)
    ]
    return Items(bags, identity, [len(bag) for bag in bags], lengths, fine)


def _weight(tf: int, df: int, text: Counter[Any], mean: float, N: int, options: dict[str, Any]) -> float:
    kind = options.get("weights") or "tf-idf"
    if kind == "count":
        return float(tf)
    if kind == "tf-idf":
        return tf * math.log(1 + N / df)
    long = sum(text.values()) / mean
    return math.log(1 + (N - df + 0.5) / (df + 0.5)) * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * long))


def _identical(form: str, values: Sequence[Any], options: dict[str, Any]) -> Items:
    """For `exact`: raw bytes of texts, or their normalised text where that is asked for; other items as they are."""
    if form == "text":
        identity: list[Hashable] = [raw_of(text) for text in values]
        if options.get("normalize") is not None:
            kind = options.get("shingle", "word:5").split(":")[0]
            identity = [normalise(raw_of(text), _normalize(options, kind)) or raw_of(text) for text in values]
        return Items(None, identity, *_plain(values)[:1], [len(raw_of(text)) for text in values], _plain(values)[2])
    plain = _items(form, values, {**options, "exact": False, "measure": "euclidean" if form == "vectors" else "none"})
    plain.content = None
    return plain


# How alike they are


Scored = tuple[F64, tuple[Bools, Bools], Callable[[float], float]]


def _exactly(score: float) -> float:
    return 0.0


def _scores(content: Any, measure: str, options: dict[str, Any]) -> Scored:
    """All scores; which pairs must be and which may be met; by how much a told score may be off."""
    exact: dict[str, Callable[[Any], F64]] = {"jaccard": _jaccard, "containment": _containment, "hamming": _hamming}
    if measure in exact:
        found = exact[measure](content)
        alike = (found >= options["threshold"]) & (found > 0)
        return found, (alike, alike), _exactly
    limit = options.get("threshold", math.nan)
    if measure == "weighted-jaccard":
        found, terms = _bag_scores(content, _weighted_jaccard)
        # Two sums of so many terms that are never negative, and a quotient.
        relative = (2 * terms + 4) * 2.0**-53
        least = limit * (1 - 2.0**-22)
        met = (found >= least * (1 + relative), found >= least * (1 - relative))
        return found, met, lambda score: relative * score
    if measure == "cosine":
        found, terms = _bag_scores(content, _cosine) if isinstance(content, list) else _dense_cosine(content)
        found = np.where(found >= PARALLEL, 1.0, found)
        # Sums of products, and two lengths: each is off by so many units of what Cauchy and Schwarz allow it to be.
        absolute = (2 * terms + 16) * 2.0**-53
        least = math.cos(math.acos(limit) + 2.0**-22)
        met = (found >= least + absolute, (found >= least - absolute) & (found > 0))
        return found, met, lambda score: 2.0**-44 if score >= PARALLEL - 2.0**-44 else absolute
    order = {"euclidean": 2.0, "manhattan": 1.0}.get(measure) or float(measure[3:])
    found = _distances(content, order)
    d = content.shape[1]
    # As tests/verify/test_distances.py derives it: sums, differences and their powers; twice, for there are two of us.
    relative = 2 * (d / 8 + 12 + (8 * (2 + math.log(d)) if order not in (1, 2, math.inf) else 0)) * 2.0**-53
    most = options["max_distance"] * (1 + 2.0**-20)
    met = (found <= most * (1 - relative), found <= most * (1 + relative))
    return found, met, lambda score: relative * score


def _matrix(n: int, score: Callable[[int, int], float]) -> F64:
    found = np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        found[i, j] = found[j, i] = score(i, j)
    return found


def _shared(sets: Sequence[frozenset[Any]]) -> F64:
    """|A ∩ B| of every two sets."""
    n = len(sets)
    if n <= PLAIN:
        return _matrix(n, lambda i, j: len(sets[i] & sets[j]))
    codes: dict[Any, int] = {}
    numbers = [[codes.setdefault(x, len(codes)) for x in each] for each in sets]
    found = np.zeros((n, n))
    for start in range(0, len(codes), 4096):
        present = np.zeros((n, 4096), np.float32)
        for i, row in enumerate(numbers):
            present[i, [x - start for x in row if start <= x < start + 4096]] = 1
        found += present @ present.T
    return found


def _quotient(over: F64, under: F64) -> F64:
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _jaccard(sets: Sequence[frozenset[Any]]) -> F64:
    both, sizes = _shared(sets), np.array([len(each) for each in sets], float)
    return _quotient(both, sizes[:, None] + sizes[None, :] - both)


def _containment(sets: Sequence[frozenset[Any]]) -> F64:
    sizes = np.array([len(each) for each in sets], float)
    return _quotient(_shared(sets), np.minimum(sizes[:, None], sizes[None, :]))


def _hamming(rows: Bools) -> F64:
    signs = np.where(rows, 1.0, -1.0)
    width = rows.shape[1]
    return np.asarray((signs @ signs.T + width) / 2 / max(1, width))


def _bag_scores(bags: Sequence[dict[Any, float]], score: Callable[..., float]) -> tuple[F64, int]:
    terms = 2 * max(map(len, bags), default=0)
    lengths = [math.sqrt(math.fsum(w * w for w in bag.values())) for bag in bags]
    totals = [math.fsum(bag.values()) for bag in bags]
    return _matrix(
        len(bags), lambda i, j: score(bags[i], bags[j], lengths[i] * lengths[j], totals[i] + totals[j])
    ), terms


def _weighted_jaccard(a: dict[Any, float], b: dict[Any, float], lengths: float, total: float) -> float:
    """Σ min / Σ max, where Σ max is the sum of both less Σ min; exact sums where that would cancel."""
    least = math.fsum(min(w, b[x]) for x, w in a.items() if x in b)
    if not least:
        return 0.0
    return least / math.fsum(max(a.get(x, 0.0), b.get(x, 0.0)) for x in a.keys() | b.keys())


def _cosine(a: dict[Any, float], b: dict[Any, float], lengths: float, total: float) -> float:
    return math.fsum(w * b[x] for x, w in a.items() if x in b) / lengths if lengths else 0.0


def _dense_cosine(rows: F64) -> tuple[F64, int]:
    scaled = rows / np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1e-300)[:, None]
    lengths = np.sqrt(np.square(scaled).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (scaled @ scaled.T) / (lengths[:, None] * lengths[None, :])
    return np.nan_to_num(np.clip(found, -1, 1), nan=-2.0), rows.shape[1]


def _distances(rows: F64, order: float) -> F64:
    found = np.full((len(rows), len(rows)), math.nan)
    for i, row in enumerate(rows):
        apart = np.abs(rows - row)
        most = apart.max(axis=1, initial=0.0)
        if order == math.inf:
            found[i] = most
        elif order == 1:
            found[i] = apart.sum(axis=1)
        else:
            scale = np.where(most > 0, most, 1.0)
            found[i] = scale * ((apart / scale[:, None]) ** order).sum(axis=1) ** (1 / order)
    return np.asarray(np.nan_to_num(found, nan=math.inf, posinf=math.inf))
