"""From rows to items: which columns make an item, what its id is, and how a document falls into smaller units."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lookalike.compared_fields import ComparedField
from lookalike.config import Config
from lookalike.errors import InputError, OptionError
from lookalike.io import column_types as io_columns
from lookalike.io.reading.formats import DELIMITED
from lookalike.io.source import Batch, Flags, Piece, Source
from lookalike.items.make_items import make_items
from lookalike.measure_table import FIELDS, FormTraits, form_named, measure_named
from lookalike.measures import form_of, forms_for, is_list
from lookalike.recipe import Recipe, recipe_of
from lookalike.types import BoolArray, I64Array, U64Array
from lookalike.wording.messages import shown
from lookalike.wording.phrases import did_you_mean

__all__ = ["ItemBatch", "ItemPiece", "Items", "Known", "named_columns", "open_items"]

# The row of each item, ascending, and whether it is wanted.
Known: TypeAlias = tuple[I64Array, BoolArray]

_USUAL = ("text", "content", "items", "body", "document", "vector", "embedding", "vectors", "embeddings", "bits")
# Rows that are looked at to tell rows of 0 and 1 from sets.
_LOOKED_AT = 1000


@dataclass(frozen=True, slots=True)
class ItemBatch:
    """The items of one batch of rows; item i of the batch has the running number first + i and is from row rows[i].

    `null` counts the rows that have no value in any of the columns. `groups` tells items of different groups apart.
    """

    first: int
    values: pa.Array
    rows: I64Array
    null: int
    batch: Batch
    groups: U64Array | None = None
    # How many units have too few words to be items.
    few_words: int = 0


@dataclass(frozen=True, slots=True)
class ItemPiece:
    """Items of consecutive rows, the unit of work: whoever takes it reads it, on any thread, once.

    Attributes:
        rows: how many rows it has.
        weight: roughly the bytes that they take when they are read.
        load: reads its items, some at a time.
    """

    rows: int
    weight: int
    load: Callable[[], Iterator[ItemBatch]]


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a source, read as often as a pass needs them, always the same and in the same order."""

    source: Source
    columns: tuple[str, ...]
    id: str | None
    # How they are made, and become sketches; bands and rows are not known before there is a plan.
    recipe: Recipe
    # What is compared: "sets", "vectors" and so on, or the shingles of text, such as "word:5".
    kind: str
    # Only items with the same value in this column are compared.
    group_by: str | None = None
    # Paragraphs and lines of fewer words are no items.
    min_words: int = 0

    @property
    def form(self) -> str:
        """What the items are: text, sets, columns (sets as rows of 0 and 1), vectors, bags or bits."""
        return self.recipe.form

    @property
    def traits(self) -> FormTraits:
        """What distinguishes their form from others."""
        return form_named(self.form)

    @property
    def dimensions(self) -> int | None:
        """How many components a vector has, or bits, or columns."""
        return self.recipe.dimensions

    @property
    def unit(self) -> str:
        """What an item is of a text: all of it, or a paragraph or line."""
        return self.recipe.unit

    def batches(
        self,
        *more: str,
        on_read: Any = None,
        only: Flags | None = None,
        start: int = 0,
        most: int | None = None,
        known: Known | None = None,
    ) -> Generator[ItemBatch, None, None]:
        """All items in order, read here; see `pieces` for what may be asked for."""
        number = 0
        for piece in self.pieces(*more, on_read=on_read, only=only, start=start, most=most, known=known):
            for batch in piece.load():
                yield batch if known is not None or self.unit == "document" else replace(batch, first=number)
                number += len(batch.values)

    def pieces(
        self,
        *more: str,
        on_read: Any = None,
        only: Flags | None = None,
        start: int = 0,
        most: int | None = None,
        known: Known | None = None,
    ) -> Iterator[ItemPiece]:
        """The items in pieces that several threads can read at once; `more` names columns that the pass reads along.

        `only` flags the rows of which something is wanted (see `Source.batches`). `start` is the row to go on from. A
        batch is of at most `most` rows. Where a row may hold several items, rows can be left out only if those are
        `known`: the row of each item, and which items are wanted; the others may be empty. Where they are not known,
        the items of a piece are numbered from 0.
        """
        wanted = list(dict.fromkeys([*self.columns, *([self.group_by] if self.group_by else []), *more]))
        for piece in self.source.pieces(wanted, on_read=on_read, expect=self._expected(), only=only):
            if piece.first + piece.count > start:
                yield ItemPiece(piece.count, piece.weight, partial(self._load, piece, start, most, known))

    def _load(self, piece: Piece, start: int, most: int | None, known: Known | None) -> Iterator[ItemBatch]:
        """The items of a piece, from the row `start` on."""
        number = 0
        for batch in (part for whole in piece.load() for part in _from_row(whole, start, most)):
            if self.unit == "document":
                number = batch.first
            elif known is not None:
                number = int(np.searchsorted(known[0], batch.first))
            made = self.make(batch, known)
            yield replace(made, first=number)
            number += len(made.values)

    def make(self, batch: Batch, known: Known | None = None) -> ItemBatch:
        """The items of a batch of rows, numbered from 0."""
        units = None
        if known is not None and self.unit != "document":
            rows, wanted = known
            begin, end = np.searchsorted(rows, [batch.first, batch.first + batch.rows.num_rows])
            owners = rows[begin:end] - batch.first
            cut = np.zeros(batch.rows.num_rows, np.bool_)
            cut[owners[wanted[begin:end]]] = True
            units = np.bincount(owners, minlength=len(cut)), cut
        made = make_items(batch.rows, self.recipe, self.columns, self.group_by, units, self.min_words)
        return ItemBatch(0, made.values, made.rows + batch.first, made.null, batch, made.groups, made.few_words)

    def count_rows(self, on_read: Any = None) -> int:
        """The number of rows; they are read where the source does not tell it."""
        known = self.source.count()
        if known is None and hasattr(self.source, "tally"):
            known = self.source.tally(on_read)
        if known is None:
            batches = self.source.batches(list(self.columns), on_read=on_read, expect=self._expected())
            known = sum(int(batch.rows.num_rows) for batch in batches)
        return known

    def _expected(self) -> dict[str, pa.DataType]:
        """The types that the item columns must keep, so that a row of another type is named instead of guessed at."""
        expected = {}
        for name in self.columns:
            kind = self.source.schema().field(name).type
            if is_text(kind):
                expected[name] = pa.string()
            elif is_list(kind) and not pa.types.is_null(kind.value_type):
                expected[name] = kind
        return expected


