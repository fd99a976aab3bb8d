"""What every result has: an Arrow table that converts, saves and shows how it begins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lookalike.errors import ExtraError
from lookalike.io.writing.table_files import save_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from datasets import Dataset

__all__ = ["Tabular", "beginning", "first_rows"]


class Tabular:
    """A result with a table."""

    @property
    def table(self) -> pa.Table:
        """The result as an Arrow table."""
        raise AssertionError("each result has its own table")

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas DataFrame."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The table as a polars DataFrame."""
        try:
            import polars
        except ImportError:
            raise ExtraError("to_polars needs polars: pip install 'lookalike[polars]'") from None
        frame = polars.from_arrow(self.table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_hf(self) -> Dataset:
        """The table as a Hugging Face dataset."""
        try:
            from datasets import Dataset
        except ImportError:
            raise ExtraError("to_hf needs datasets: pip install 'lookalike[datasets]'") from None
        found: Dataset = Dataset(self.table)
        return found

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the table; the ending chooses the format: .parquet, .jsonl, .csv, .tsv or .arrow."""
        save_table(self.table, path, overwrite=overwrite)


def first_rows(table: pa.Table, rows: int) -> pa.Table:
    """The first rows of a table to look at: distances that are counts are whole numbers."""
    some = table.slice(0, rows)
    place = some.schema.get_field_index("distance")
    known = place >= 0 and pa.types.is_floating(some.schema.field(place).type)
    values = some.column(place).drop_null().to_pylist() if known else []
    if not values or not all(value.is_integer() and value < 2.0**53 for value in values):
        return some
    return some.set_column(place, "distance", some.column(place).cast(pa.int64()))


def beginning(table: pa.Table, rows: int = 5) -> list[str]:
    """The first rows of a table, a line each, and how many more there are."""
    lines = [
        "  " + "  ".join(f"{name}={_cell(value)}" for name, value in row.items())
        for row in first_rows(table, rows).to_pylist()
    ]
    return lines if table.num_rows <= rows else [*lines, f"  … {table.num_rows - rows:,} more"]


def _cell(value: object) -> str:
    if isinstance(value, float):
        # A small distance is not 0.
        return f"{value:.4f}" if value >= 0.01 or value == 0.0 else f"{value:.4g}"
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
