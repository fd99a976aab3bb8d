"""What was cut, as a table: a row for each span, with where it was and where its words stand for the first time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.engines.local.result_tables import file_columns
from lookalike.engines.local.spans.found_spans import FoundSpans
from lookalike.items.ids import ids_of_both

__all__ = ["cut_batches", "cut_table"]

# Rows that are made at a time.
_TABLE_ROWS = 1 << 16


def cut_table(found: FoundSpans) -> pa.Table:
    """All of `cut_batches`."""
    return pa.Table.from_batches(cut_batches(found))


def cut_batches(found: FoundSpans) -> Iterator[pa.RecordBatch]:
    """The cuts in the order of the input, some at a time; without any there is one empty batch.

    `begin` and `length` are characters of the text of `id`, `word` and `words` the same in words. `kept` is the
    document in which the first words of the span, as many as a span has at the least, stand for the first time:
    `kept_begin` and `kept_word` are where. That may be the same document.
    """
    cuts, references = found.cuts, found.collection.references
    for first in range(0, max(1, len(cuts)), _TABLE_ROWS):
        some = slice(first, first + _TABLE_ROWS)
        sources, there = cuts.sources[some], cuts.sources[some] < references
        source_rows = np.where(there, sources, sources - references)
        columns = {
            "id": found.ids[-1].of(cuts.rows[some]),
            "begin": pa.array(cuts.characters[some]),
            "length": pa.array(cuts.lengths[some]),
            "word": pa.array(cuts.first_words[some]),
            "words": pa.array(cuts.words[some]),
            "kept": ids_of_both(there, found.ids[0], found.ids[-1], source_rows),
            "kept_begin": pa.array(cuts.source_characters[some]),
            "kept_word": pa.array(cuts.source_words[some]),
        }
        if found.collection.against is not None:
            columns["against"] = pa.array(there)
        places = file_columns(found.items, "kept", source_rows)
        # A document of the other collection has its place there.
        places = {name: pc.if_else(pa.array(~there), column, None) for name, column in places.items()}
        yield pa.record_batch(columns | file_columns(found.items, "", cuts.rows[some]) | places)