def open_items(source: Source, config: Config) -> Items:
    """The items that the options ask for; a missing or unsuitable column is an error that says what there is."""
    schema = source.schema()
    if not schema.names:
        raise InputError(f"there are no items{_where(source)}")
    # Of pictures it is what was made of them that is compared, whatever else might do.
    columns = named_columns(config.columns, schema.names) or getattr(source, "derived", ())
    columns = columns or (_guess_column(source, config),)
    for name in [*columns, *(name for name in (config.id, config.group_by, config.report_by) if name)]:
        if (found := schema.names.count(name)) > 1:
            raise InputError(f"column {name!r} occurs {found} times{_where(source)}: rename all but one")
        if not found:
            raise _nothing(source) or InputError(
                f"there is no column {name!r}{_where(source)}; the columns are {shown(schema.names)}"
                + (_parted(source) or did_you_mean(name, schema.names))
            )
    if config.compared:
        for name, each in zip(columns, config.compared, strict=True):
            _check_compared(source, schema.field(name), each)
        recipe, ids, kind = recipe_of(config, FIELDS), config.id or source.natural_id, ", ".join(config.compare or [])
        return Items(source, tuple(columns), ids, recipe, kind, config.group_by)
    if config.unit != "document" and len(columns) > 1:
        raise OptionError(f"unit is {config.unit!r}: it takes one column, not {len(columns)}")
    forms = [_form(source, schema.field(name), config) for name in columns]
    for name, form in zip(columns, forms, strict=True):
        if not form_named(form).is_text and len(columns) > 1:
            raise OptionError(f"column {name!r} holds {form}: {form} are not joined with other columns")
        if not form_named(form).is_text and config.unit != "document":
            raise OptionError(f"unit is {config.unit!r}: it is for text, and column {name!r} holds {form}")
    form = _told_apart(source, schema.field(columns[0]), forms[0], config)
    compared = form_named(form).compared_as or str(config.shingle)
    ids = config.id or source.natural_id
    dimensions = _dimensions(source, columns[0], form) if form_named(form).has_dimensions else None
    return Items(
        source, tuple(columns), ids, recipe_of(config, form, dimensions), compared, config.group_by, config.min_words
    )


