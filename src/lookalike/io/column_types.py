"""Column types: which go together, and how values of one become values of another.

Arrow promotes within numbers. JSONL needs more, since nothing stops a column from holding 7 in one row and
"7" in the next. The rule there is one sentence: *a column of mixed types is text: strings as they are,
everything else as its JSON text*. So integer and string ids together are string ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError
from lookalike.io.json_text import literals

__all__ = [
    "FORM",
    "as_text",
    "bytes_of",
    "check_types",
    "concat",
    "conform",
    "honest",
    "is_text",
    "json_type",
    "merge",
    "merge_json",
    "plain",
    "storable",
    "stretches",
    "without_views",
]

# The key of a field's metadata that tells what its items are, where the type leaves a choice: sets, for example.
FORM = b"form"


def is_text(type: Any) -> bool:
    """Whether a column of this type can be read as text: strings or bytes of any width, or all null."""
    kinds = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_string_view,
        pa.types.is_binary_view,
        pa.types.is_null,
    )
    return any(kind(type) for kind in kinds)


def _is_list(type: Any) -> bool:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(kind(type) for kind in kinds)


def _same_family(actual: Any, wanted: Any) -> bool:
    if pa.types.is_dictionary(actual):
        actual = actual.value_type
    if pa.types.is_null(actual) or actual == wanted:
        return True
    if pa.types.is_floating(wanted):
        return bool(pa.types.is_floating(actual) or pa.types.is_integer(actual))
    for kind in (is_text, pa.types.is_integer):
        if kind(wanted):
            return bool(kind(actual))
    if _is_list(wanted):
        return _is_list(actual) and _same_family(actual.value_type, wanted.value_type)
    if pa.types.is_struct(wanted) and pa.types.is_struct(actual):
        types = {field.name: field.type for field in actual}
        return all(field.name in types and _same_family(types[field.name], field.type) for field in wanted)
    return False


def check_types(where: str, schema: pa.Schema, expect: Mapping[str, Any]) -> None:
    """Raise `InputError` if a column is not of the kind that was expected, whatever its width; integers are numbers."""
    for name, wanted in expect.items():
        index = schema.get_field_index(name)
        if index >= 0 and not _same_family(schema.field(index).type, wanted):
            word = "text" if is_text(wanted) else str(wanted)
            raise InputError(f"{where}: column '{name}' is {schema.field(index).type}, not {word}")


def json_type(type: Any) -> Any:
    """The type that a JSONL column gets where one of this family is expected."""
    if is_text(type):
        return pa.string()
    if pa.types.is_integer(type):
        return pa.int64()
    if pa.types.is_floating(type):
        return pa.float64()
    if pa.types.is_struct(type):
        return pa.struct([(field.name, json_type(field.type)) for field in type])
    return pa.list_(json_type(type.value_type)) if _is_list(type) else type


def merge_json(a: Any, b: Any) -> Any:
    """The type that holds JSON values of both types. Total, commutative and associative up to field order."""
    if a == b or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    if {a, b} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(merge_json(a.value_type, b.value_type))
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        fields = {field.name: field.type for field in a}
        for field in b:
            fields[field.name] = merge_json(fields.get(field.name, pa.null()), field.type)
        return pa.struct(list(fields.items()))
    return pa.string()


def merge(a: Any, b: Any) -> Any | None:
    """The type that holds values of both types without loss, or None: numbers widen, text covers text."""
    if a == b:
        return a
    try:
        both = pa.unify_schemas([pa.schema([("x", a)]), pa.schema([("x", b)])], promote_options="permissive")
    except pa.ArrowException:
        return None
    return both.field(0).type


def concat(chunks: Sequence[pa.Array]) -> pa.Array | pa.ChunkedArray:
    """One column from the pieces of it that batches brought, which may differ in type (ids above all).

    Integers and strings together become strings; the result does not depend on where batches were cut.

    Raises:
        InputError: if the types have nothing in common.
    """
    common: Any = pa.null()
    for kind in dict.fromkeys(chunk.type for chunk in chunks):
        merged = merge(common, kind)
        if merged is None and {is_text(common), is_text(kind)} == {True, False}:
            merged = pa.large_string()
        if merged is None:
            raise InputError(f"a column holds both {common} and {kind}")
        common = merged
    return pa.chunked_array([conform_array(chunk, common) for chunk in chunks], type=common)


def plain(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows without dictionary encoding and string views, which kernels do not read."""
    rows = without_views(rows)
    if not any(pa.types.is_dictionary(kind) for kind in rows.schema.types):
        return rows
    arrays = [
        column.cast(_viewless(column.type.value_type)) if pa.types.is_dictionary(column.type) else column
        for column in rows.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=rows.schema.names)


