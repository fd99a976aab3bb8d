"""Small collections that are hard on the engine, of every form that an item can have: made from a random generator.

Sets are drawn first as sets of small numbers, in one of the STRUCTURES below, and then dressed: as integers or
strings, as rows of 0 and 1, as bags, or as the words of texts. Vectors and bits have structures of their own. A
structure gets the similarity that will be asked for, so that it can put pairs exactly there and beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FORMS", "Drawn", "draw_items"]

Sets = list[set[int]]

WORDS = [
    "tea", "Milk", "MILK", "stra\xdfe", "STRASSE", "\u03c3\u03bf\u03c6\u03cc\u03c2", "\u03a3\u039f\u03a6\u038c\u03a3",
    "\u0130stanbul", "\u0131", "caf\xe9", "cafe\u0301", "cafe", "na\xefve", "9", "10", "0", "\u0663\u0664", "x_y",
    "don't", "\u4f60\u597d", "\u4e16", "\u754c", "\u3042\u308a", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\u0915\u094d\u0937\u093f", "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0634\u064e\u0645\u0652\u0633",
    "\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd", "\ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab", "\U0001f600",
    "\U0001f469\u200d\U0001f4bb", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "a\u200bb", "co\xadop", "\u0301x", "\x00",
    "a\x00b", "\ufb01n", "\uff21\uff22", "\xb2", "\u2163", "\ufffd", "\u202eabc\u202c", "\U0001d54f", "\u1100\u1161",
    "\xc5", "A\u030a", "\u212b", "q\u0323\u0307", "q\u0307\u0323",
]  # fmt: skip
BROKEN = ["\ud800", "a\udfffb", "\udc80\udcff"]
GAPS = [" ", " ", " ", "  ", "\t", "\n", ", ", ". ", "\u3000", "\u2014", " \u00a0", "; ", "\r\n", "\u2028"]


@dataclass
class Drawn:
    """A collection: `values` one by one, as Python has them; `array` is what to give as a whole where that differs."""

    form: str
    structure: str
    values: list[Any]
    array: Any = None
    # What the values must be said to be, where the engine rightly asks.
    said: dict[str, str] = field(default_factory=dict)


class Sparse:
    """As much of a SciPy matrix as the engine looks at."""

    def __init__(self, rows: list[dict[int, float]], columns: int) -> None:
        self.shape = (len(rows), columns)
        self.indptr = np.cumsum([0, *map(len, rows)])
        self.indices = np.array([each for row in rows for each in row], np.int64)
        self.data = np.array([each for row in rows for each in row.values()], np.float64)

    def tocsr(self) -> Sparse:
        return self


# Structures of sets


def identical(rng: Random, n: int, t: Fraction) -> Sets:
    base = set(rng.sample(range(50), rng.randrange(1, 20)))
    return [set(base) for _ in range(n)]


def empty(rng: Random, n: int, t: Fraction) -> Sets:
    return [set() if rng.random() < 0.8 else {rng.randrange(3)} for _ in range(n)]


def at_limit(rng: Random, n: int, t: Fraction) -> Sets:
    """Pairs that share exactly the limit, one element less, and one more; each pair among elements of its own."""
    sets: Sets = []
    while len(sets) < n:
        times, start = rng.randrange(1, 4), 1000 * len(sets) * rng.randrange(2)
        union, both = t.denominator * times, t.numerator * times + rng.choice([-1, 0, 0, 0, 1])
        both = min(max(both, 0), union)
        left = rng.randrange(both, union + 1)
        everything = [start + each for each in rng.sample(range(union), union)]
        sets += [set(everything[:left]), set(everything[:both] + everything[left:])]
    return sets[:n]


def ties(rng: Random, n: int, t: Fraction) -> Sets:
    """Sets that are all equally like a few centres, and each other."""
    size = rng.randrange(2, 12)
    centre = set(range(size))
    return [centre - {rng.randrange(size)} | {100 + rng.randrange(1 + n // 3)} if i else centre for i in range(n)]


def template(rng: Random, n: int, t: Fraction) -> Sets:
    """A common part beside some of its own, on both sides of the limit."""
    size = rng.randrange(10, 60)
    own = max(1, round(float((1 - t) / (1 + t)) * size))
    sets = []
    for _ in range(n):
        gone = rng.sample(range(size), min(size, rng.randrange(2 * own + 1)))
        sets.append(set(range(size)) - set(gone) | {1000 + rng.randrange(10**4) for _ in gone})
    return sets


def one_huge(rng: Random, n: int, t: Fraction) -> Sets:
    whole = range(rng.choice([300, 3000]))
    parts = [set(rng.sample(whole, rng.choice([1, 2, 5, len(whole) // 2, len(whole) - 1]))) for _ in range(n)]
    return [set(whole), *parts][:n]


def chain(rng: Random, n: int, t: Fraction) -> Sets:
    size = rng.randrange(2, 20)
    step = max(1, size - round(2 * size * float(t) / (1 + float(t))))
    return [set(range(i * step, i * step + size)) for i in range(n)]


def popular(rng: Random, n: int, t: Fraction) -> Sets:
    return [{int(300 ** rng.random()) for _ in range(rng.randrange(1, 8))} for _ in range(n)]


def ladder(rng: Random, n: int, t: Fraction) -> Sets:
    return [set(range(i + rng.randrange(2))) for i in range(n)]


def same_size(rng: Random, n: int, t: Fraction) -> Sets:
    size = rng.randrange(1, 8)
    return [set(rng.sample(range(size + 4), size)) for _ in range(n)]


def scattered(rng: Random, n: int, t: Fraction) -> Sets:
    return [{rng.randrange(10**5) for _ in range(rng.randrange(40))} for _ in range(n)]


def families(rng: Random, n: int, t: Fraction) -> Sets:
    sets: Sets = []
    while len(sets) < n:
        base = {rng.randrange(10**6) for _ in range(rng.randrange(1, 60))}
        for _ in range(rng.choice([1, 2, 2, 3, 10])):
            gone = {each for each in base if rng.random() < rng.choice([0, 0.02, 0.1, float(1 - t) / 2])}
            sets.append(base - gone | {rng.randrange(10**6) for _ in gone})
    return sets[:n]


STRUCTURES: list[Callable[[Random, int, Fraction], Sets]] = [
    identical, empty, at_limit, at_limit, ties, template, template, one_huge, chain, popular, ladder, same_size,
    scattered, families, families,
]  # fmt: skip
# Those that make long lists: what giant buckets, leaders and connections are there for.
LARGE = [identical, template, template, popular, ties, families]


def draw_items(form: str, rng: Random, n: int, t: Fraction, *, large: bool) -> Drawn:
    """A collection of n items of a form, with pairs at a similarity of t and to both sides of it."""
    return FORMS[form](rng, n, t, large)


def _sets(rng: Random, n: int, t: Fraction, large: bool) -> tuple[str, Sets]:
    structure = rng.choice(LARGE if large else STRUCTURES)
    sets = structure(rng, n, t)
    if rng.random() < 0.2:
        sets = [set() if rng.random() < 0.1 else each for each in sets]
    if rng.random() < 0.3:
        sets = [set(rng.choice(sets)) if rng.random() < 0.1 else each for each in sets]
    if rng.random() < 0.5:
        rng.shuffle(sets)
    return structure.__name__, sets


def integers(rng: Random, n: int, t: Fraction, large: bool) -> Drawn:
    """Integers of all sizes, as sets, frozensets, lists, tuples or arrays; sometimes with repeats or a null."""
    structure, sets = _sets(rng, n, t, large)
    shift = rng.choice([(1, 0), (1, 5), (-1, 0), (-(2**40), 7), (2**32, 0), (1, 2**63), (1, -(2**63)), (2**44, -1)])
    values: list[Any] = [[each * shift[0] + shift[1] for each in one] for one in sets]
    kind = rng.choice([set, frozenset, list, tuple, "array"])
    if kind in (list, tuple) and rng.random() < 0.5:
        values = [[*one, *one[:2]] for one in values]
    kept = values if kind is list else [_array(one) if kind == "array" and one else _as(kind, one) for one in values]
    if rng.random() < 0.1:
        kept = [None if rng.random() < 0.1 else one for one in kept]
    return Drawn("sets", structure, kept, said={} if kind in (set, frozenset) else {"sets": "items"})


def _array(one: list[int]) -> NDArray[Any]:
    return np.array(one, np.uint64 if max(one) >= 2**63 else np.int64)


def _as(kind: Any, one: list[int]) -> Any:
    return one if kind == "array" else kind(one)


def strings(rng: Random, n: int, t: Fraction, large: bool) -> Drawn:
    structure, sets = _sets(rng, n, t, large)
    odd = ["", " ", "\x00", "\x00\x00", "a", "A", "\u00e9", "e\u0301", "\U0001f600", "0", "00", "\n", '"', ",", "a\x00"]

    def name(each: int) -> str:
        return odd[each] if each < len(odd) and not large else f"{each}" * (1 + each % 9)

    kind = rng.choice([set, frozenset, list])
    return Drawn("sets", structure, [kind(name(each) for each in one) for one in sets])


def columns(rng: Random, n: int, t: Fraction, large: bool) -> Drawn:
    """Sets as rows of 0 and 1: arrays of booleans or numbers, and sparse matrices."""
    structure, sets = _sets(rng, n, t, large)
    names = {each: i for i, each in enumerate(sorted({each for one in sets for each in one}))}
    width = max(1, len(names) + rng.randrange(3))
    if n * width > 4_000_000:
        return columns(rng, min(n, 60), t, False)
    rows = np.zeros((n, width), bool)
    for i, one in enumerate(sets):
        rows[i, [names[each] for each in one]] = True
    values = [set(np.flatnonzero(row).tolist()) for row in rows]
    kind = rng.choice(["bool", "uint8", "int64", "float32", "float64", "sparse"])
    array: Any = (
        rows.astype(kind) if kind != "sparse" else Sparse([dict.fromkeys(sorted(v), 1.0) for v in values], width)
    )
    return Drawn("columns", structure, values, array)


def bags(rng: Random, n: int, t: Fraction, large: bool) -> Drawn:
    """Dicts and sparse matrices of weights: whole, of many sizes, some of them zero."""
    structure, sets = _sets(rng, n, t, large)
    kind = rng.choice(["ones", "whole", "even", "sizes", "signed"])

    def weight(each: int) -> float:
        if rng.random() < 0.03:
            return 0.0
        if kind == "sizes":
            return float(10.0 ** rng.randrange(-6, 7) * (1 + each % 3))
        if kind == "signed":
            return rng.choice([-1.0, 1.0, 0.1])
        return {"ones": 1.0, "whole": float(1 + (each + rng.randrange(2)) % 4), "even": rng.random()}[kind]

    rows = [{each: weight(each) for each in sorted(one)} for one in sets]
    if rng.random() < 0.3:
        return Drawn("bags", f"{structure}, {kind}", rows, Sparse(rows, 10**7 + 2))
    dressed: list[Any] = rows if rng.random() < 0.5 else [{f"w{x}": w for x, w in row.items()} for row in rows]
    return Drawn("bags", f"{structure}, {kind}", dressed)


def texts(rng: Random, n: int, t: Fraction, large: bool) -> Drawn:
    """Words of many scripts in the order of a sequence that is edited, copied and cut; short, long, empty, broken."""
    broken = rng.random() < 0.1
    vocabulary = [*WORDS, *(BROKEN if broken else []), *(f"word{i}" for i in range(rng.choice([3, 30, 3000])))]
    if large or rng.random() < 0.3:
        structure, sets = _sets(rng, n, t, large)
        sequences = [
            [f"w{each}" if large else vocabulary[each % len(vocabulary)] for each in sorted(one)] for one in sets
        ]
    else:
        structure, sequences = "edits", _edited(rng, n, vocabulary)
    values: list[Any] = [_rendered(rng, each, large) for each in sequences]
    if not large and rng.random() < 0.3:
        odd = [None, "", " ", "\n\t", "!?", "\U0001f600", "\x00", "\u0301", "\u200b", "a", "0"]
        values = [rng.choice(odd) if rng.random() < 0.15 else each for each in values]
    return Drawn("text", structure, values)


def _edited(rng: Random, n: int, vocabulary: list[str]) -> list[list[str]]:
    out: list[list[str]] = []
    while len(out) < n:
        base = [rng.choice(vocabulary) for _ in range(rng.choice([1, 2, 4, 6, 20, 60]))]
        for _ in range(rng.choice([1, 2, 3, 8])):
            copy = [rng.choice(vocabulary) if rng.random() < 0.03 else each for each in base]
            cut = rng.randrange(len(copy) + 1) if rng.random() < 0.2 else len(copy)
            out.append(copy[:cut] if rng.random() < 0.9 else copy * 2)
    return out[:n]


def _rendered(rng: Random, words: list[str], plainly: bool) -> str:
    if plainly or rng.random() < 0.3:
        return " ".join(words)
    odd = rng.random() < 0.3
    cases: list[Callable[[str], str]] = [str.upper, str.lower, str.title, str]
    cased = [rng.choice(cases)(each) if odd else each for each in words]
    return "".join(each + rng.choice(GAPS) for each in cased)


# Vectors and bits


def _cloud(g: np.random.Generator, n: int, d: int) -> NDArray[Any]:
    return g.normal(size=(n, d))


def _near(g: np.random.Generator, n: int, d: int) -> NDArray[Any]:
    base = g.normal(size=(max(1, n // 3), d))
    return base[g.integers(len(base), size=n)] * 2.0 ** g.integers(-3, 4, (n, 1)) + g.normal(
        size=(n, d)
    ) * 10.0 ** g.integers(-7, 0)


def _two(g: np.random.Generator, n: int, d: int) -> NDArray[Any]:
    """Two components that are not 0 and nearly equal."""
    axes = np.eye(d)
    return axes[g.integers(d, size=n)] + axes[g.integers(d, size=n)] * (1 + 1e-5 * g.normal(size=(n, 1)))


def _opposite(g: np.random.Generator, n: int, d: int) -> NDArray[Any]:
    one = np.tile(g.normal(size=(1, d)), (n, 1)) * g.choice([-1, 1], (n, 1))
    return np.asarray(one + 1e-4 * g.normal(size=(n, d)))


VECTORS: dict[str, Callable[[np.random.Generator, int, int], NDArray[Any]]] = {
    "cloud": _cloud,
    "near": _near,
    "parallel": lambda g, n, d: g.normal(size=(1, d)) * g.choice([0.1, 1, 3, 1e-3, -1, 7], (n, 1)),
    "same": lambda g, n, d: np.repeat(g.normal(size=(1, d)), n, 0),
    "offset": lambda g, n, d: g.normal(size=(n, d)) + 1e4,
    "grid": lambda g, n, d: g.integers(-2, 3, (n, d)).astype(float),
    "tenths": lambda g, n, d: g.integers(0, 6, (n, d)) / 10,
    "line": lambda g, n, d: np.arange(n)[:, None] * np.eye(1, d) * 0.1 + 1,
    "axes": lambda g, n, d: np.eye(d)[g.integers(d, size=n)] * g.choice([-1, 1, 2], (n, 1)),
    "two": _two,
    "tiny": lambda g, n, d: g.integers(-3, 4, (n, d)) * 1e-45,
    "large": lambda g, n, d: g.normal(size=(n, d)) * 1e37,
    "mixed": lambda g, n, d: g.normal(size=(n, d)) * 10.0 ** g.integers(-30, 30, (n, d)),
    "opposite": _opposite,
    "outstanding": lambda g, n, d: g.normal(size=(n, d)) * 1e-3 + np.eye(1, d) * 100,
}  # fmt: skip
TIGHT = ["near", "same", "tight", "tenths", "opposite"]


def vectors(rng: Random, n: int, t: Fraction, large: bool) -> Drawn:
    """Rows of numbers of several types; as an array, or as lists or arrays one by one; some that cannot be compared."""
    g = np.random.default_rng(rng.getrandbits(64))
    d = rng.choice([1, 2, 3, 8, 16] if large else [1, 2, 3, 4, 7, 16, 33, 100, 513])
    structure = rng.choice(TIGHT if large else list(VECTORS))
    if structure == "tight":
        rows = np.tile(g.normal(size=(1, d)), (n, 1)) + g.normal(size=(n, d)) * 10.0 ** g.integers(-4, 0)
    else:
        rows = VECTORS[structure](g, n, d)
    if n and rng.random() < 0.3:
        rows = rows[g.integers(n, size=n)]
    with np.errstate(over="ignore"):
        rows = rows.astype(rng.choice(["float32", "float32", "float64", "float16"]))
    if n and rng.random() < 0.1:
        rows[g.integers(n, size=max(1, n // 20))] = rng.choice([0.0, np.nan, np.inf, 0.0])
    if rng.random() < 0.5:
        return Drawn("vectors", structure, rows.tolist(), rows)
    values: list[Any] = rows.tolist() if rng.random() < 0.5 else list(rows)
    if n and rng.random() < 0.1:
        values[rng.randrange(n)] = rng.choice([None, [1.0] * (d + 1)])
    return Drawn("vectors", structure, values)


def bits(rng: Random, n: int, t: Fraction, large: bool) -> Drawn:
    g = np.random.default_rng(rng.getrandbits(64))
    width = rng.choice([1, 3, 8, 20, 64, 65, 100, 130])
    structure = rng.choice(["even", "near", "same", "ladder", "few"])
    base = g.random((max(1, n // 4), width)) < (0.02 if structure == "few" else 0.5)
    rows = base[g.integers(len(base), size=n)]
    if structure == "even":
        rows = g.random((n, width)) < 0.5
    elif structure == "same":
        rows = np.repeat(base[:1], n, 0)
    elif structure == "ladder":
        rows = np.arange(width)[None, :] < (np.arange(n) % (width + 1))[:, None]
    elif structure == "near":
        rows = rows ^ (g.random((n, width)) < float(1 - t) / 2)
    listed = rng.random() < 0.5
    return Drawn("bits", structure, rows.tolist(), None if listed else rows)


FORMS: dict[str, Callable[[Random, int, Fraction, bool], Drawn]] = {
    "text": texts,
    "integers": integers,
    "strings": strings,
    "columns": columns,
    "bags": bags,
    "vectors": vectors,
    "bits": bits,
}
