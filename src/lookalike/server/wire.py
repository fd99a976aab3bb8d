"""What goes over the wire, for both of its ends: ids in addresses, matches and answers as JSON.

An id is a string or a whole number. In JSON it is just that; in an address, where all is text, a number is written
`int:7`, and a string that begins with `int:` or `str:` has `str:` put in front of it:

    7  /v1/items/int:7      "7"  /v1/items/7      "int:7"  /v1/items/str:int:7      "a/b"  /v1/items/a%2Fb
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from lookalike.errors import InputError
from lookalike.index.answers import Answer, Match, Near

__all__ = [
    "ITEMS_PATH",
    "JSON_TYPE",
    "NDJSON_TYPE",
    "answer_from_json",
    "answer_to_json",
    "encoded",
    "id_from_path",
    "id_to_path",
    "match_from_json",
    "match_to_json",
]

JSON_TYPE = "application/json"
# A line for each item, in and out.
NDJSON_TYPE = "application/x-ndjson"
ITEMS_PATH = "/v1/items/"

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_PREFIXES = ("int:", "str:")
# Kept, since `json.dumps` with any option makes a new one for each call.
_encode = json.JSONEncoder(separators=(",", ":")).encode


def encoded(data: Any) -> bytes:
    """Data as JSON; in ASCII, so that lone surrogates, which UTF-8 does not have, come through."""
    return _encode(data).encode("ascii")


def id_to_path(id: str | int) -> str:
    """An id as the last part of an address."""
    text = f"int:{id}" if isinstance(id, int) else f"str:{id}" if id.startswith(_PREFIXES) else id
    return quote(text.encode("utf-8", "surrogatepass"), safe=":")


def id_from_path(part: str | bytes) -> str | int:
    """The id that the last part of an address, as it was sent, stands for."""
    try:
        text = unquote_to_bytes(part).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise InputError("the id in the address is not UTF-8") from None
    if text.startswith("str:"):
        return text[4:]
    if not text.startswith("int:"):
        return text
    # More digits than 64 bits have are refused before Python counts them.
    if len(text) > 24 or not _INTEGER.fullmatch(text[4:]):
        raise InputError(f"the id {text[:40]!r} is not a whole number: a string that begins with int: is str:int:…")
    return int(text[4:])


def match_to_json(match: Match | Near) -> dict[str, Any]:
    """A match with its similarity or its distance."""
    named, score, payload = match
    return {"id": named, "similarity" if type(match) is Match else "distance": score, "payload": payload}


def match_from_json(told: Mapping[str, Any]) -> Match | Near:
    """The same the other way."""
    if "distance" in told:
        return Near(told["id"], told["distance"], told["payload"])
    return Match(told["id"], told["similarity"], told["payload"])


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """The answer to a query."""
    matches = [match_to_json(match) for match in answer]
    told = {"matches": matches, "compared": answer.compared, "left_out": answer.left_out}
    return told if answer.recall is None else told | {"recall": answer.recall}


def answer_from_json(told: Mapping[str, Any]) -> Answer:
    """The same the other way."""
    return Answer(map(match_from_json, told["matches"]), told["compared"], told["left_out"], told.get("recall"))
