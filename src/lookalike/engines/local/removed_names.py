"""Names of the columns that stand beside removed rows with all their columns (`removed_rows.py`)."""

from __future__ import annotations

from lookalike.config import Config
from lookalike.errors import InputError
from lookalike.items.collection import Collection

__all__ = ["check_free_names"]


def check_free_names(collection: Collection, config: Config, *, against: bool) -> None:
    """Refuse rows with a column of a name that is added to them, or with types that go into no one file, at once.

    The columns of all files are needed in any case, to write the table: JSONL is read through for them, once.
    """
    items = collection.items
    added = {"kept", config.scale.column} | ({"id"} if items.id != "id" else set())
    added |= {"relation"} if config.scale.is_directed else set()
    added |= {"against"} if against else set()
    added |= {"kept_text"} if config.with_text else set()
    added |= {"file", "row", "kept_file", "kept_row"} if items.id is None and len(items.source.files) > 1 else set()
    there = sorted(added & set(items.source.full_schema().names))
    if there:
        way = "say that it has the ids, with id (--id), or rename it" if there[0] == "id" else "rename it"
        raise InputError(f"the rows have a column {there[0]!r} already, and with_rows (--with-rows) adds one: {way}")
