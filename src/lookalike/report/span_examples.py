"""Spans to look at in the report: the longest ones, with their words."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.engines.local.spans.found_spans import FoundSpans
from lookalike.engines.local.spans.span_tables import cut_table
from lookalike.items.from_rows import ItemPiece
from lookalike.represent.buffers import text_buffers
from lookalike.threads.ordered import ordered_map
from lookalike.types import I64Array

__all__ = ["span_examples"]

_SPANS, _CHARACTERS = 10, 2000
# The longest spans, among which there may be one that stands in a thousand documents.
_LOOKED_AT = 10_000
# Bytes of input that are read again for examples: some 5 s.
_FEW_BYTES = 1_000_000_000


def span_examples(found: FoundSpans) -> dict[str, Any]:
    """The longest spans, each with its places, and with its text where all can be read again in a few seconds."""
    longest = _longest(found)
    size = found.collection.size()
    texts = _read(found, longest) if size is not None and size <= _FEW_BYTES else {}
    chosen = found.with_cuts(found.cuts.take(longest))
    rows = zip(longest.tolist(), cut_table(chosen).to_pylist(), strict=True)
    told = [
        {
            "words": row["words"],
            "cut": {"id": row["id"], "word": row["word"], "begin": row["begin"]},
            "kept": {"id": row["kept"], "word": row["kept_word"], "begin": row["kept_begin"]},
            "text": texts.get(cut, ""),
        }
        for cut, row in rows
    ]
    return {"largest_spans": sorted(told, key=lambda each: -each["words"])}


def _longest(found: FoundSpans) -> I64Array:
    """The longest cuts, in the order of the input: of those that stand first at the same place, one."""
    order = np.argsort(-found.cuts.words, kind="stable")[:_LOOKED_AT]
    places = np.stack([found.cuts.sources[order], found.cuts.source_words[order]], axis=1)
    _, first = np.unique(places, axis=0, return_index=True)
    return np.sort(order[np.sort(first)[:_SPANS]])


def _read(found: FoundSpans, cuts: I64Array) -> dict[int, str]:
    """The text of some cuts, by their numbers."""
    documents = found.cuts.rows[cuts] + found.collection.references
    wanted = np.zeros(found.collection.references + len(found.kept), np.bool_)
    wanted[documents] = True

    def catch(piece: ItemPiece) -> dict[int, str]:
        caught = {}
        for batch in piece.load():
            begin, end = np.searchsorted(documents, [batch.first, batch.first + len(batch.values)])
            data, offsets = text_buffers(batch.values)
            for number, document in zip(cuts[begin:end].tolist(), documents[begin:end].tolist(), strict=True):
                at = offsets[document - batch.first]
                text = data[at + found.cuts.begins[number] : at + found.cuts.ends[number]].tobytes()
                caught[number] = text.decode("utf-8", "replace")[:_CHARACTERS]
        return caught

    texts: dict[int, str] = {}
    pieces = found.collection.pieces_again(wanted, lambda amount: None)
    for caught in ordered_map(catch, pieces, found.config.threads):
        texts |= caught
    return texts
