"""From what people have in their hands to what an index stores: items, ids and payloads."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.errors import InputError, OptionError
from lookalike.io.making.memory import to_table
from lookalike.items.from_rows import is_text
from lookalike.key import PUBLIC_KEY
from lookalike.measure_table import IDENTITY
from lookalike.measures.base import is_list
from lookalike.measures.choose import form_of, forms_for
from lookalike.recipe import Recipe, recipe_of
from lookalike.represent.elements import hash_raw, hash_spans
from lookalike.spec import C1
from lookalike.types import I64Array, U8Array, U64Array

__all__ = [
    "INTEGER_SALT",
    "IdBytes",
    "batched",
    "bytes_of_parts",
    "bytes_of_payloads",
    "check_form",
    "columns_of",
    "id_bytes",
    "payload_of",
    "recipe_for",
    "values_of",
]

LONGEST_ID = 1000
# What tells the key of an integer from that of the same bytes as a string.
INTEGER_SALT = np.uint64(0x1D_0000_0000_0001)
# Forms of which one may be told from the other only by all items together.
_ALIKE = ({"sets", "columns"}, {"bags", "sets"}, {"vectors", "sets"}, {"vectors", "columns"}, {"bits", "columns"})
_NO_INTEGER = np.zeros(1, np.uint8)
_NOTHING = np.empty(0, np.uint8), np.zeros(2, np.int64)


def id_bytes(id: Any) -> tuple[bytes, int] | None:
    """An id as bytes, and whether it is an integer; None if it is one that has to be looked at more closely."""
    if type(id) is str:
        raw = id.encode("utf-8", "surrogatepass")
        return (raw, 0) if 0 < len(raw) <= LONGEST_ID else None
    if type(id) is int and -(2**63) <= id < 2**63:
        return id.to_bytes(8, "little", signed=True), 1
    return None


class IdBytes:
    """Ids as bytes, one after another, where each begins, which are integers, and a key for each."""

    bytes: U8Array
    starts: I64Array
    integers: U8Array
    keys: U64Array

    def __init__(self, ids: Sequence[str | int]) -> None:
        if len(ids) == 1 and type(ids[0]) is str and 0 < len(ids[0]) <= LONGEST_ID // 4:
            # The common case: one that is not too long, however it is written.
            raw = ids[0].encode("utf-8", "surrogatepass")
            self.bytes, self.starts, self.integers = np.frombuffer(raw, np.uint8), np.array([0, len(raw)]), _NO_INTEGER
            self.keys = np.empty(1, np.uint64)
            hash_spans(self.bytes, self.starts, C1, PUBLIC_KEY, self.keys)
            return
        parts, integers = [], np.zeros(len(ids), np.uint8)
        for position, each in enumerate(ids):
            if type(each) is str:
                raw = each.encode("utf-8", "surrogatepass")
                if not 0 < len(raw) <= LONGEST_ID:
                    raise InputError(f"the id {each[:40]!r}… has {len(raw):,} bytes: 1 to {LONGEST_ID:,} are allowed")
                parts.append(raw)
            elif isinstance(each, int | np.integer) and not isinstance(each, bool):
                if not -(2**63) <= each < 2**63:
                    raise InputError(f"the id {each} does not fit 64 bits")
                parts.append(int(each).to_bytes(8, "little", signed=True))
                integers[position] = 1
            else:
                raise InputError(f"an id is {each!r}, a {type(each).__name__}: ids are strings or whole numbers")
        self.integers = integers
        self.bytes, self.starts = bytes_of_parts(parts)
        self.keys = hash_raw(self.bytes, self.starts)[:, 0] ^ (integers.astype(np.uint64) * INTEGER_SALT)


def bytes_of_parts(parts: Sequence[bytes]) -> tuple[U8Array, I64Array]:
    """Bytes one after another, and where each part begins."""
    starts = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=starts[1:])
    return np.frombuffer(b"".join(parts), np.uint8), starts


def bytes_of_payloads(payloads: Sequence[Any]) -> tuple[U8Array, I64Array]:
    """Payloads as JSON, and where each begins; None takes nothing."""
    if len(payloads) == 1 and payloads[0] is None:
        return _NOTHING
    return bytes_of_parts([b"" if payload is None else _json(payload) for payload in payloads])


def _json(payload: Any) -> bytes:
    try:
        return json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
            "utf-8", "surrogatepass"
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"a payload cannot be kept as JSON: {error}") from error


def payload_of(raw: bytes) -> Any:
    """What was given as a payload."""
    return json.loads(raw) if raw else None


def values_of(items: Sequence[Any]) -> tuple[pa.Field, pa.Array]:
    """Items as one Arrow array, and what is known of it."""
    table = to_table(items if isinstance(items, list | np.ndarray) else list(items))
    column = table.column(table.num_columns - 1)
    values = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if values.null_count:
        at = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"item {at} is None: there is nothing to compare")
    return table.schema.field(table.num_columns - 1), values


def recipe_for(field: pa.Field, values: pa.Array, config: Config) -> Recipe:
    """How items like these become sketches; bands and rows are not known yet."""
    form = form_of(field, config.measure, is_text=is_text(field.type))
    if form is None:
        takes = ", ".join(forms_for(config.measure))
        raise OptionError(f"the items are {field.type}, and {config.measure} takes {takes}")
    if form == "columns":
        form = "sets"
    return recipe_of(config, form, _dimensions(field, values, form))


def check_form(field: pa.Field, recipe: Recipe) -> None:
    """Refuse items that are something else than those of an index."""
    measure = None if recipe.measure == IDENTITY else recipe.measure
    form = form_of(field, measure, is_text=is_text(field.type))
    # A set is a bag as well, and what looks like a row of 0 and 1 may be a set.
    if form is None or ((form == recipe.form) is False and {form, recipe.form} not in _ALIKE):
        raise InputError(f"the index is one of {recipe.form}, and the item is {form or field.type}")


def _dimensions(field: pa.Field, values: pa.Array, form: str) -> int | None:
    if form not in ("vectors", "bits"):
        return None
    if field.metadata and b"bits" in field.metadata:
        return int(field.metadata[b"bits"])
    kind = field.type
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    if pa.types.is_fixed_size_binary(kind):
        return 8 * int(kind.byte_width)
    length = len(values[0].as_py()) if len(values) else 0
    # Bits may come as bytes.
    return 8 * length if form == "bits" and not is_list(kind) else length or None


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Items, so many at a time."""
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def columns_of(batch: list[tuple[Any, ...]]) -> tuple[list[Any], list[Any], list[Any]]:
    """The ids, items and payloads of items (id, item) or (id, item, payload)."""
    for position, each in enumerate(batch):
        if not isinstance(each, tuple | list) or len(each) not in (2, 3):
            raise InputError(f"item {position} is {each!r:.60}: (id, item) or (id, item, payload) is needed")
    return (
        [each[0] for each in batch],
        [each[1] for each in batch],
        [each[2] if len(each) > 2 else None for each in batch],
    )
