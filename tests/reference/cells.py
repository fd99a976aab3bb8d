"""Rows of CSV by a regular expression: cells that are quoted or not, between delimiters, up to a line end."""

from __future__ import annotations

import re


def cut_rows(data: bytes, delimiter: bytes) -> tuple[int, int, bool]:
    """(where the last whole row ends, whole rows that are not empty, whether a quote is open at the end)."""
    mark = re.escape(delimiter)
    quoted = rb'(?:"(?:[^"]|"")*+"(?!")[^' + mark + rb"\r\n]*)"
    plain = rb'(?:[^"' + mark + rb"\r\n][^" + mark + rb"\r\n]*)"
    cell = rb"(?:" + quoted + rb"|" + plain + rb")?"
    row = re.compile(cell + rb"(?:" + mark + cell + rb")*[\r\n]")
    at = rows = 0
    while found := row.match(data, at):
        rows += found.end() - at > 1
        at = found.end()
    rest = re.compile(cell + rb"(?:" + mark + cell + rb")*\Z")
    return at, rows, rest.match(data, at) is None
