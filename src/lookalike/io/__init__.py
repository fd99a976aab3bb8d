"""Reading items and writing results: files, folders, addresses, standard input, and tables in memory.

source = open_source("crawl/*.parquet")
for batch in source.batches(["text"]):
    ...
copy_rows(source, keep, "clean.parquet")
"""

from lookalike.io.column_types import concat, is_text
from lookalike.io.copying.changes import Extra
from lookalike.io.copying.copy import Copied, copy_rows
from lookalike.io.inputs import check_delimiter, open_source
from lookalike.io.reading.files import open_files
from lookalike.io.source import Batch, Source, describe, locate
from lookalike.io.writing.atomic import atomic_file, atomic_folder
from lookalike.io.writing.table_files import TableWriter, is_file, output_format, save_table

__all__ = [
    "Batch",
    "Copied",
    "Extra",
    "Source",
    "TableWriter",
    "atomic_file",
    "atomic_folder",
    "check_delimiter",
    "concat",
    "copy_rows",
    "describe",
    "is_file",
    "is_text",
    "locate",
    "open_files",
    "open_source",
    "output_format",
    "save_table",
]
