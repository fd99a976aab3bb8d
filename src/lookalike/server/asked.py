"""What a request asks for, from its JSON: every field is known, there, and of its type."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from lookalike.errors import InputError, OptionError
from lookalike.index.index_items import LONGEST_ID
from lookalike.measure_table import IDENTITY, form_named, measure_named
from lookalike.options.allowed import Number, Whole
from lookalike.recipe import Recipe
from lookalike.server.request_error import RequestError
from lookalike.server.wire import encoded

__all__ = [
    "AskedNearest",
    "AskedQuery",
    "Operation",
    "Verb",
    "asked_nearest",
    "asked_operation",
    "asked_query",
    "check_form",
    "check_id",
    "check_threshold",
]

Verb = Literal["add", "replace", "remove", "seen"]

_NUMBER = 8
_k = Whole(1)
_nearest_k = Whole(1, 10_000)
_similarity = Number(0.0, up_to=1.0)
_chance = Number(0.0, up_to=1.0)


class AskedQuery(NamedTuple):
    """What to look up."""

    item: Any
    threshold: float | None
    k: int | None


class AskedNearest(NamedTuple):
    """Whose nearest items to look for."""

    item: Any
    k: int
    threshold: float | None
    recall: float


class Operation(NamedTuple):
    """One write, or one look that may write."""

    verb: Verb
    id: str | int
    item: Any = None
    payload: Any = None


def asked_query(told: Any, max_item: int) -> AskedQuery:
    """The query that {"item", "threshold"?, "k"?} stands for."""
    _check_fields(told, ("item",), ("item", "threshold", "k"))
    k = told.get("k")
    if k is not None:
        _k("k", k)
    return AskedQuery(_checked_item(told["item"], max_item), _number_of(told, "threshold"), k)


def asked_nearest(told: Any, max_item: int) -> AskedNearest:
    """The search that {"item", "k"?, "threshold"?, "recall"?} stands for."""
    _check_fields(told, ("item",), ("item", "k", "threshold", "recall"))
    k, recall = told.get("k"), _number_of(told, "recall")
    if k is not None:
        _nearest_k("k", k)
    if recall is not None:
        _chance("recall", recall)
    item = _checked_item(told["item"], max_item)
    return AskedNearest(item, 10 if k is None else k, _number_of(told, "threshold"), 0.95 if recall is None else recall)


def _number_of(told: Any, name: str) -> float | None:
    value: float | None = told.get(name)
    if value is not None and (type(value) not in (float, int) or not _is_finite(value)):
        raise OptionError(f"{name} is {value!r:.40}: it must be a number")
    return value


def asked_operation(verb: Verb, told: Any, max_item: int, id: str | int | None = None) -> Operation:
    """The write that {"id", "item", "payload"?} stands for; the id may be known from the address."""
    needed = ("id", "item") if id is None else ("item",)
    _check_fields(told, needed, (*needed, "payload"))
    named = check_id(told["id"] if id is None else id)
    payload = told.get("payload")
    if payload is not None:
        _check_payload(payload)
    return Operation(verb, named, _checked_item(told["item"], max_item), payload)


def check_id(id: Any) -> str | int:
    """An id that the index can keep."""
    if type(id) is str:
        size = len(id.encode("utf-8", "surrogatepass"))
        if not 0 < size <= LONGEST_ID:
            raise _bad_id(f"the id has {size:,} bytes: 1 to {LONGEST_ID:,} are allowed")
        if "\0" in id:
            raise _bad_id("the id contains a NUL")
        return id
    if type(id) is not int:
        raise _bad_id("an id is a string or a whole number")
    if not -(2**63) <= id < 2**63:
        raise _bad_id("the id does not fit 64 bits")
    return id


def check_form(recipe: Recipe | None, item: Any) -> None:
    """Refuse text where items are no texts, and yes and no where they are no bits."""
    if recipe is None:
        return
    form = form_named(recipe.form)
    logical = type(item) is list and any(type(each) is bool for each in item)
    if (type(item) is str) != form.is_text or logical != (form.name == "bits"):
        raise InputError(f"the item is {_kind(item)}: {form.words} is needed here")


def check_threshold(recipe: Recipe, threshold: float | None) -> None:
    """Refuse what no similarity and no distance can be."""
    if threshold is None:
        return
    if recipe.measure != IDENTITY and measure_named(recipe.measure).is_distance:
        if threshold < 0:
            raise OptionError(f"threshold is {threshold:g}: a distance is 0 or more")
    else:
        _similarity("threshold", threshold)


def _kind(item: Any) -> str:
    return "text" if type(item) is str else "a list" if type(item) is list else "a dict"


def _check_fields(told: Any, needed: tuple[str, ...], known: tuple[str, ...]) -> None:
    if type(told) is not dict:
        raise _malformed(f"an object with {', '.join(needed)} is needed")
    for name in needed:
        if name not in told:
            raise _malformed(f"{name!r} is missing")
    for name in told:
        if name not in known:
            raise _malformed(f"{name!r:.60} is not known: {', '.join(known)} are")


def _checked_item(item: Any, most: int) -> Any:
    if type(item) is str:
        size = len(item) if 4 * len(item) <= most else len(item.encode("utf-8", "surrogatepass"))
    elif type(item) is list:
        size = sum(_element_size(each) for each in item)
    elif type(item) is dict:
        for weight in item.values():
            if type(weight) not in (int, float) or not _is_finite(weight):
                raise InputError("the item has a weight that is not a number")
        size = sum(_element_size(each) + _NUMBER for each in item)
    else:
        raise InputError("the item is neither a text, nor a list of elements or numbers, nor a dict of weights")
    if size > most:
        raise RequestError(413, "too-large", f"the item has {size:,} bytes: the limit is {most:,}")
    return item


def _element_size(element: Any) -> int:
    if type(element) is str:
        return len(element) + 1
    if type(element) in (int, float, bool) and _is_finite(element):
        return _NUMBER
    raise InputError("the item has an element that is neither a string nor a number")


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # of whole numbers beyond what a float can be
        return False


def _check_payload(payload: Any) -> None:
    # 1e999 is JSON, and becomes a number that is none.
    if b"Infinity" in encoded(payload) and not _all_finite(payload):
        raise _malformed("the payload has a number that is too large")


def _all_finite(value: Any) -> bool:
    if type(value) is dict:
        return all(map(_all_finite, value.values()))
    if type(value) is list:
        return all(map(_all_finite, value))
    return type(value) is not float or math.isfinite(value)


def _malformed(message: str) -> RequestError:
    return RequestError(400, "malformed", message)


def _bad_id(message: str) -> RequestError:
    return RequestError(400, "invalid-id", message)
