r"""BibTeX: `@article{key, author = {Ann Doe and Bob Roe}, title = "On {Tea}", year = 1999}`.

| in the file | in the row |
| --- | --- |
| the kind and the key of an entry | the columns `type` (in lower case) and `key` |
| a field | a column under its name, in lower case, as plain text (`latex.py`) |
| `author` and `editor`: names joined by `and` | the same names with "; " between them |
| `pages = {12--19}` | 12-19, as RIS has them |
| `@string{jm = "J. Many"}`, then `journal = jm # { A}` | J. Many A; what nothing defines (months) stays as it is |
| `crossref = {book}` | the fields that the entry lacks, from the entry `book`, whose title is its `booktitle` |
| `@comment`, `@preamble`, all text between entries | nothing; kept in the file that kept rows are written to |

An entry begins with @, a name and a brace; one that is still open where a line begins with another is bad, and reading
goes on there. So the time is linear in the size, whatever is not closed. As in BibTeX, every brace counts, with a
backslash or without.

The libraries that read BibTeX take 20 s (bibtexparser 2.1) and 40 s (pybtex 0.26) for 100,000 entries of 700 bytes;
this takes 4 s.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from itertools import pairwise

import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.formats.bibliography import SEPARATOR, Bibliography, Citation, decoded
from lookalike.io.reading.formats.held_table import HeldTable, held, held_pieces, held_schema
from lookalike.io.reading.formats.latex import plain_text
from lookalike.io.reading.places import Place
from lookalike.wording.messages import cut_short

_USUAL = (
    "key", "type", "author", "title", "year", "journal", "booktitle", "volume", "number", "pages", "doi", "abstract",
    "keywords", "url", "editor", "publisher",
)  # fmt: skip
_NAMES = ("author", "editor")
# What an entry that refers to another one does not take from it.
_OWN = ("key", "type", "crossref")

_START = re.compile(rb"@[ \t]*([A-Za-z]+)\s*([{(])")
_LINE_START = re.compile(rb"^[ \t]*(?=@[ \t]*[A-Za-z]+\s*[{(])", re.MULTILINE)
_NO_COMMENT = re.compile(rb"^[ \t]*[^\s%\xef]", re.MULTILINE)
_KEY = re.compile(rb"([^,{}()=\"#]*)(?=[,)}])")
_FIELD = re.compile(rb"[\s,]*([^\s,{}()=\"#%'@][^\s,{}()=\"#%']*)\s*=\s*")
_END = re.compile(rb"[\s,]*([})])")
_BARE = re.compile(rb"[^\s,{}()=\"#%']+")
_JOIN = re.compile(rb"\s*#\s*")
_BRACE = re.compile(rb"[{}]")
_BRACE_OR_QUOTE = re.compile(rb"[{}\"]")
_AND = re.compile(r"[{}]|\sand(?=\s)", re.IGNORECASE)

__all__ = ["count", "pieces", "schema", "take_apart"]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The usual columns, then other fields."""
    return held_schema(held(place, take_apart), skip_bad)


