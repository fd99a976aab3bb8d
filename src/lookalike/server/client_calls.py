"""What both clients have in common: how a verb becomes a request, and an answer becomes a value or an error.

A client only has to send what `Call.head` and `Call.body` say, and to hand what comes back to `Call.result`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from lookalike.errors import InputError, LookalikeError, OptionError, OutputError, ServerError, UnavailableError
from lookalike.index.answers import Answer
from lookalike.server.wire import (
    ITEMS_PATH,
    JSON_TYPE,
    answer_from_json,
    encoded,
    id_to_path,
    match_from_json,
)

__all__ = [
    "TRIES",
    "AddressOfServer",
    "Call",
    "call_add",
    "call_add_many",
    "call_get",
    "call_nearest",
    "call_query",
    "call_query_many",
    "call_remove",
    "call_replace",
    "call_seen",
    "call_stats",
    "unreachable",
]

# How often a safe request is sent at the most, where the connection fails.
TRIES = 3
# Items of a request of many: large enough for one sync to be shared, small enough for the limits of the server.
_MANY = 500


@dataclass(frozen=True, slots=True)
class AddressOfServer:
    """Where a server is, from an address such as http://127.0.0.1:8080."""

    host: str
    port: int
    is_secure: bool
    path: str

    @classmethod
    def parse(cls, address: str) -> AddressOfServer:
        """The parts of an address."""
        try:
            parts = urlsplit(address)
            if parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment):
                secure = parts.scheme == "https"
                return cls(parts.hostname, parts.port or (443 if secure else 80), secure, parts.path.rstrip("/"))
        except ValueError:
            pass
        raise OptionError(f"address is {address!r}: it must be such as http://127.0.0.1:8080")

    @property
    def name(self) -> str:
        """As it is told in a request."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Call:
    """One request, and what its answer means.

    Attributes:
        is_safe: whether it may be sent again when nobody knows whether it arrived.
        read: what to make of the JSON of the answer.
        id: whose absence is a KeyError.
    """

    method: str
    path: str
    body: bytes | None
    is_safe: bool
    read: Callable[[Any], Any]
    id: str | int | None = None

    def headers(self, token: str | None) -> dict[str, str]:
        """What is sent beside the body."""
        found = {"accept": JSON_TYPE}
        if self.body is not None:
            found["content-type"] = JSON_TYPE
        if token is not None:
            found["authorization"] = f"Bearer {token}"
        return found

    def result(self, status: int, body: bytes) -> Any:
        """What the verb gives back, or the error that the server told."""
        try:
            told = json.loads(body)
        except ValueError:
            raise ServerError(f"the server answered {status} without JSON: is it a lookalike server?") from None
        if status == 200:
            return self.read(told)
        if status == 404 and self.id is not None:
            raise KeyError(self.id)
        raise _error_of(status, told)


def _error_of(status: int, told: Any) -> LookalikeError:
    try:
        code, message = told["error"]["code"], told["error"]["message"]
    except (KeyError, TypeError):
        return ServerError(f"the server answered {status}")
    if code == "invalid-option":
        return OptionError(message)
    if code in ("invalid-item", "invalid-id", "malformed", "too-large", "exists"):
        return InputError(message)
    if code == "storage":
        return OutputError(message)
    if code == "unavailable":
        return UnavailableError(message)
    return ServerError(message, code)


def unreachable(name: str, error: Exception) -> ServerError:
    """The error where no answer came."""
    why = "it took too long" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    return ServerError(f"the server at {name} gave no answer: {why}")


def call_query(item: Any, threshold: float | None, k: int | None) -> Call:
    """Ask for the matches of an item."""
    return Call("POST", "/v1/query", encoded(_query(item, threshold, k)), True, answer_from_json)


def call_query_many(items: Iterable[Any], threshold: float | None, k: int | None) -> Iterator[Call]:
    """Ask for the matches of many items, some at a time."""
    for some in _some(items):
        body = encoded({"items": [_query(item, threshold, k) for item in some]})
        yield Call("POST", "/v1/query/batch", body, True, _answers)


def call_nearest(item: Any, k: int, threshold: float | None, recall: float) -> Call:
    """Ask for the items that are most like one."""
    body = encoded(_query(item, threshold, k) | {"recall": recall})
    return Call("POST", "/v1/nearest", body, True, answer_from_json)


def call_seen(id: str | int, item: Any, payload: Any) -> Call:
    """Ask for the first match of an item, which is added if there is none."""
    return Call("POST", "/v1/seen", encoded(_new(id, item, payload)), False, _first_match)


def call_add(id: str | int, item: Any, payload: Any) -> Call:
    """Add an item under an id that is not there yet."""
    return _put(id, item, payload, "?replace=false")


def call_replace(id: str | int, item: Any, payload: Any) -> Call:
    """Put an item in the place of another one, or add it."""
    return _put(id, item, payload, "")


def call_add_many(items: Iterable[Sequence[Any]]) -> Iterator[Call]:
    """Add items (id, item) or (id, item, payload), some at a time."""
    for some in _some(items):
        body = encoded({"items": [_new(*each) for each in some]})
        yield Call("POST", "/v1/items/batch?replace=false", body, False, _stored)


def call_remove(id: str | int) -> Call:
    """Remove an item."""
    return Call("DELETE", _path(id), None, False, lambda told: None, id)


def call_get(id: str | int) -> Call:
    """Ask for the payload of an item."""
    return Call("GET", _path(id), None, True, lambda told: told["payload"], id)


def call_stats() -> Call:
    """Ask what the index is."""
    return Call("GET", "/v1/stats", None, True, dict)


def _put(id: str | int, item: Any, payload: Any, query: str) -> Call:
    body = encoded({name: value for name, value in _new(id, item, payload).items() if name != "id"})
    return Call("PUT", _path(id) + query, body, False, lambda told: None)


def _path(id: str | int) -> str:
    return ITEMS_PATH + id_to_path(id)


def _query(item: Any, threshold: float | None, k: int | None) -> dict[str, Any]:
    asked = {"item": _plain(item), "threshold": threshold, "k": k}
    return {name: value for name, value in asked.items() if value is not None}


def _new(id: str | int, item: Any, payload: Any = None) -> dict[str, Any]:
    told = {"id": id, "item": _plain(item)}
    return told if payload is None else told | {"payload": payload}


def _plain(item: Any) -> Any:
    """An item as JSON has it: a set is a list, and so is an array."""
    if isinstance(item, set | frozenset | tuple):
        return list(item)
    return item.tolist() if hasattr(item, "tolist") else item


def _some(items: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(items)
    while some := list(islice(iterator, _MANY)):
        yield some


def _answers(told: Any) -> list[Answer]:
    return [answer_from_json(_checked(each)) for each in told["results"]]


def _stored(told: Any) -> int:
    return len([_checked(each) for each in told["results"]])


def _checked(told: Any) -> Any:
    if "error" in told:
        raise _error_of(200, told)
    return told


def _first_match(told: Any) -> Any:
    return None if told["match"] is None else match_from_json(told["match"])
