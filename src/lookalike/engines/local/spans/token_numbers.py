"""One numbering of all the tokens of a collection, and of the entries that their windows leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.types import I64Array

__all__ = ["TokenNumbers"]


@dataclass(frozen=True, slots=True)
class TokenNumbers:
    """Where documents stand in the numbering; those of another collection come first, and are `references`.

    Document d has the numbers tokens[d] … tokens[d + 1] - 1. The last of them is no token but the end of its text, so
    that nothing reaches from one document into the next; and it has the entries entries[d] … entries[d + 1] - 1.
    """

    tokens: I64Array
    entries: I64Array
    references: int = 0

    @classmethod
    def of(cls, counts: I64Array, entries: I64Array, references: int) -> TokenNumbers:
        """From the number of tokens and of entries of each document."""
        return cls(_begins(counts + 1), _begins(entries), references)

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self.tokens) - 1

    @property
    def counts(self) -> I64Array:
        """How many tokens each document has."""
        return np.diff(self.tokens) - 1

    @property
    def own(self) -> int:
        """The first token of the run's own documents."""
        return int(self.tokens[self.references])

    def documents_of(self, tokens: I64Array) -> I64Array:
        """The document of each token."""
        return np.searchsorted(self.tokens, tokens, side="right") - 1


def _begins(sizes: I64Array) -> I64Array:
    begins = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=begins[1:])
    return begins
