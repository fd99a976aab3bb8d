"""Specimens: a few items in a form for people to read, for the report.

To read single rows of a large collection again is expensive, so they are chosen before the second pass and caught as
they pass by: some pairs that share a bucket, items of the largest buckets, and those with the most identical copies.
Which of them turn out to be matches or clusters is seen later; there are enough of them to choose from.

    text     its beginning
    sets     boot, lace, sole, … 214 elements
    bags     boot: 2.5, lace: 0.75, … 30 elements       the largest weights first
    vectors  0.8175, -1.773, 0.04121, … 384 components
    bits     9f3a 01c4 … 1,024 bits
    fields   title: The tea party                       a line for each column that is not empty
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.collide.fold import Folds
from lookalike.engines.local.parts import Grouped
from lookalike.io.json_text import python_values
from lookalike.measures import is_list
from lookalike.types import BoolArray, F64Array, I64Array
from lookalike.wording.phrases import counted

__all__ = ["CAUGHT_TEXT", "Specimens", "choose", "evenly"]

_PAIRS = 300
_LARGEST = 12
_COPIES = 30
# Characters of a text that are kept while it passes by, and of one element.
CAUGHT_TEXT = 4_000
_ELEMENT = 80
# Elements of a set, and of a bag, components of a vector and bytes of bits that are shown.
_ELEMENTS, _WEIGHTS, _COMPONENTS, _BYTES = 60, 12, 8, 32


class Specimens:
    """Items of one form in words, by their number, caught while the items pass by.

    Of a text these are its first `most` characters. `candidates` are pairs of them that share a bucket: two columns,
    the smaller item first.
    """

    def __init__(
        self, items: I64Array, form: str = "text", candidates: I64Array | None = None, most: int = CAUGHT_TEXT
    ) -> None:
        self.candidates = np.empty((0, 2), np.int64) if candidates is None else candidates
        self.items = np.unique(items)
        self.texts: dict[int, str] = {}
        self._read = partial(_text, most=most) if form == "text" else _READERS[form]

    def catch(self, first: int, values: pa.Array) -> None:
        """Keep the chosen ones among the items first, first + 1, … ; may be called from any thread."""
        begin, end = np.searchsorted(self.items, [first, first + len(values)])
        for item in self.items[begin:end].tolist():
            value = values[item - first]
            if isinstance(value, pa.ExtensionScalar):
                value = value.value
            self.texts[item] = self._read(value) if value is not None and value.is_valid else ""


def _text(value: pa.Scalar, most: int) -> str:
    # An item may be very long: only its beginning is decoded.
    beginning: bytes = value.as_buffer()[: 4 * most].to_pybytes()
    return beginning.decode("utf-8", "replace")[:most]


def _set(value: pa.Scalar) -> str:
    shown = [_element(each) for each in python_values(value.values.slice(0, _ELEMENTS))]
    return _cut(shown, len(value.values), "element")


def _columns(value: pa.Scalar) -> str:
    from lookalike.represent.zero_one import column_numbers

    (numbers,), _ = column_numbers(pa.array([value.as_py()], value.type), None)
    return _set(numbers)


def _bag(value: pa.Scalar) -> str:
    weights = sorted(_weights(value), key=lambda each: -abs(each[1] or 0.0))
    shown = [f"{_element(element)}: {_number(weight)}" for element, weight in weights[:_WEIGHTS]]
    return _cut(shown, len(weights), "element")


def _weights(value: pa.Scalar) -> list[tuple[Any, Any]]:
    """Elements with their weights, in whichever way a column holds them (see `represent/bags.py`)."""
    if pa.types.is_map(value.type):
        return [tuple(pair.values()) for pair in python_values(value.values)]
    held = python_values(value.values) if is_list(value.type) else value.as_py()
    if isinstance(held, dict):
        return list(zip(*_two(held, "indices", "values"), strict=False))
    if held and isinstance(held[0], dict):
        return [_two(each, "element", "weight") for each in held if each is not None]
    return list(Counter(held).items())


def _two(fields: dict[str, Any], first: str, second: str) -> tuple[Any, Any]:
    """The two fields, by their names or else by their order."""
    if first in fields and second in fields:
        return fields[first], fields[second]
    one, other, *_ = fields.values()
    return one, other


def _vector(value: pa.Scalar) -> str:
    if is_list(value.type):
        shown, count = value.values.slice(0, _COMPONENTS).to_pylist(), len(value.values)
    else:
        data = value.as_buffer()
        count = data.size // 4
        shown = np.frombuffer(data[: 4 * min(count, _COMPONENTS)], "<f4").tolist()
    return _cut([_number(each) for each in shown], count, "component")


def _bits(value: pa.Scalar) -> str:
    if is_list(value.type):
        count = len(value.values)
        data = np.packbits([bool(bit) for bit in value.values.slice(0, 8 * _BYTES).to_pylist()]).tobytes()
    elif pa.types.is_integer(value.type):
        count = value.type.bit_width
        data = (value.as_py() % (1 << count)).to_bytes(count // 8, "big")
    else:
        held = value.as_buffer()
        count, data = 8 * held.size, held[:_BYTES].to_pybytes()
    more = f" … {counted(count, 'bit')}" if count > 8 * _BYTES else ""
    return data[:_BYTES].hex(" ", -2) + more


def _fields(value: pa.Scalar) -> str:
    told = [f"{name}: {_field(part)}" for name, part in value.items() if part.is_valid]
    return "\n".join(told)


def _field(part: pa.Scalar) -> str:
    return _set(part) if is_list(part.type) else _text(part, CAUGHT_TEXT // 4)


_READERS: dict[str, Callable[[pa.Scalar], str]] = {
    "sets": _set,
    "columns": _columns,
    "bags": _bag,
    "vectors": _vector,
    "bits": _bits,
    "fields": _fields,
}


def _cut(shown: Sequence[str], count: int, noun: str) -> str:
    return ", ".join(shown) + (f", … {counted(count, noun)}" if count > len(shown) else "")


def _element(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= _ELEMENT else text[:_ELEMENT] + "…"


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:.4g}"


def choose(grouped: Grouped, folds: Folds, active: BoolArray, form: str = "text") -> Specimens:
    """Which items to catch; the same for the same buckets."""
    rng = np.random.default_rng(0)
    items: list[I64Array] = []
    candidates = [np.empty((0, 2), np.int64)]
    sizes = [np.diff(each.starts) for each in grouped.bands]
    total = sum(len(each) for each in sizes)
    for groups, counts in zip(grouped.bands, sizes, strict=True):
        if not len(counts):
            continue
        share = min(len(counts), -(-_PAIRS * len(counts) // total))
        for bucket in rng.choice(len(counts), share, replace=False):
            other = 1 + int(rng.integers(counts[bucket] - 1))
            items.append(groups.members[groups.starts[bucket] + np.array([0, other])].astype(np.int64))
            candidates.append(np.sort(items[-1])[None])
        for bucket in np.argsort(-counts, kind="stable")[: max(1, _LARGEST // len(sizes))]:
            places = np.linspace(0, counts[bucket] - 1, 4).astype(np.int64)
            items.append(groups.members[groups.starts[bucket] + places].astype(np.int64))
    giant = np.flatnonzero(grouped.giant)
    items.append(giant[np.unique(np.linspace(0, max(0, len(giant) - 1), _LARGEST * 4).astype(np.int64))[: len(giant)]])
    copies = np.flatnonzero((folds.sizes > 1) & active)
    items.append(copies[np.argsort(-folds.sizes[copies], kind="stable")[:_COPIES]])
    return Specimens(np.concatenate(items), form, np.concatenate(candidates))


def evenly(values: F64Array, most: int) -> I64Array:
    """Places of at most so many values that are spread over their whole range, the least and the largest among them.

    They come by their values. Where many are equal, those that are left are taken evenly from all.
    """
    order = np.argsort(values, kind="stable")
    known = values[order[~np.isnan(values[order])]]
    chosen: set[int] = set()
    if len(known):
        wanted = np.linspace(known[0], known[-1], most)
        after = np.searchsorted(known, wanted).clip(max=len(known) - 1)
        before = np.maximum(after - 1, 0)
        chosen = set(np.where(wanted - known[before] < known[after] - wanted, before, after).tolist())
    for place in np.linspace(0, max(0, len(order) - 1), min(len(order), most)).astype(np.int64).tolist():
        if len(chosen) < most:
            chosen.add(place)
    return order[np.array(sorted(chosen), np.int64)]