def stretches(rows: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """Slices of rows (no copies) whose dictionary columns have at most so many bytes once they are decoded.

    A row alone may have more.
    """
    if not any(pa.types.is_dictionary(kind) for kind in rows.schema.types):
        if rows.num_rows:
            yield rows
        return
    sizes = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        if pa.types.is_dictionary(column.type):
            sizes += _decoded_sizes(column)
    ends = np.cumsum(sizes)
    begin = before = 0
    while begin < rows.num_rows:
        end = max(begin + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield rows if end - begin == rows.num_rows else rows.slice(begin, end - begin)
        begin, before = end, int(ends[end - 1])


def _decoded_sizes(column: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """The bytes of each value of a dictionary column."""
    values = without_views(pa.record_batch([column.dictionary], ["values"])).column(0)
    if not len(values) or not is_text(values.type):
        each = max(1, values.nbytes // max(1, len(values)))
        return np.full(len(column), each, np.int64)
    lengths = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
    sizes: npt.NDArray[np.int64] = lengths[codes].astype(np.int64)
    if column.null_count:
        sizes[column.indices.is_null().to_numpy(zero_copy_only=False)] = 0
    return sizes


def without_views(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with large strings in place of string views, of which Arrow can not filter any."""
    if not any("_view" in str(kind) for kind in rows.schema.types):
        return rows
    arrays = [column.cast(_viewless(column.type)) for column in rows.columns]
    return pa.RecordBatch.from_arrays(arrays, names=rows.schema.names)


def _viewless(type: Any) -> Any:
    if pa.types.is_string_view(type):
        return pa.large_string()
    if pa.types.is_binary_view(type):
        return pa.large_binary()
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return pa.large_list(_viewless(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([pa.field(field.name, _viewless(field.type)) for field in type])
    return type


def honest(array: pa.Array) -> pa.Array:
    """A string array as it is if it is valid UTF-8, otherwise the same bytes as a binary array."""
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            return array.view(pa.binary() if pa.types.is_string(array.type) else pa.large_binary())
    return array


def bytes_of(array: pa.Array) -> memoryview:
    """The bytes of all values of a large_string or large_binary array without nulls, one after the other."""
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def as_text(array: pa.Array, type: Any) -> tuple[pa.Array, int]:
    """Bytes as valid text of a string type, and how many values had invalid UTF-8 (replaced by U+FFFD)."""
    try:
        return array.cast(type), 0
    except pa.ArrowInvalid:
        values = array.cast(pa.large_binary()).to_pylist()
    texts = [None if value is None else value.decode("utf-8", "replace") for value in values]
    raw = pa.array(values, pa.large_binary())
    same = pc.equal(pa.array(texts, pa.large_string()).cast(pa.large_binary()), raw)
    return pa.array(texts, type), len(same) - same.null_count - same.true_count


def conform_array(array: pa.Array, type: Any) -> pa.Array:
    """An array as a type that `merge` or `merge_json` found: a cast, or the JSON text of what has none."""
    if array.type == type:
        return array
    if pa.types.is_string(type) or pa.types.is_large_string(type):
        if is_text(array.type):
            return as_text(array, type)[0]
        valid = pc.if_else(array.is_valid(), literals(array), pa.scalar(None, pa.large_string()))
        return valid.cast(type)
    return array.cast(type)


def conform(rows: pa.RecordBatch, schema: pa.Schema) -> tuple[pa.RecordBatch, int]:
    """Rows in the order and types of a schema, and how many texts had invalid UTF-8 replaced by U+FFFD.

    A column that is not there is null.
    """
    arrays = []
    replaced = 0
    for field in schema:
        index = rows.schema.get_field_index(field.name)
        if index < 0:
            arrays.append(pa.nulls(rows.num_rows, field.type))
            continue
        array = rows.column(index)
        if pa.types.is_string(field.type) and pa.types.is_binary(array.type):
            array, broken = as_text(array, field.type)
            replaced += broken
        arrays.append(conform_array(array, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema), replaced


def storable(schema: pa.Schema) -> pa.Schema:
    """A schema that Parquet can hold: columns with empty objects in them become JSON text."""
    for index, field in enumerate(schema):
        if "struct<>" in str(field.type):
            schema = schema.set(index, pa.field(field.name, pa.string()))
    return schema