def named_columns(given: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    """The columns that are named; one name may be several, parted by commas, unless there is such a column."""
    out: list[str] = []
    for name in given:
        several = [each.strip() for each in name.split(",")]
        out += several if name not in names and all(each in names for each in several) else [name]
    return tuple(out)


def _check_compared(source: Source, field: pa.Field, compared: ComparedField) -> None:
    """Refuse a column that cannot be compared as it is asked for."""
    if compared.shingle is None and not (is_list(field.type) or pa.types.is_null(field.type)):
        raise InputError(f"column {field.name!r}{_where(source)} holds {field.type}: only lists are compared as sets")
    if compared.shingle is not None and pa.types.is_nested(field.type):
        raise InputError(
            f"column {field.name!r}{_where(source)} holds {field.type}, which has no shingles: compare it as a set "
            f"({field.name}:set)"
        )


def _form(source: Source, field: pa.Field, config: Config) -> str:
    """What the items of a column are for the measure."""
    form = form_of(field, config.measure, is_text=is_text(field.type), wanted=config.form)
    if form is not None:
        return form
    raise _nothing(source, field.name) or _unfit(source, field, config)


def _nothing(source: Source, column: str | None = None) -> InputError | None:
    """What is wrong first of all where there are no rows, or nothing in them: a list of None is taken for text."""
    if source.count() == 0:
        return InputError(f"there are no items{_where(source)}")
    if column is not None and all(
        batch.rows.column(0).null_count == len(batch.rows) for batch in source.batches([column])
    ):
        return InputError(f"column {column!r}{_where(source)} holds only nulls")
    return None


def _unfit(source: Source, field: pa.Field, config: Config) -> InputError:
    """The error that a column holds no items, with what it must hold."""
    taken = form_named(config.form).words if config.form is not None else "text or a list of elements or components"
    if config.measure is not None:
        words = [form_named(form).words for form in forms_for(config.measure)]
        taken = ", ".join(words[:-1]) + f"{' or ' if words[:-1] else ''}{words[-1]} for {config.measure}"
    return InputError(
        f"column {field.name!r}{_where(source)} holds {shown([str(field.type)])}: an item must be {taken}"
    )


def _told_apart(source: Source, field: pa.Field, form: str, config: Config) -> str:
    """The form of items, now that their numbers can be asked: a row of 0 and 1 is hardly the set of 0 and 1.

    Rows of an array are the sets of their columns. Lists may be either, and whoever has them must say it.
    """
    kind, name = field.type, field.name
    said = config.form is not None or (field.metadata or {}).get(io_columns.FORM) is not None
    if said or form not in ("sets", "bags", "columns") or not is_list(kind):
        return form
    if not (pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type)):
        return form
    fixed, looked = pa.types.is_fixed_size_list(kind), _looked_at(source, name)
    lengths, only_bits = {len(row) for row in looked}, all(np.isin(row, (0, 1)).all() for row in looked)
    if pa.types.is_floating(kind.value_type) and not only_bits:
        raise _unfit(source, field, config)
    if only_bits and fixed and form != "bags" and looked:
        return "columns"
    if fixed and (form == "bags" or any(len(np.unique(row)) < len(row) for row in looked)):
        raise InputError(
            f"column {name!r}{_where(source)} holds rows of {kind.list_size} numbers, and {config.measure} takes sets: "
            "with a column for each number, give a sparse matrix (and weighted-jaccard) or rows of 0 and 1 (and "
            f"jaccard); for lists of elements say sets={name!r} (--sets {name})"
        )
    # A list of one number is hardly a row; and where all are [0, 1], it makes no difference.
    differs = any((row[1:] <= row[:-1]).any() for row in looked)
    if only_bits and differs and form != "columns" and len(lengths) == 1:
        raise InputError(
            f"column {name!r}{_where(source)} holds lists of 0 and 1, all of one length. If these are rows with a "
            f"column for each number, say vectors={name!r} (--vectors {name}) and a measure: jaccard for the sets of "
            f"columns with a 1, hamming, or cosine; for sets of the numbers 0 and 1 say sets={name!r} (--sets {name})"
        )
    return form


