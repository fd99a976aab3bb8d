"""Reading and writing: files, folders, streams and items in memory, always as batches of Arrow rows."""

from __future__ import annotations

from lookalike.io.files import open_files
from lookalike.io.inputs import open_source

__all__ = ["open_files", "open_source"]
