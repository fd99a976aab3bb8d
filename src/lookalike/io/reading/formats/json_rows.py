"""JSON lines in plain Python: slow and exact, for blocks that Arrow's parser does not take.

Arrow refuses a whole block for one broken line, a column of mixed types, a repeated key or a lone surrogate.
Here each line is parsed on its own, so that a broken one is known by its number, and a column gets the type
that `merge_json` finds for its values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lookalike.io.column_types import merge_json
from lookalike.io.reading.blocks import Block
from lookalike.io.reading.faults import Faults

_SHOWN_KEY = 40
_INT64 = range(-(2**63), 2**63)

__all__ = ["array_of", "dump_line", "load_line", "objects", "types_of", "wrong_type"]

Row = dict[str, Any]


def load_line(line: bytes) -> Any:
    """Parse one line. Bytes that are not UTF-8 become lone surrogates, as `surrogateescape` makes them."""
    return json.loads(line.decode("utf-8", "surrogateescape"))


def dump_line(row: Row) -> bytes:
    """One line without its newline, the inverse of `load_line`."""
    return encode(json.dumps(row, ensure_ascii=False))


def encode(text: str) -> bytes:
    """UTF-8, with the bytes back that `surrogateescape` hid, and other lone surrogates as three bytes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def objects(block: Block, name: str, faults: Faults) -> Iterator[tuple[int, Row]]:
    """Line number and object of every line that is not blank and not bad."""
    for number, line in enumerate(block.data.split(b"\n"), block.line):
        if number in faults.places or not line.strip():
            continue
        problem = ""
        try:
            value = load_line(line)
        except json.JSONDecodeError as error:
            problem = f"not JSON: {error.msg.removesuffix(' starting at')} at column {error.colno}"
        except (ValueError, RecursionError) as error:
            problem = f"not JSON: {error}"
        else:
            if not isinstance(value, dict):
                problem = f"{_word(value)}, not an object"
            elif (not line.isascii() or b"\\u" in line) and (key := _odd_key(value)) is not None:
                problem = f"the key {key[:_SHOWN_KEY]!r} is not UTF-8"
        if problem:
            faults.report(number, f"{name}:{number}: {problem}")
        else:
            yield number, value


def _odd_key(value: Any) -> str | None:
    """A key, at any depth, that no column and no field of a column can be called: one with a lone surrogate."""
    inside = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    if isinstance(value, dict):
        for key in value:
            if any("\ud800" <= character <= "\udfff" for character in key):
                return str(key)
    return next((key for each in inside if (key := _odd_key(each)) is not None), None)


def wrong_type(row: Row, types: Mapping[str, Any], strict: Iterable[str]) -> str | None:
    """What is wrong with the types of a row, or None."""
    for column in strict:
        value = row.get(column)
        if value is not None and not _fits(value, types[column]):
            wanted = "text" if pa.types.is_string(types[column]) else str(types[column])
            return f"column '{column}' is {_word(value)}, not {wanted}"
    return None


def _fits(value: Any, type: Any) -> bool:
    if pa.types.is_string(type):
        return isinstance(value, str)
    if pa.types.is_boolean(type):
        return isinstance(value, bool)
    if pa.types.is_integer(type):
        return isinstance(value, int) and not isinstance(value, bool) and value in _INT64
    if pa.types.is_floating(type):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if pa.types.is_list(type):
        if not isinstance(value, list):
            return False
        if pa.types.is_string(type.value_type):
            # Sets of 64-bit hashes: some fit int64 and some do not, so their column is text.
            return all(isinstance(item, str) or _fits_any_int(item) for item in value)
        return all(item is not None and _fits(item, type.value_type) for item in value)
    if pa.types.is_struct(type):
        if not isinstance(value, dict):
            return False
        inside = [(value.get(field.name), field.type) for field in type]
        return all(item is None or _fits(item, kind) for item, kind in inside)
    return True


def _fits_any_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class _Kind:
    """The type that holds the JSON values it was shown, as `merge_json` would find it, one after another.

    Arrow's types cannot be added to: to merge them row by row would make the whole object anew for each new key.
    """

    __slots__ = ("_fields", "_items", "_scalar")

    def __init__(self) -> None:
        self._scalar: Any = None
        self._items: _Kind | None = None
        self._fields: dict[str, _Kind] | None = None

    def show(self, value: Any) -> None:
        if isinstance(value, dict):
            if self._scalar is not None or self._items is not None:
                self._become_text()
                return
            if self._fields is None:
                self._fields = {}
            for key, item in value.items():
                if key not in self._fields:
                    self._fields[key] = _Kind()
                self._fields[key].show(item)
        elif isinstance(value, list):
            if self._scalar is not None or self._fields is not None:
                self._become_text()
                return
            if self._items is None:
                self._items = _Kind()
            for item in value:
                self._items.show(item)
        elif value is not None:
            kind = _scalar_type(value)
            if self._items is not None or self._fields is not None:
                self._become_text()
            else:
                self._scalar = kind if self._scalar is None else merge_json(self._scalar, kind)

    def _become_text(self) -> None:
        self._scalar, self._items, self._fields = pa.string(), None, None

    def type(self) -> Any:
        if self._fields is not None:
            return pa.struct([(key, kind.type()) for key, kind in self._fields.items()])
        if self._items is not None:
            return pa.list_(self._items.type())
        return pa.null() if self._scalar is None else self._scalar


def _scalar_type(value: Any) -> Any:
    """The Arrow type of a JSON value with nothing inside. An integer beyond 64 bits is text: no digit is lost."""
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if value in _INT64 else pa.string()
    return pa.float64() if isinstance(value, float) else pa.string()


def types_of(rows: Iterable[Row], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """The type of each column over these rows, in the order in which keys appear; only of some columns, if told."""
    kinds = {column: _Kind() for column in columns or ()}
    for row in rows:
        for key, value in row.items():
            if key not in kinds:
                if columns is not None:
                    continue
                kinds[key] = _Kind()
            kinds[key].show(value)
    return {key: kind.type() for key, kind in kinds.items()}


def array_of(values: Sequence[Any], type: Any) -> pa.Array:
    """Values as a column of a type; text that is not valid Unicode makes it a binary column."""
    if pa.types.is_string(type):
        texts = [None if value is None else _text(value) for value in values]
        try:
            return pa.array(texts, pa.string())
        except UnicodeEncodeError:
            return pa.array([None if text is None else encode(text) for text in texts], pa.binary())
    try:
        return pa.array([_coerced(value, type, str) for value in values], type)
    except UnicodeEncodeError:
        return pa.array([_coerced(value, type, _scrubbed) for value in values], type)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _scrubbed(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _coerced(value: Any, type: Any, clean: Callable[[str], str]) -> Any:
    if value is None or pa.types.is_null(type):
        return None
    if pa.types.is_string(type):
        return clean(_text(value))
    if pa.types.is_floating(type):
        return float(value)
    if pa.types.is_list(type):
        return [_coerced(item, type.value_type, clean) for item in value]
    if pa.types.is_struct(type):
        return {field.name: _coerced(value.get(field.name), field.type, clean) for field in type}
    return value


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"
