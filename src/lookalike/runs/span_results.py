"""What the library gives back where it is repeated spans that go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import pyarrow as pa

from lookalike.engines.local.pipeline import Found
from lookalike.engines.local.spans.found_spans import FoundSpans
from lookalike.engines.local.spans.span_tables import cut_batches, cut_table
from lookalike.errors import OptionError
from lookalike.io.copying.changes import Extra
from lookalike.io.source import Batch
from lookalike.io.writing.tabular import beginning
from lookalike.items.cut_bytes import without_bytes
from lookalike.report.span_examples import span_examples
from lookalike.report.span_report import span_report
from lookalike.runs.results import Dedup
from lookalike.types import BoolArray
from lookalike.wording.phrases import counted

__all__ = ["SpanDedup"]


class SpanDedup(Dedup):
    """The documents without spans of words that stand somewhere earlier.

    `table` has the rows of which something is left, with all their columns; `removed` a row for each span that was cut:
    `id`, `begin` and `length` (characters), `word` and `words`, and `kept`, `kept_begin` and `kept_word` for where its
    words stand for the first time. There are no pairs and no clusters.
    """

    def __init__(self, found: FoundSpans) -> None:
        # It has of a `Found` all that copies and run folders ask for; what else `Dedup` asks it for is below.
        super().__init__(cast(Found, found))
        self._spans = found

    @cached_property
    def kept(self) -> BoolArray:
        return self._spans.kept

    def _annotation(self) -> Extra:
        raise OptionError(f"annotate tells of whole documents: it does not go with unit={self._spans.config.unit!r}")

    def _edit(self, batch: Batch) -> Batch:
        """The rows of a batch with the text that is left."""
        place = batch.rows.schema.get_field_index(self._spans.items.columns[0])
        cuts = self._spans.cuts
        some = cuts.between(batch.first, batch.first + batch.rows.num_rows)
        if some.start == some.stop:
            return batch
        column, field = batch.rows.column(place), batch.rows.schema.field(place)
        texts = without_bytes(column, cuts.rows[some] - batch.first, cuts.begins[some], cuts.ends[some])
        return replace(batch, rows=batch.rows.set_column(place, field, texts.cast(field.type)))

    @cached_property
    def removed(self) -> pa.Table:
        return cut_table(self._spans)

    @cached_property
    def pairs(self) -> pa.Table:
        raise self._no_table("pairs")

    @cached_property
    def clusters(self) -> pa.Table:
        raise self._no_table("clusters")

    def _no_table(self, name: str) -> OptionError:
        return OptionError(f"there are no {name} with unit={self._spans.config.unit!r}: see `removed`")

    @cached_property
    def report(self) -> dict[str, Any]:
        return span_report(self._spans)

    def full_report(self) -> dict[str, Any]:
        return self.report | span_examples(self._spans)

    @property
    def left_out(self) -> tuple[str, ...]:
        return ("pairs", "clusters")

    def batches_of(self, table: str) -> Iterator[pa.RecordBatch]:
        return cut_batches(self._spans)

    def __repr__(self) -> str:
        figures, counts = self._spans.figures, self._spans.counts
        headline = (
            f"{counted(figures.spans, 'span')} cut out of {figures.spanned_documents:,} of "
            f"{counted(counts.items, 'document')} ({self._spans.config.span} words or more that stand earlier)"
        )
        return "\n".join([headline, *beginning(self.removed)])