def _looked_at(source: Source, column: str) -> list[NDArray[Any]]:
    """The first rows of a column of lists of numbers."""
    looked: list[NDArray[Any]] = []
    batches = source.batches([column])
    with contextlib.closing(batches):  # type: ignore[type-var]
        for batch in batches:
            values = batch.rows.column(0).slice(0, _LOOKED_AT - len(looked)).drop_null()
            looked += [row.values.to_numpy(zero_copy_only=False) for row in values]
            if len(looked) >= _LOOKED_AT:
                break
    return looked


def _dimensions(source: Source, column: str, form: str) -> int | None:
    """How many components the vectors of a column have, or bits: as its type says, or as the first of them has."""
    field = source.schema().field(column)
    kind = field.type
    if field.metadata and b"bits" in field.metadata:
        return int(field.metadata[b"bits"])
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    if pa.types.is_fixed_size_binary(kind):
        return 8 * int(kind.byte_width)
    in_bytes = not is_list(kind)
    batches = source.batches([column])
    with contextlib.closing(batches):  # type: ignore[type-var]
        for batch in batches:
            values = batch.rows.column(0)
            lengths = (pc.binary_length(values) if in_bytes else values.value_lengths()).drop_null()
            if len(lengths):
                length = int(lengths[0].as_py())
                return 8 * length // form_named(form).part_bits if in_bytes else length
    return None


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, dictionary-encoded or not."""
    return io_columns.is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _guess_column(source: Source, config: Config) -> str:
    """The usual name, or the only column that can be an item; ids are none."""
    schema = source.schema()
    others = {config.id, source.natural_id, config.group_by, config.report_by}
    # A column that begins with nothing but nulls has no type yet; only under a usual name is it taken for text.
    fields = [field for field in schema if field.name not in others]
    forms = [form_of(field, config.measure, is_text=is_text(field.type)) for field in fields]
    # What is made a set of, such as an embedding by Jaccard, is meant only where there is nothing else.
    made = () if config.measure is None else measure_named(config.measure).reluctant
    fits = [field for field, form in zip(fields, forms, strict=True) if form is not None and form not in made]
    fits = fits or [field for field, form in zip(fields, forms, strict=True) if form is not None]
    for name in _USUAL:
        if any(field.name == name for field in fits):
            return name
    suitable = [field for field in fits if not pa.types.is_null(field.type)]
    if len(suitable) == 1:
        return str(suitable[0].name)
    holding = [field for field in fields if not _is_plain(field.type)]
    if not suitable and len(holding) == 1:
        # It is the column, and what it holds is not for this measure.
        _form(source, holding[0], config)
    raise OptionError(
        f"which column holds the items? Name it with column (--column); the columns are {shown(schema.names)}"
    )


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a column of this type holds single numbers, times and the like, which are no items."""
    return not (is_text(kind) or pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind))


def _parted(source: Source) -> str:
    """What to try where the header of a CSV file is taken for one name, with something in it that may part several."""
    names = source.schema().names
    delimited = any(place.format in DELIMITED for place in getattr(source, "places", ()))
    odd = next((each for each in names[0] if not (each.isalnum() or each in " _-.")), None)
    if not delimited or len(names) > 1 or odd is None:
        return ""
    return f"; if {odd!r} parts them, say so with delimiter (--delimiter)"


def _where(source: Source) -> str:
    return f" in {source.files[0]}" if source.files else ""


def _from_row(batch: Batch, row: int, most: int | None) -> Iterator[Batch]:
    """The rows of a batch from a running number on, at most so many at a time."""
    count = batch.rows.num_rows
    for start in range(max(0, row - batch.first), count, most or max(1, count)):
        if start == 0 and (most is None or most >= count):
            yield batch
        else:
            yield replace(
                batch, first=batch.first + start, row=batch.row + start, rows=batch.rows.slice(start, most or count)
            )
