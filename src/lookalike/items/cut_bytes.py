"""Texts without some of their bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.io.json_text import python_values
from lookalike.types import I64Array

__all__ = ["without_bytes"]


def without_bytes(texts: pa.Array, rows: I64Array, begins: I64Array, ends: I64Array) -> pa.Array:
    """The texts without the bytes begins[i] … ends[i] - 1 of text rows[i]; the cuts of a text ascend, as its row does.

    All others are as they were, invalid UTF-8 too; in what is cut that becomes U+FFFD, as with paragraphs.
    """
    out = python_values(texts)
    for row in np.unique(rows).tolist():
        of_row = slice(*np.searchsorted(rows, [row, row + 1]).tolist())
        text = out[row].encode() if isinstance(out[row], str) else out[row]
        kept = zip([0, *ends[of_row].tolist()], [*begins[of_row].tolist(), len(text)], strict=True)
        out[row] = b"".join(text[begin:end] for begin, end in kept).decode("utf-8", "replace")
    whole = [text.encode() if isinstance(text, str) else text for text in out]
    return pa.array(whole, pa.large_binary())
