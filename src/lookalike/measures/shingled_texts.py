"""From texts to shingles, as the recipe wants them: of the main text, without what stands everywhere, weighed.

    html        the main text of a page instead of all of it
    max_share   shingles that stand in more than this share of all documents are left out
    weights     how much a shingle counts: tf-idf, bm25, or how often it occurs

The last two need to know in how many documents each shingle stands, which a pass before all others counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lookalike.key import key_of
from lookalike.recipe import Recipe
from lookalike.represent.text_sets import shingle_texts
from lookalike.shingle import Shingle
from lookalike.types import Sets

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["Texts"]


class Texts:
    """Makes sets, or bags, of texts; `frequencies` are there when the pass that counts them is over."""

    def __init__(self, recipe: Recipe, frequencies: Frequencies | None = None) -> None:
        self._given = recipe.shingle
        self._key = key_of(recipe.seed)
        self._html = recipe.html
        if recipe.html:
            from lookalike.represent.html import needs_trafilatura

            needs_trafilatura()
        self._max_share = recipe.max_share
        self._weights = recipe.weights
        self._frequencies = frequencies

    @property
    def _shingle(self) -> Shingle:
        assert self._given is not None, "texts that become sets have shingles"
        return self._given

    def plain(self, items: pa.Array) -> tuple[pa.Array, dict[str, int]]:
        """The texts that count, and how many web pages were no ordinary ones."""
        if not self._html:
            return items, {}
        from lookalike.represent.html import main_texts

        return main_texts(items)

    def counted(self, items: pa.Array) -> Sets:
        """The shingles of each text with their numbers: what document frequencies are counted from."""
        from lookalike.represent.weights import count_shingles

        return count_shingles(self.plain(items)[0], self._shingle, self._key)

    def sets(self, items: pa.Array) -> Sets:
        """The shingles of each text."""
        texts, noted = self.plain(items)
        if self._shingle.bag and self._max_share is not None:
            # What stands in too many documents goes with all its repeats, which only it can be told by.
            from lookalike.represent.weights import as_sets, count_shingles

            return as_sets(self._sifted(replace(count_shingles(texts, self._shingle, self._key), noted=noted)))
        return self._sifted(replace(shingle_texts(texts, self._shingle, key=self._key), noted=noted))

    def bags(self, items: pa.Array) -> Sets:
        """The shingles of each text with their weights."""
        from lookalike.represent.weights import bm25, count_shingles, tf_idf

        texts, noted = self.plain(items)
        counted = replace(count_shingles(texts, self._shingle, self._key), noted=noted)
        if self._weights == "count":
            return self._sifted(counted)
        assert self._frequencies is not None, "document frequencies are counted before texts are weighed"
        weigh = bm25 if self._weights == "bm25" else tf_idf
        return self._sifted(weigh(counted, self._frequencies))

    def _sifted(self, sets: Sets) -> Sets:
        if self._max_share is None:
            return sets
        from lookalike.represent.weights import drop_frequent

        assert self._frequencies is not None, "document frequencies are counted before shingles are left out"
        left, dropped = drop_frequent(sets, self._frequencies, self._max_share)
        more = {"dropped_shingles": dropped.shingles, "emptied_items": dropped.documents}
        return replace(left, noted=sets.noted | more)
