"""What a request is answered with when it cannot be done: a status, a code that stays the same, a line for people.

    {"error": {"code": "too-large", "message": "the body has more than 10,000,000 bytes"}}

Whatever is wrong with a request is the client's to mend (4xx). What the disk or Redis refuses is 503. Only a fault of
our own is 500: it says nothing but that, and the operator's log has the rest.
"""

from __future__ import annotations

import logging
from typing import Any

from lookalike.errors import InputError, LookalikeError, OptionError, OutputError, UnavailableError

__all__ = ["CODES", "RequestError", "failure_of"]

# All codes, and what each means; the documents list them.
CODES = {
    "malformed": "the body is not JSON, not UTF-8, nested too deep, or lacks a field",
    "invalid-item": "the item cannot be compared: it is empty, of another form than those of the index, or too long",
    "invalid-id": "the id is empty, too long, has a NUL, or is no 64-bit number",
    "invalid-option": "threshold, k or another option has a value that is not allowed",
    "unauthorized": "there is no token, or a wrong one",
    "forbidden": "the token may read and not write, or the server is addressed by a name that is not its own",
    "not-found": "there is no such item or address",
    "method": "the address does not accept this method",
    "timeout": "the request did not arrive in time",
    "exists": "there is an item with this id already",
    "too-large": "the body, the item or the batch is larger than allowed",
    "media-type": "the body must be JSON, or NDJSON where that is taken",
    "internal": "a fault of the server",
    "storage": "the index could not be written, or its writer is gone",
    "unavailable": "Redis, where the index is, cannot be reached or takes nothing just now: try again",
    "closing": "the server is shutting down",
}

# What goes with a code, also where it comes from another process.
_HEADERS = {"unavailable": {"retry-after": "1"}}

_log = logging.getLogger("lookalike.server")


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.headers = headers or _HEADERS.get(code, {})

    def to_json(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"code": self.code, "message": self.message}}


def failure_of(error: Exception) -> RequestError:
    """How to answer when this was raised."""
    if isinstance(error, RequestError):
        return error
    if isinstance(error, OptionError):
        return RequestError(400, "invalid-option", str(error))
    if isinstance(error, InputError):
        return RequestError(400, "invalid-item", str(error))
    if isinstance(error, OutputError):
        return RequestError(503, "storage", str(error))
    if isinstance(error, UnavailableError):
        return RequestError(503, "unavailable", str(error))
    if isinstance(error, LookalikeError):
        return RequestError(400, "invalid-item", str(error))
    _log.error("a request failed by a fault of the server", exc_info=error)
    return RequestError(500, "internal", "the server failed: its log says more")
