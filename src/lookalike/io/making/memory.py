"""Items in memory as a table: lists, dicts, arrays, pandas, polars, Arrow, Hugging Face datasets.

| given | columns |
| --- | --- |
| strings, or None | `text` |
| bytes | `text`, binary |
| sets, frozensets, lists, tuples or integer arrays, of integers or of strings | `items`, lists |
| lists, tuples or arrays of floats; an array or a tensor of two dimensions; a sparse matrix | `vector` |
| lists, tuples or arrays of booleans; an array of booleans of two dimensions | `bits` |
| dicts element → weight | `vector`, lists of pairs |
| dict id → one of these | `id` (integers or strings) before it |
| pandas Series | its name or `text` (`vector`, `bits`); an index of its own becomes `id` |
| pandas DataFrame | its columns; an index of its own becomes columns, as `reset_index` names them, and ids |
| polars, Arrow, Hugging Face datasets, anything that speaks the Arrow C interface | their columns |

Strings with lone surrogates, which UTF-8 does not have, are kept as the three bytes of `surrogatepass` in a
binary column. Sets are stored sorted. Vectors and bits are as `io/array_columns.py` has them. Tensors and sparse
matrices are known by what they can do, so that neither torch nor SciPy need be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.array_columns import array_column, bag_column, sparse_column, vector_column
from lookalike.io.column_types import FORM, check_types, plain
from lookalike.io.reading.sound import check_sound
from lookalike.io.source import Batch, Flags, OnRead, Piece, cut, held
from lookalike.wording.messages import missing_column, reason

__all__ = ["MemorySource", "index_column", "to_table"]

_WHERE = "items"
_NEEDED = "strings, bytes, sets of integers or strings, vectors, or dicts of weights are needed"


class MemorySource:
    """A table in memory as a source."""

    def __init__(
        self,
        table: pa.Table,
        limit: int | None,
        batch_rows: int,
        batch_bytes: int,
        natural_id: str | None = None,
    ) -> None:
        self.natural_id = natural_id
        self.table = table if limit is None else table.slice(0, limit)
        self._batch_rows = batch_rows
        self._batch_bytes = batch_bytes
        self.files: tuple[str, ...] = ()
        self.skipped = 0
        self.bad: list[str] = []

    def schema(self) -> pa.Schema:
        """The columns of the table."""
        return self.table.schema

    def full_schema(self) -> pa.Schema:
        """The columns of the table."""
        return self.table.schema

    def count(self) -> int | None:
        """The number of rows."""
        return int(self.table.num_rows)

    def size(self) -> int | None:
        """Bytes of the table."""
        return int(self.table.nbytes)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Batch]:
        """The rows; see `Source.batches`."""
        table = self.table
        if columns is not None:
            for column in columns:
                if column not in table.schema.names:
                    raise InputError(missing_column(_WHERE, column, table.schema.names))
            table = table.select(list(columns))
        check_types(_WHERE, table.schema, expect or {})
        first = 0
        for chunk in table.to_batches(max_chunksize=self._batch_rows):
            for rows in cut(chunk, self._batch_rows, self._batch_bytes):
                if only is None or only[first : first + rows.num_rows].any():
                    yield Batch(first, 0, first, plain(rows) if columns is not None else rows)
                first += rows.num_rows
                if on_read is not None:
                    on_read(int(rows.nbytes))

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Piece]:
        """The rows in pieces; see `Source.pieces`."""
        return held(self.batches(columns, on_read, expect=expect, only=only))

    def first_rows(self) -> Sequence[int]:
        """The table counts as one file."""
        return (0,)

    def locate(self, number: int) -> tuple[int, int]:
        """The row is the running number itself."""
        if not 0 <= number < self.table.num_rows:
            raise IndexError(f"row {number} of {self.table.num_rows}")
        return 0, number


def to_table(items: Any) -> pa.Table:
    """Any collection of items as a table.

    Raises:
        InputError: for what is not a collection of items, with the position of the first wrong one.
    """
    module = type(items).__module__.partition(".")[0]
    try:
        for known, convert in _LIBRARIES.items():
            if module == known:
                return _sound(convert(items))
        if isinstance(items, Mapping):
            return _from_dict(items)
        if hasattr(items, "__arrow_c_stream__") or hasattr(items, "__arrow_c_array__"):
            return _sound(_from_arrow_protocol(items))
        if hasattr(items, "tocsr"):
            matrix = items.tocsr()
            return _table(sparse_column(matrix.indptr, matrix.indices, matrix.data, _WHERE))
        items = _untensored(items)
        if isinstance(items, np.ndarray) and items.ndim != 1:
            return _table(array_column(items, _WHERE))
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise InputError(f"{_WHERE}: a {type(items).__name__} is not a collection of items")
        return _table(_column(items.tolist() if isinstance(items, np.ndarray) else list(items), str))
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        raise InputError(f"{_WHERE}: {reason(error)}") from error


def _sound(table: pa.Table) -> pa.Table:
    """A table whose buffers others made; they may be forged or simply wrong."""
    check_sound(table, _WHERE)
    return table


def _table(*columns: tuple[pa.Field, Any]) -> pa.Table:
    return pa.table([column for _, column in columns], schema=pa.schema([field for field, _ in columns]))


def _untensored(items: Any) -> Any:
    """A tensor (of torch, or anything like it) as an array; everything else as it is."""
    if not (hasattr(items, "detach") and hasattr(items, "cpu")):
        return items
    tensor = items.detach().cpu()
    try:
        return tensor.numpy()
    except (TypeError, RuntimeError):
        pass
    try:
        # NumPy has no bfloat16.
        return tensor.float().numpy()
    except (TypeError, RuntimeError) as error:
        raise InputError(f"{_WHERE}: {reason(error)}") from error


def _from_dict(items: Mapping[Any, Any]) -> pa.Table:
    keys = [int(key) if isinstance(key, np.integer) else key for key in items]
    kinds = set(map(type, keys))
    if kinds <= {int} or kinds <= {str}:
        ids = pa.array(keys, pa.string() if kinds == {str} else pa.int64())
    else:
        odd = next(key for key in keys if type(key) is not type(keys[0]) or type(key) not in (int, str))
        raise InputError(f"{_WHERE}: ids of a dict must all be integers or all be strings, not {odd!r}")
    column = _column(list(items.values()), lambda position: f"{position} (id {keys[int(position)]!r})")
    return _table((pa.field("id", ids.type), ids), column)


def _column(values: list[Any], place: Callable[[str], str]) -> tuple[pa.Field, Any]:
    """The column of a list of items of one kind."""
    kinds = {type(value) for value in values} - {type(None)}
    if any(hasattr(kind, "detach") for kind in kinds):
        values = [_untensored(value) for value in values]
        kinds = {type(value) for value in values} - {type(None)}
    if all(issubclass(kind, str) for kind in kinds):
        return _named("text", _strings(values))
    if all(issubclass(kind, bytes | bytearray | memoryview) for kind in kinds):
        raw = [None if value is None else bytes(value) for value in values]
        return _named("text", pa.array(raw, pa.large_binary()))
    if all(issubclass(kind, Mapping) for kind in kinds):
        return bag_column(values, place)
    if all(_is_group(kind) for kind in kinds):
        try:
            field, column = _named("items", _groups(values, place))
            # Elements of a set have no order: it is no vector, whatever they are.
            form = {FORM: b"sets"} if any(issubclass(kind, Set) for kind in kinds) else None
            return field.with_metadata(form), column
        except InputError:
            vectors = vector_column(values, place)
            if vectors is None:
                raise
            return vectors
    first = next(value for value in values if value is not None)
    family = _family(type(first))
    for position, value in enumerate(values):
        if value is not None and (family is None or _family(type(value)) != family):
            where = f"{_WHERE}: item {place(str(position))} is a {type(value).__name__}"
            if family is None:
                raise InputError(f"{where}; {_NEEDED}")
            raise InputError(f"{where}, but item {place('0')} is a {type(first).__name__}")
    raise AssertionError("every kind was known")


def _named(name: str, column: Any) -> tuple[pa.Field, Any]:
    return pa.field(name, column.type), column


def _is_group(kind: type) -> bool:
    return issubclass(kind, Set | list | tuple | range | np.ndarray)


def _family(kind: type) -> str | None:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, bytes | bytearray | memoryview):
        return "bytes"
    if issubclass(kind, Mapping):
        return "bag"
    return "group" if _is_group(kind) else None


def _strings(values: list[Any]) -> Any:
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:
        raw = [None if value is None else value.encode("utf-8", "surrogatepass") for value in values]
        return pa.array(raw, pa.large_binary())


def _groups(values: list[Any], place: Callable[[str], str]) -> Any:
    """Sets of integers or of strings as lists."""
    kind: type | None = None
    groups: list[Any] = []
    largest = 0
    for position, value in enumerate(values):
        group = value
        if isinstance(value, np.ndarray):
            group = value.tolist() if value.ndim == 1 else [value]
        elif value is not None and not isinstance(value, list):
            group = list(value)
        kinds = set(map(type, group or ()))
        if any(issubclass(each, np.integer) for each in kinds):
            group = [int(item) if isinstance(item, np.integer) else item for item in group]
            kinds = set(map(type, group))
        if kind is None and group:
            kind = type(group[0])
        if kinds and (kind not in (int, str) or kinds != {kind}):
            raise InputError(_wrong_element(group, kind, place(str(position))))
        if kind is int and group:
            largest = max(largest, max(group), -min(group) - 1)
        groups.append(sorted(group) if isinstance(value, Set) else group)
    if kind is str:
        return pa.array(groups, pa.large_list(pa.large_string()))
    lowest = min((min(group) for group in groups if group), default=0)
    if largest >= 2**63 and (lowest < 0 or largest >= 2**64):
        raise InputError(f"{_WHERE}: integers in sets must fit 64 bits")
    return pa.array(groups, pa.large_list(pa.int64() if largest < 2**63 else pa.uint64()))


def _wrong_element(group: list[Any], kind: type | None, where: str) -> str:
    for item in group:
        if type(item) not in (int, str):
            break
        if type(item) is not kind:
            other = "integers" if kind is int else "strings"
            return f"{_WHERE}: item {where} holds {item!r}, but those before hold {other}"
    return f"{_WHERE}: item {where} holds {item!r}; sets must hold integers or strings"


def _from_arrow_protocol(items: Any) -> pa.Table:
    try:
        return pa.table(items)
    except (TypeError, ValueError, pa.ArrowException):
        column = pa.chunked_array(items) if hasattr(items, "__arrow_c_stream__") else pa.array(items)
        return pa.table({_name_of(column.type): column})


def _from_pyarrow(items: Any) -> pa.Table:
    if isinstance(items, pa.Table):
        return items
    if isinstance(items, pa.RecordBatch):
        return pa.Table.from_batches([items])
    if isinstance(items, pa.Array | pa.ChunkedArray):
        return pa.table({_name_of(items.type): items})
    if isinstance(items, pa.RecordBatchReader):
        return items.read_all()
    if hasattr(items, "to_table"):
        return items.to_table()
    raise InputError(f"{_WHERE}: a pyarrow {type(items).__name__} is not a collection of items")


def _name_of(kind: Any) -> str:
    """What a column without a name is called: by what it holds."""
    if pa.types.is_fixed_size_binary(kind):
        return "bits"
    if pa.types.is_map(kind):
        return "vector"
    if not any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)):
        return "text"
    if pa.types.is_boolean(kind.value_type):
        return "bits"
    vectors = (pa.types.is_floating, pa.types.is_struct)
    return "vector" if any(test(kind.value_type) for test in vectors) else "items"


def _series_name(kind: Any) -> str:
    name = _name_of(kind)
    return "text" if name == "items" else name


def _from_pandas(items: Any) -> pa.Table:
    import pandas as pd

    if isinstance(items, pd.Series):
        column = _pandas_column(items, "text" if items.name is None else str(items.name))
        name = _series_name(column.type) if items.name is None else str(items.name)
        if _has_own_index(items.index):
            ids = _pandas_column(items.index.to_series(), "id")
            return pa.table([ids, column], names=["id", name])
        return pa.table({name: column})
    if not isinstance(items, pd.DataFrame):
        raise InputError(f"{_WHERE}: a pandas {type(items).__name__} is not a collection of items")
    try:
        frame = items.reset_index() if _has_own_index(items.index) else items
    except ValueError as error:
        raise InputError(f"{_WHERE}: the index of the DataFrame: {reason(error)}") from error
    names = [str(name) for name in frame.columns]
    columns = [_pandas_column(frame.iloc[:, index], name) for index, name in enumerate(names)]
    return pa.table(columns, names=names)


def index_column(items: Any) -> str | None:
    """The column that the index of a pandas DataFrame becomes, if it can tell rows apart: its values are their ids."""
    if type(items).__module__.partition(".")[0] != "pandas" or not hasattr(items, "columns"):
        return None
    index = items.index
    if not _has_own_index(index) or index.inferred_type not in ("integer", "string") or not index.is_unique:
        return None
    return str(items.iloc[:0].reset_index().columns[0])


def _has_own_index(index: Any) -> bool:
    import pandas as pd

    return not (isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1)


def _pandas_column(series: Any, name: str) -> Any:
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, UnicodeEncodeError):
        missing = series.isna()
        values = [None if gone else value for value, gone in zip(series, missing, strict=True)]
    try:
        return _column(values, str)[1]
    except InputError as error:
        message = str(error).removeprefix(f"{_WHERE}: ")
        raise InputError(f"{_WHERE}: column '{name}': {message}") from error


def _from_polars(items: Any) -> pa.Table:
    if hasattr(items, "collect"):
        items = items.collect()
    import polars as pl

    named = not hasattr(items, "to_frame") or bool(items.name)
    frame = items.to_frame() if hasattr(items, "to_frame") else items
    # The oldest level has plain large strings instead of views, inside lists too.
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table if named else table.rename_columns([_series_name(table.schema.types[0])])


def _from_datasets(items: Any) -> pa.Table:
    if isinstance(items, Mapping):
        splits = ", ".join(map(str, items))
        raise InputError(f"{_WHERE}: a {type(items).__name__}: choose one of its splits ({splits})")
    if hasattr(items, "with_format") and hasattr(items, "__len__"):
        return items.with_format("arrow")[:]
    return pa.concat_tables(list(items.with_format("arrow").iter(batch_size=1000)))


_LIBRARIES: dict[str, Callable[[Any], pa.Table]] = {
    "pyarrow": _from_pyarrow,
    "pandas": _from_pandas,
    "polars": _from_polars,
    "datasets": _from_datasets,
}
