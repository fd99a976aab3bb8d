"""From the bytes of a request to JSON that cannot do harm: size, time, UTF-8 and depth are checked before it is parsed.

Parsers call themselves for each level of nesting (`io/reading/depth.py`), so brackets are counted first, at gigabytes a
second, and only a body with many is looked at more closely.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import numpy as np

from lookalike.io.reading.depth import DEEPEST, mark_deep
from lookalike.server.request_error import RequestError
from lookalike.server.serve_settings import RequestLimits
from lookalike.server.wire import JSON_TYPE, NDJSON_TYPE
from lookalike.types import BoolArray

__all__ = ["ClientGoneError", "Receive", "media_type", "next_chunk", "parsed", "read_body", "too_large"]

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


def media_type(headers: Mapping[bytes, bytes]) -> str:
    """What the body is. Anything else than JSON is refused: a form on a foreign web page can send plain text only."""
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
    if kind not in (JSON_TYPE, NDJSON_TYPE):
        raise RequestError(415, "media-type", f"the content type is {kind[:100]!r}: it must be {JSON_TYPE}")
    return kind


def too_large(limit: int) -> RequestError:
    """The answer to a body that is."""
    return RequestError(413, "too-large", f"the body has more than {limit:,} bytes")


async def next_chunk(receive: Receive, seconds: float) -> tuple[bytes, bool]:
    """What came next of a body, and whether there is more."""
    try:
        async with asyncio.timeout(seconds):
            message = await receive()
    except TimeoutError:
        late = f"the body did not arrive within {seconds:g} seconds"
        raise RequestError(408, "timeout", late, {"connection": "close"}) from None
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message.get("body", b""), message.get("more_body", False)


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, limits: RequestLimits) -> bytes:
    """The whole body.

    One that is too large is refused as soon as that is known, and the connection stays: uvicorn reads on and throws
    away what still comes, for a client that is cut off while it sends may never see why.
    """
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > limits.max_body:
        raise too_large(limits.max_body)
    body, more = await next_chunk(receive, limits.request_time)
    if not more and len(body) <= limits.max_body:
        return body
    until = asyncio.get_running_loop().time() + limits.request_time
    parts, size = [body], len(body)
    while more and size <= limits.max_body:
        left = until - asyncio.get_running_loop().time()
        chunk, more = await next_chunk(receive, max(left, 0.001))
        parts.append(chunk)
        size += len(chunk)
    if size > limits.max_body:
        raise too_large(limits.max_body)
    return b"".join(parts)


def parsed(body: bytes) -> Any:
    """The JSON of a body, or of a line."""
    if body.count(b"[") + body.count(b"{") > DEEPEST and _is_deep(body):
        raise _malformed(f"the JSON is nested deeper than {DEEPEST} levels")
    try:
        return _decode(body.decode())
    except UnicodeDecodeError as error:
        raise _malformed(f"the body is not UTF-8: byte {error.start:,} is not part of a character") from None
    except json.JSONDecodeError as error:
        raise _malformed(f"the body is not JSON: {error.msg} at character {error.pos:,}") from None
    except ValueError as error:
        # A number of thousands of digits, or one that JSON does not have.
        raise _malformed(f"the body is not JSON: {error}") from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


_decode = json.JSONDecoder(parse_constant=_no_number).decode


def _is_deep(body: bytes) -> bool:
    deep: BoolArray = np.zeros(1, np.bool_)
    mark_deep(np.frombuffer(body, np.uint8), np.array([len(body)]), DEEPEST, deep)
    return bool(deep[0])


def _malformed(message: str) -> RequestError:
    return RequestError(400, "malformed", message)
