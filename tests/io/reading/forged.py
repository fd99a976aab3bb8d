"""Arrow files that were written well and had some of their bytes replaced."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa

TEXTS = [f"hello world one two three four five {i}" for i in range(4)]
SIZE = len(TEXTS[0])
ENDS = [SIZE * i for i in range(5)]

# What offsets of four values must not be.
OFFSETS = {
    "beyond the end": [0, SIZE, 2 * SIZE, 3 * SIZE, 50_000_000],
    "descending": [0, 3 * SIZE, 2 * SIZE, SIZE, 4 * SIZE],
    "negative": [0, -SIZE, 2 * SIZE, 3 * SIZE, 4 * SIZE],
    "negative from the start": [-500_000, SIZE, 2 * SIZE, 3 * SIZE, 4 * SIZE],
}
_LISTS = {
    "beyond the end": [0, 3, 6, 9, 90_000_000],
    "descending": [0, 9, 6, 3, 12],
    "negative": [0, -30_000, 6, 9, 12],
}


def written(array: pa.Array, name: str, *, stream: bool = False) -> bytes:
    """An Arrow file or stream with one column."""
    out = pa.BufferOutputStream()
    batch = pa.RecordBatch.from_arrays([array], names=[name])
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(out.getvalue().to_pybytes())


def replaced(data: bytes, old: bytes, new: bytes) -> bytes:
    """The last appearance of some bytes replaced; the dictionary of a file stands before its indices."""
    at = data.rindex(old)
    return data[:at] + new + data[at + len(old) :]


def _forged(array: pa.Array, name: str, old: bytes, new: bytes) -> tuple[bytes, bytes]:
    return tuple(replaced(written(array, name, stream=stream), old, new) for stream in (False, True))  # type: ignore[return-value]


def forged() -> dict[str, tuple[bytes, bytes]]:
    """What is forged, and the file and the stream with it."""
    found: dict[str, tuple[bytes, bytes]] = {}
    texts = {
        "string": (pa.array(TEXTS), np.int32, "text"),
        "large_string": (pa.array(TEXTS, pa.large_string()), np.int64, "text"),
        "binary": (pa.array([text.encode() for text in TEXTS]), np.int32, "text"),
        "strings in lists": (pa.array([[text] for text in TEXTS]), np.int32, "items"),
        "strings in bags": (pa.array([[{"element": text, "weight": 1.0}] for text in TEXTS]), np.int32, "vector"),
        "dictionary": (pa.array(TEXTS).dictionary_encode(), np.int32, "text"),
    }
    for what, (array, width, name) in texts.items():
        for how, offsets in OFFSETS.items():
            old, new = np.array(ENDS, width).tobytes(), np.array(offsets, width).tobytes()
            found[f"{what}: offsets {how}"] = _forged(array, name, old, new)
    lists = {
        "sets": (pa.array([[1, 2, 3], [4, 5, 6], [1, 2, 3], [7, 8, 9]]), np.int32, "items"),
        "large lists": (
            pa.array([[1, 2, 3], [4, 5, 6], [1, 2, 3], [7, 8, 9]], pa.large_list(pa.int64())), np.int64, "items",
        ),
        "vectors": (pa.array([[1.0, 2, 3], [4, 5, 6], [1, 2, 3], [7, 8, 9]]), np.int32, "vector"),
    }  # fmt: skip
    for what, (array, width, name) in lists.items():
        for how, offsets in _LISTS.items():
            old, new = np.array([0, 3, 6, 9, 12], width).tobytes(), np.array(offsets, width).tobytes()
            found[f"{what}: offsets {how}"] = _forged(array, name, old, new)
    view = struct.pack("<i4sii", SIZE, b"hell", 0, SIZE)
    for how, other in {
        "length": struct.pack("<i4sii", 55_000_000, b"hell", 0, SIZE),
        "negative length": struct.pack("<i4sii", -SIZE, b"hell", 0, SIZE),
        "offset": struct.pack("<i4sii", SIZE, b"hell", 0, 900_000_000),
        "buffer": struct.pack("<i4sii", SIZE, b"hell", 700, SIZE),
    }.items():
        found[f"string_view: {how}"] = _forged(pa.array(TEXTS, pa.string_view()), "text", view, other)
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 3, 2], pa.int32()), pa.array(TEXTS))
    for odd in (4, 900_000_000, -1):
        old, new = np.array([0, 1, 3, 2], np.int32).tobytes(), np.array([0, 1, odd, 2], np.int32).tobytes()
        found[f"dictionary: index {odd}"] = _forged(coded, "text", old, new)
    return found