def count(place: Place) -> int | None:
    """The number of entries."""
    table = held(place, take_apart)
    held_schema(table, False)
    return int(table.rows.num_rows)


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All entries in order."""
    yield from held_pieces(place, reading, take_apart)


def take_apart(place: Place) -> HeldTable:
    """The entries of a file."""
    found = Bibliography.of(place)
    _Entries(found).read()
    if b"@" not in found.data and _NO_COMMENT.search(found.data):
        raise InputError(f"{place.name}: holds no BibTeX entry, which begins like '@article{{key,'")
    _inherit(found.citations)
    return found.table(_USUAL)


class _MalformedError(Exception):
    """An entry that is not as BibTeX is."""


class _Entries:
    """Reads the entries of a file, with what `@string` defines on the way."""

    def __init__(self, found: Bibliography) -> None:
        self._found = found
        self._data = found.data
        self._strings: dict[str, str] = {}
        # Where the entry that is being read must have ended.
        self._limit = 0
        # A byte, and the line that it is in: those that are asked for come in order.
        self._counted = (0, 1)

    def read(self) -> None:
        """All of them."""
        starts = [match.end() for match in _LINE_START.finditer(self._data)]
        bounds = [0, *starts, len(self._data)]
        at = 0
        for begin, self._limit in pairwise(bounds):
            at = max(at, begin)
            while start := _START.search(self._data, at, self._limit):
                try:
                    at = self._entry(start)
                except _MalformedError as why:
                    line = self._line(start.start())
                    self._found.refuse(line, str(why), start.start(), self._limit)
                    at = self._limit

    def _line(self, at: int) -> int:
        before, line = self._counted
        if at >= before:
            self._counted = (at, line + self._data.count(b"\n", before, at))
            return self._counted[1]
        return line - self._data.count(b"\n", at, before)

    def _entry(self, start: re.Match[bytes]) -> int:
        """Read what begins here; where it ends."""
        kind = start[1].decode().lower()
        if kind in ("comment", "preamble"):
            return self._closed(start.end()) if start[2] == b"{" else start.end()
        closing = b"}" if start[2] == b"{" else b")"
        at, key = start.end(), ""
        if kind != "string":
            named = _KEY.match(self._data, at, self._limit)
            if named is None:
                raise _MalformedError(f"no key and comma after '@{cut_short(kind)}{start[2].decode()}'")
            at, key = named.end(), " ".join(decoded(named[1], self._found.encoding).split())
        fields: dict[str, str] = {"key": key, "type": kind}
        while (end := _END.match(self._data, at, self._limit)) is None or end[1] != closing:
            field = _FIELD.match(self._data, at, self._limit)
            if field is None:
                raise _MalformedError(self._what_is_wrong(kind, key, at))
            name = decoded(field[1], self._found.encoding).lower()
            text, at = self._value(field.end(), name, kind, key)
            if kind == "string":
                self._strings[name] = text
            elif text and name not in _OWN[:2]:
                fields.setdefault(name, _clean(name, text))
        if kind != "string":
            present = {name: text for name, text in fields.items() if text}
            self._found.citations.append(Citation(start.start(), end.end(), present))
        return end.end()

    def _what_is_wrong(self, kind: str, key: str, at: int) -> str:
        rest = self._data[at : min(at + 200, self._limit)].strip(b", \t\r\n").split()
        if not rest:
            return f"@{cut_short(kind)} '{cut_short(key)}' is not closed"
        seen = decoded(rest[0][:20], self._found.encoding)
        where = f"in line {self._line(at)} where a field or its end should be"
        return f"@{cut_short(kind)} '{cut_short(key)}' has {seen!r} {where}"

    def _value(self, at: int, name: str, kind: str, key: str) -> tuple[str, int]:
        """The value that begins here, joined of its parts, and where it ends."""
        parts: list[str] = []
        while True:
            first = self._data[at : at + 1] if at < self._limit else b""
            if first == b"{":
                end = self._closed(at + 1)
                parts.append(decoded(self._data[at + 1 : end - 1], self._found.encoding))
            elif first == b'"':
                end = self._quoted(at + 1)
                parts.append(decoded(self._data[at + 1 : end - 1], self._found.encoding))
            else:
                bare = _BARE.match(self._data, at, self._limit)
                if bare is None:
                    raise _MalformedError(f"@{cut_short(kind)} '{cut_short(key)}' has no value for '{cut_short(name)}'")
                word, end = decoded(bare[0], self._found.encoding), bare.end()
                parts.append(self._strings.get(word.lower(), word))
            more = _JOIN.match(self._data, end, self._limit)
            if more is None:
                return "".join(parts), end
            at = more.end()

    def _closed(self, at: int) -> int:
        """Where the brace that was opened before is closed."""
        depth = 1
        for brace in _BRACE.finditer(self._data, at, self._limit):
            depth += 1 if brace[0] == b"{" else -1
            if not depth:
                return brace.end()
        raise _MalformedError("a brace that is opened in this entry is not closed")

    def _quoted(self, at: int) -> int:
        depth = 0
        for found in _BRACE_OR_QUOTE.finditer(self._data, at, self._limit):
            if found[0] == b'"' and not depth:
                return found.end()
            depth += {b"{": 1, b"}": -1, b'"': 0}[found[0]]
        raise _MalformedError("a quotation mark that is opened in this entry is not closed")


def _clean(name: str, text: str) -> str:
    if name in _NAMES:
        return SEPARATOR.join(plain_text(each) for each in _people(text))
    plain = plain_text(text)
    return plain.replace("--", "-").replace("–", "-") if name == "pages" else plain


def _people(text: str) -> list[str]:
    """The names that `and` parts, outside of braces."""
    names, begin, depth = [], 0, 0
    for found in _AND.finditer(text):
        if found[0] in "{}":
            depth += 1 if found[0] == "{" else -1
        elif depth <= 0:
            names.append(text[begin : found.start()])
            begin = found.end()
    return [each for each in [*names, text[begin:]] if each.strip()]


def _inherit(citations: list[Citation]) -> None:
    """Give entries what they lack and the entry has that their field `crossref` names; that one has its own alone."""
    referring = [each.fields for each in citations if "crossref" in each.fields]
    if not referring:
        return
    parents = {each.fields["key"].lower(): dict(each.fields) for each in citations if "key" in each.fields}
    for fields in referring:
        parent = parents.get(fields["crossref"].lower(), {})
        if "title" in parent:
            fields.setdefault("booktitle", parent.get("booktitle", parent["title"]))
        for name, text in parent.items():
            if name not in (*_OWN, "title"):
                fields.setdefault(name, text)
