"""Streams of lines (NDJSON): a line in, a line out, in the same order, for as long as the client likes.

Lines that have arrived are worked on together, and nothing more is read until their answers are sent: a client that
does not read its answers is not read from either, so that no more than a few lines are ever held.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from lookalike.server.operations import failed_outcome
from lookalike.server.request_body import ClientGoneError, Receive, next_chunk, parsed
from lookalike.server.request_error import RequestError
from lookalike.server.service import Many, Service
from lookalike.server.wire import NDJSON_TYPE, encoded

__all__ = ["Send", "stream"]

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# Lines that are worked on together: a sync for each of them, and little to hold.
_TOGETHER = 500
_HEADERS = [(b"content-type", NDJSON_TYPE.encode()), (b"cache-control", b"no-store")]


async def stream(service: Service, what: Many, receive: Receive, send: Send) -> None:
    """Answer each line of a body as it comes."""
    seconds, longest = service.limits.request_time, service.limits.max_body
    rest, more = b"", True
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    try:
        while more:
            chunk, more = await _next(service, receive, seconds)
            lines, rest = _whole_lines(rest + chunk, more)
            if len(rest) > longest:
                raise RequestError(413, "too-large", f"a line has more than {longest:,} bytes")
            for some in _some(lines):
                await _send(send, await _answers(service, what, some), seconds)
    except RequestError as error:
        await _send(send, encoded(error.to_json()) + b"\n", seconds)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _next(service: Service, receive: Receive, seconds: float) -> tuple[bytes, bool]:
    """The next part of the body, unless the server is to end first."""
    coming = asyncio.ensure_future(next_chunk(receive, seconds))
    closing = asyncio.ensure_future(service.closing.wait())
    try:
        await asyncio.wait({coming, closing}, return_when=asyncio.FIRST_COMPLETED)
        if not coming.done():
            raise RequestError(503, "closing", "the server is shutting down: the lines after this were not read")
        return coming.result()
    finally:
        coming.cancel()
        closing.cancel()


def _whole_lines(data: bytes, more: bool) -> tuple[list[bytes], bytes]:
    *lines, rest = data.split(b"\n")
    if not more:
        lines, rest = [*lines, rest], b""
    return [line for line in lines if line.strip()], rest


def _some(lines: list[bytes]) -> Iterator[list[bytes]]:
    for begin in range(0, len(lines), _TOGETHER):
        yield lines[begin : begin + _TOGETHER]


async def _answers(service: Service, what: Many, lines: list[bytes]) -> bytes:
    """The lines of the answers to these lines."""
    told: list[Any] = []
    wrong: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines):
        try:
            told.append(parsed(line))
        except RequestError as error:
            wrong[number] = {"error": failed_outcome(error)["error"]}
    right = iter(await service.many(what, told))
    return b"".join(
        encoded(wrong[number] if number in wrong else next(right)) + b"\n" for number in range(len(lines))
    )  # fmt: skip


async def _send(send: Send, body: bytes, seconds: float) -> None:
    """Hand answers over; a client that does not take them for too long is given up."""
    try:
        async with asyncio.timeout(seconds):
            await send({"type": "http.response.body", "body": body, "more_body": True})
    except TimeoutError:
        raise ClientGoneError from None
