"""Writes to an index, one after another, each with an outcome of its own.

An outcome is what the client gets: {"stored": true}, {"removed": true}, {"match": …, "added": …}, or the error with the
status that belongs to it. It is plain data, since it may come from another process (`writer_socket.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from lookalike.errors import InputError
from lookalike.index.index import Index
from lookalike.server.asked import Operation, check_form
from lookalike.server.request_error import RequestError, failure_of
from lookalike.server.wire import match_to_json

__all__ = ["ItemWrites", "carried_out", "failed_outcome", "is_written", "not_found", "outcome_error"]

# What an outcome says where something was written.
_WRITTEN = ("stored", "removed", "added")


class ItemWrites(Protocol):
    """Whoever writes for the server: in this process, or in another one."""

    async def write(self, operations: Sequence[Operation]) -> list[dict[str, Any]]:
        """Carry writes out; their outcomes, when they are safe."""
        ...

    def check(self) -> None:
        """Raise the error that a write would meet."""
        ...

    async def close(self) -> None:
        """Finish what was begun."""
        ...


def carried_out(index: Index, operation: Operation) -> dict[str, Any]:
    """Do one write, which is safe after the next sync."""
    try:
        return _done(index, operation)
    except Exception as error:
        return failed_outcome(error)


def _done(index: Index, operation: Operation) -> dict[str, Any]:
    verb, named, item, payload = operation
    if verb == "remove":
        try:
            index.remove(named)
        except KeyError:
            raise not_found(named) from None
        return {"removed": True}
    check_form(index.recipe, item)
    try:
        if verb == "seen":
            match = index.seen(named, item, payload)
            return {"match": None if match is None else match_to_json(match), "added": match is None}
        write = index.add if verb == "add" else index.replace
        write(named, item, payload)
    except InputError:
        if verb != "replace" and named in index:
            raise RequestError(409, "exists", f"there is an item {named!r:.100} already") from None
        raise
    return {"stored": True}


def not_found(id: str | int) -> RequestError:
    """The answer where there is no item with an id."""
    return RequestError(404, "not-found", f"there is no item {id!r:.100}")


def failed_outcome(error: Exception) -> dict[str, Any]:
    """The outcome of a write that failed."""
    failure = failure_of(error)
    return {"status": failure.status, **failure.to_json()}


def is_written(outcome: dict[str, Any]) -> bool:
    """Whether something was written."""
    return any(outcome.get(what) for what in _WRITTEN)


def outcome_error(outcome: dict[str, Any]) -> RequestError | None:
    """The error that an outcome is, if it is one."""
    if "error" not in outcome:
        return None
    return RequestError(outcome["status"], outcome["error"]["code"], outcome["error"]["message"])
