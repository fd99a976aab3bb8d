"""Good files in every format and many schemas, and what is done to them to make bad ones.

Everything is drawn from a `random.Random`, so the number of a case is all that is needed to make it again.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.io.reading.formats import thrift
from tests.workbooks import workbook

__all__ = ["ENDINGS", "FORMATS", "case"]

ENDINGS = {
    "parquet": "parquet",
    "arrow": "arrow",
    "arrow-stream": "arrow",
    "jsonl": "jsonl",
    "csv": "csv",
    "npy": "npy",
    "npz": "npz",
    "xlsx": "xlsx",
    "ris": "ris",
    "bibtex": "bib",
}
FORMATS = tuple(ENDINGS)

_TEXT = pa.string()
_SETS = [pa.list_(pa.int64()), pa.large_list(pa.int32()), pa.list_(pa.uint8())]
_DEEP = pa.struct([("a", pa.list_(pa.list_(_TEXT))), ("b", pa.struct([("c", pa.int64())]))])

_WORDS = ["one", "two", "three", "four", "five", "six", "ünïcode", "字", "\u202eabc", "", "a" * 40]
_EXTREMES = [0, 1, -1, 2, 7, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, -(2**31), 2**31, 2**32, 2**62, 2**63 - 1]
_TOKENS = [
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b'"', b"'", b",", b"\t", b"\r", b"\n", b"\r\n", b"\n\n", b"\\", b"{",
    b"}", b"[", b"]", b":", b"null", b"true", b"NaN", b"Infinity", b"-", b"1e999", b"9" * 30, b"9" * 5000,
    b"@", b"@a{", b"=", b"#", b"TY  - ", b"ER  - ", b"<c>", b"</c>", b"<v>", b"r='Z9'", b"&amp;", b"<!--", b"]]>",
    b"\\ud800", b"\\u0000", b"\x1b[31m", b"[" * 300, b'{"a":' * 300, b'"a":1,', b"2020-01-01", b"x" * 3000,
]  # fmt: skip


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randrange(12)))


def _columns(rng: random.Random) -> dict[str, pa.Array]:
    """Columns of every kind that items and their companions come in; a few of them make a table."""
    n = rng.choice([0, 1, 3, 40])
    texts = [_text(rng) for _ in range(n)]
    some = [None if rng.random() < 0.2 else text for text in texts]
    numbers = [[rng.randrange(9) for _ in range(rng.randrange(6))] for _ in range(n)]
    floats = [[rng.random() for _ in range(4)] for _ in range(n)]
    bags = [[{"element": text[:3], "weight": 1.5} for text in set(texts[:3])] for _ in range(n)]
    texts_as = rng.choice(
        [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
    )
    kinds: dict[str, Callable[[], pa.Array]] = {
        "text": lambda: pa.array(some, pa.string()).cast(texts_as),
        "items": lambda: pa.array(numbers, rng.choice(_SETS)),
        "names": lambda: pa.array([text.split() for text in texts], pa.list_(pa.string())),
        "vector": lambda: pa.array(floats, rng.choice([pa.list_(pa.float32()), pa.list_(pa.float64(), 4)])),
        "bits": lambda: pa.array([bytes(rng.randrange(256) for _ in range(8)) for _ in range(n)], pa.binary(8)),
        "bag": lambda: pa.array(bags, pa.list_(pa.struct([("element", pa.string()), ("weight", pa.float64())]))),
        "map": lambda: pa.array([[("a", 1.0)] for _ in range(n)], pa.map_(pa.string(), pa.float64())),
        "id": lambda: pa.array(range(n)) if rng.random() < 0.5 else pa.array([f"id {i}" for i in range(n)], _TEXT),
        "when": lambda: pa.array([10**9 * i for i in range(n)], pa.timestamp("us")),
        "price": lambda: pa.array(range(n)).cast(pa.decimal128(30, 2)),
        "deep": lambda: pa.array([{"a": [[text]], "b": {"c": 1}} for text in texts], _DEEP),
        "truth": lambda: pa.array([rng.random() < 0.5 for _ in range(n)], pa.bool_()),
        "nothing": lambda: pa.nulls(n),
    }  # fmt: skip
    first = rng.choice(["text", "text", "items", "names", "vector", "bits", "bag", "map"])
    rest = rng.sample([name for name in kinds if name != first], rng.randrange(4))
    return {name: kinds[name]() for name in [first, *rest]}


def _table(rng: random.Random) -> pa.Table:
    return pa.table(_columns(rng))


def _parquet(rng: random.Random) -> bytes:
    table = _table(rng)
    columns = [column.cast(pa.string()) if "view" in str(column.type) else column for column in table.columns]
    table = pa.table(columns, names=table.column_names)
    out = io.BytesIO()
    pq.write_table(
        table, out, row_group_size=rng.choice([1, 7, 1000]), use_dictionary=rng.random() < 0.5,
        compression=rng.choice(["none", "snappy", "zstd", "gzip", "lz4", "brotli"]),
        data_page_version=rng.choice(["1.0", "2.0"]), write_page_index=rng.random() < 0.3,
        data_page_size=rng.choice([64, 1 << 20]), store_schema=rng.random() < 0.7,
        write_page_checksum=rng.random() < 0.1,
    )  # fmt: skip
    return out.getvalue()


def _arrow(rng: random.Random, *, stream: bool) -> bytes:
    table = _table(rng)
    out = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=rng.choice([None, None, "lz4", "zstd"]))
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rng.choice([2, 1000]))
    return out.getvalue()


def _jsonl(rng: random.Random) -> bytes:
    rows = []
    for number in range(rng.choice([1, 5, 50])):
        row: dict[str, Any] = {"id": number, "text": _text(rng)}
        if rng.random() < 0.3:
            row["more"] = rng.choice([None, 1.5, [1, "a", None], {"a": {"b": [number]}}, 2**70, "2020-01-01"])
        rows.append(json.dumps(row, ensure_ascii=rng.random() < 0.5))
    return "\n".join(rows).encode() + rng.choice([b"", b"\n"])


def _csv(rng: random.Random) -> bytes:
    quote = rng.choice(["", '"'])
    lines = ["id,text,n"] + [f"{i},{quote}{_text(rng)}{quote},{i}" for i in range(rng.choice([0, 5, 50]))]
    return rng.choice(["\n", "\r\n"]).join(lines).encode()


def _array(rng: random.Random) -> Any:
    shape = (rng.choice([0, 1, 5, 60]), rng.choice([1, 3, 16]))
    kind = rng.choice(["<f4", "<f8", ">f4", "<f2", "<i4", "|u1", "|b1"])
    array = (np.random.default_rng(rng.randrange(2**32)).normal(size=shape) * 9).astype(kind)
    return np.asfortranarray(array) if rng.random() < 0.2 else array


def _npy(rng: random.Random, array: Any = None) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(
        out, _array(rng) if array is None else array, version=rng.choice([(1, 0), (2, 0), (3, 0)])
    )
    return out.getvalue()


def _npz(rng: random.Random) -> bytes:
    """Members are bent before they are packed, too: their checksums are then right."""
    array = _array(rng)
    members = {"vectors": _npy(rng, array)}
    if rng.random() < 0.4:
        ids = np.arange(len(array)) if rng.random() < 0.5 else np.array([f"n{i}" for i in range(len(array))], "U5")
        members["ids"] = _npy(rng, ids)
    if rng.random() < 0.3:
        indptr = np.array([0, 2, 2, 5], np.int32)
        members = {
            "format": _npy(rng, np.array(b"csr")), "indptr": _npy(rng, indptr),
            "indices": _npy(rng, np.array([0, 3, 1, 2, 9], np.int32)), "data": _npy(rng, np.ones(5)),
            "shape": _npy(rng, np.array([3, 10])),
        }  # fmt: skip
    if rng.random() < 0.7:
        name = rng.choice(list(members))
        members[name] = bent(members[name], rng, "npy")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return out.getvalue()


def _xlsx(rng: random.Random) -> bytes:
    """As of archives of arrays, members are bent before they are packed, too."""
    shared = ["one", "x" * 5000]
    cells = [
        lambda at: f'<c r="{at}" t="inlineStr"><is><t>{rng.choice(["one", "two words", "three"])}</t></is></c>',
        lambda at: f'<c r="{at}" s="{rng.randrange(3)}"><v>{rng.choice([1999, 2.5, 1e300, *_EXTREMES])}</v></c>',
        lambda at: f'<c r="{at}" t="s"><v>{rng.randrange(len(shared))}</v></c>',
        lambda at: f'<c r="{rng.choice([at, "XFD1", "A1048576", "AAAA1", "A0"])}" t="b"><v>1</v></c>',
        lambda at: f'<c t="e"><f>1/{at}</f><v>#N/A</v></c>',
    ]  # fmt: skip
    rows = [
        [rng.choices(cells, weights=[8, 4, 4, 1, 1])[0](f"{column}{row}") for column in "ABC"]
        for row in range(2, rng.randrange(3, 9))
    ]
    book = workbook([["text", "id", "b"], *rows], texts=shared)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as whole, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        chosen = rng.choice(whole.namelist()) if rng.random() < 0.7 else None
        for name in whole.namelist():
            data = whole.read(name)
            archive.writestr(name, bent(data, rng, "npy") if name == chosen else data)
    return out.getvalue()


def _ris(rng: random.Random) -> bytes:
    tags = ["AU", "TI", "AB", "PY", "SP", "EP", "XX", "N1"]
    records = [
        "TY  - JOUR\nTI  - "
        + _text(rng)
        + "".join(f"\n{rng.choice(tags)}  - {_text(rng)}" for _ in range(rng.randrange(6)))
        + "\nER  - \n\n"
        for _ in range(rng.randrange(9))
    ]
    return "".join(records).encode(rng.choice(["utf-8", "utf-8-sig"]))


def _bibtex(rng: random.Random) -> bytes:
    names = ["author", "note", "year", "crossref", "month"]
    entries = ["@string{jan = {January} # jan}\n", "@comment{a {b}}\n"] if rng.random() < 0.5 else []
    for number in range(rng.randrange(9)):
        values = [
            rng.choice(["{" + _text(rng) + r" {\"u}}", f'"{_text(rng)}"', "jan", "1999 # jan", f"{{key{number}}}"])
            for _ in range(rng.randrange(5))
        ]
        fields = ",\n ".join([f"title = {{{_text(rng)}}}", *(f"{rng.choice(names)} = {value}" for value in values)])
        entries.append(f"@misc{{key{number},\n {fields}\n}}\n")
    return "".join(entries).encode()


_SEEDS: dict[str, Callable[[random.Random], bytes]] = {
    "parquet": _parquet,
    "arrow": lambda rng: _arrow(rng, stream=False),
    "arrow-stream": lambda rng: _arrow(rng, stream=True),
    "jsonl": _jsonl,
    "csv": _csv,
    "npy": _npy,
    "npz": _npz,
    "xlsx": _xlsx,
    "ris": _ris,
    "bibtex": _bibtex,
}


def case(format: str, seed: int, number: int) -> bytes:
    """The bytes of one case."""
    rng = random.Random(f"{format} {seed} {number}")
    data = _SEEDS[format](rng)
    if format == "parquet" and rng.random() < 0.5:
        data = _bent_footer(data, rng)
    # The members of an archive are bent already, and so may a footer be.
    if rng.random() < {"npz": 0.6, "xlsx": 0.6, "parquet": 0.3}.get(format, 0.02):
        return data
    return bent(data, rng, format)


def bent(data: bytes, rng: random.Random, format: str) -> bytes:
    """The data after a few changes."""
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        ways = [_flip, _set, _number, _number, _cut, _swap, _repeat, _drop, _garbage, _splice]
        if format in ("jsonl", "csv", "npy", "ris", "bibtex"):
            ways += [_token] * 6
        data = rng.choice(ways)(data, rng, format)
    return data


def _at(data: bytes, rng: random.Random) -> int:
    """A place in the data; often near one of its ends, where metadata stands."""
    if len(data) > 600 and rng.random() < 0.5:
        return rng.choice([rng.randrange(300), len(data) - 1 - rng.randrange(300)])
    return rng.randrange(len(data) + 1)


def _flip(data: bytes, rng: random.Random, format: str) -> bytes:
    if not data:
        return data
    out = bytearray(data)
    for _ in range(rng.randrange(1, 9)):
        out[min(_at(data, rng), len(out) - 1)] ^= 1 << rng.randrange(8)
    return bytes(out)


def _set(data: bytes, rng: random.Random, format: str) -> bytes:
    at, size = _at(data, rng), rng.randrange(1, 17)
    return data[:at] + bytes(rng.choice([0, 255, rng.randrange(256)]) for _ in range(size)) + data[at + size :]


def _number(data: bytes, rng: random.Random, format: str) -> bytes:
    """A number of two, four or eight bytes, where lengths and offsets would stand, at an extreme."""
    size = rng.choice([2, 4, 4, 8, 8])
    at = _at(data, rng)
    at -= at % rng.choice([1, size])
    value = rng.choice([*_EXTREMES, len(data), len(data) + 1, -len(data), rng.randrange(100)])
    return data[:at] + (value % (1 << 8 * size)).to_bytes(size, "little") + data[at + size :]


def _cut(data: bytes, rng: random.Random, format: str) -> bytes:
    return data[: _at(data, rng)]


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    at = _at(data, rng)
    return at, min(len(data), at + rng.choice([1, 4, 8, 64, 500]))


def _swap(data: bytes, rng: random.Random, format: str) -> bytes:
    (a, b), (c, d) = sorted([_span(data, rng), _span(data, rng)])
    return data if b > c else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _repeat(data: bytes, rng: random.Random, format: str) -> bytes:
    a, b = _span(data, rng)
    return data[:b] + data[a:b] * rng.choice([1, 2, 20]) + data[b:]


def _drop(data: bytes, rng: random.Random, format: str) -> bytes:
    a, b = _span(data, rng)
    return data[:a] + data[b:]


def _garbage(data: bytes, rng: random.Random, format: str) -> bytes:
    at = _at(data, rng)
    return data[:at] + rng.randbytes(rng.choice([1, 8, 100])) + data[at:]


def _splice(data: bytes, rng: random.Random, format: str) -> bytes:
    other = _SEEDS[format](rng)
    return data[: _at(data, rng)] + other[_at(other, rng) :]


def _token(data: bytes, rng: random.Random, format: str) -> bytes:
    at = _at(data, rng)
    return data[:at] + rng.choice(_TOKENS) + data[at + rng.choice([0, 0, 1]) :]


def _bent_footer(data: bytes, rng: random.Random) -> bytes:
    """Parquet with some values of its footer changed, which random bytes seldom leave readable."""
    length = int.from_bytes(data[-8:-4], "little")
    fields = thrift.parse(data[-8 - length :])
    for _ in range(rng.choice([1, 1, 2, 5])):
        _bend_struct(fields, rng)
    footer = thrift.serialize(fields)
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _bend_struct(struct: Any, rng: random.Random) -> None:
    if not struct:
        return
    field = rng.choice(list(struct))
    kind, value = struct[field]
    if kind == thrift.STRUCT and rng.random() < 0.8:
        _bend_struct(value, rng)
    elif kind == thrift.LIST and rng.random() < 0.8:
        inner, values = value
        if values and inner == thrift.STRUCT and rng.random() < 0.8:
            _bend_struct(rng.choice(values), rng)
        elif values:
            more = rng.choice([values[:-1], values * 2, values[::-1], [], [rng.choice(values)]])
            struct[field] = kind, (inner, more)
    elif kind in (thrift.I16, thrift.I32, thrift.I64):
        struct[field] = kind, rng.choice([*_EXTREMES, value + 1, value - 1, -value, 2 * value])
    elif kind == thrift.BINARY:
        struct[field] = kind, rng.choice([b"", b"\xff\xfe", b"x" * 999, value + b".x", value[::-1]])
    else:
        del struct[field]
