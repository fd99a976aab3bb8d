"""What the server does, apart from HTTP: bytes of JSON in, bytes of JSON out.

A query of a text takes less than a tenth of a millisecond, and is done where it arrives; handing it to a thread would
take as long. Large ones and batches go to threads, so that others need not wait for them, and so does everything where
the index is elsewhere and its answer has to be waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from lookalike import __version__
from lookalike.errors import UnavailableError
from lookalike.index.answers import Answer
from lookalike.index.index import Index
from lookalike.server.asked import (
    AskedNearest,
    AskedQuery,
    Operation,
    asked_nearest,
    asked_operation,
    asked_query,
    check_form,
    check_id,
    check_threshold,
)
from lookalike.server.metrics import Metrics
from lookalike.server.operations import ItemWrites, failed_outcome, not_found, outcome_error
from lookalike.server.request_body import parsed
from lookalike.server.request_error import RequestError
from lookalike.server.serve_settings import RequestLimits
from lookalike.server.wire import answer_to_json, encoded

__all__ = ["Many", "Service"]

# What can be asked for many items at once.
Many = Literal["query", "seen", "add", "replace"]

# Bytes of a body from which on its query is done by a thread: about a millisecond of work.
_LARGE = 20_000
_THREADS = 2
# Where most of the time is waiting.
_THREADS_IF_SHARED = 8


class Service:
    """An index, whoever writes to it, and the limits of what may be asked."""

    def __init__(self, index: Index, writes: ItemWrites, limits: RequestLimits, metrics: Metrics) -> None:
        self._index, self.writes, self.limits, self.metrics = index, writes, limits, metrics
        self._threads = ThreadPoolExecutor(_THREADS_IF_SHARED if index.is_shared else _THREADS, "lookalike-query")
        # Set when the server is to end: streams stop where they are.
        self.closing = asyncio.Event()

    async def close(self) -> None:
        """Finish what was begun."""
        await self.writes.close()
        self._threads.shutdown()

    async def query(self, body: bytes) -> bytes:
        """The matches of an item."""
        asked = asked_query(parsed(body), self.limits.max_item)
        if len(body) > _LARGE or self._index.is_shared:
            return encoded(await self._in_thread(self._answer, asked))
        return encoded(self._answer(asked))

    async def nearest(self, body: bytes) -> bytes:
        """The items that are most like one; by a thread, since it may have to look at all."""
        asked = asked_nearest(parsed(body), self.limits.max_item)
        return encoded(await self._in_thread(self._nearest, asked))

    async def seen(self, body: bytes) -> bytes:
        """The first match of an item, which is added if there is none."""
        return await self._write(asked_operation("seen", parsed(body), self.limits.max_item))

    async def put(self, id: str | int, body: bytes, *, replace: bool) -> bytes:
        """Store an item."""
        told = parsed(body)
        return await self._write(
            asked_operation("replace" if replace else "add", told, self.limits.max_item, check_id(id))
        )

    async def remove(self, id: str | int) -> bytes:
        """Remove an item."""
        return await self._write(Operation("remove", check_id(id)))

    async def get(self, id: str | int) -> bytes:
        """An item's payload."""
        try:
            payload = await self._looked_up(self._index.get, check_id(id))
        except KeyError:
            raise not_found(id) from None
        return encoded({"id": id, "payload": payload})

    async def batch(self, what: Many, body: bytes) -> bytes:
        """Many of one kind: {"items": […]} to {"results": […]}, each of which may be an error."""
        told = parsed(body)
        if type(told) is not dict or list(told) != ["items"] or type(told["items"]) is not list:
            raise RequestError(400, "malformed", 'an object with "items", a list, is needed')
        if len(told["items"]) > self.limits.max_batch:
            raise RequestError(413, "too-large", f"a batch has at most {self.limits.max_batch:,} items")
        return encoded({"results": await self.many(what, told["items"])})

    async def many(self, what: Many, told: Sequence[Any]) -> list[dict[str, Any]]:
        """An outcome for each of many requests; one that is wrong does not keep the others from being done."""
        if what == "query":
            queries = [_or_error(asked_query, each, self.limits.max_item) for each in told]
            answers: list[dict[str, Any]] = await self._in_thread(self._answers, queries)
            return answers
        asked = [_or_error(asked_operation, what, each, self.limits.max_item) for each in told]
        good = [each for each in asked if isinstance(each, Operation)]
        outcomes = iter(await self.writes.write(good) if good else [])
        return [_line(next(outcomes) if isinstance(each, Operation) else each) for each in asked]

    async def stats(self) -> dict[str, Any]:
        """What the index is and takes."""
        return {**await self._looked_up(self._index.stats), "version": __version__}

    async def metrics_text(self) -> str:
        """Counters for Prometheus, which are told without the number of items where that cannot be asked for."""
        try:
            return self.metrics.text(await self._looked_up(self._index.__len__))
        except UnavailableError:
            return self.metrics.text(None)

    async def check(self) -> None:
        """Raise what a request would meet."""
        self.writes.check()
        await self._looked_up(self._index.check)

    async def _write(self, operation: Operation) -> bytes:
        (outcome,) = await self.writes.write([operation])
        error = outcome_error(outcome)
        if error is not None:
            raise error
        return encoded(outcome)

    def _answer(self, asked: AskedQuery) -> dict[str, Any]:
        recipe = self._index.recipe
        if recipe is None:
            # What the first query is says nothing of what the items will be.
            return answer_to_json(Answer())
        check_form(recipe, asked.item)
        check_threshold(recipe, asked.threshold)
        return answer_to_json(self._index.query(*asked))

    def _nearest(self, asked: AskedNearest) -> dict[str, Any]:
        recipe = self._index.recipe
        if recipe is None:
            return answer_to_json(Answer(recall=1.0))
        check_form(recipe, asked.item)
        check_threshold(recipe, asked.threshold)
        return answer_to_json(
            self._index.nearest(
                asked.item, asked.k, asked.threshold, recall=asked.recall, examine=self.limits.max_examined
            )
        )

    def _answers(self, queries: list[Any]) -> list[dict[str, Any]]:
        return [
            _line(_or_error(self._answer, each) if isinstance(each, AskedQuery) else each) for each in queries
        ]  # fmt: skip

    async def _looked_up(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the index tells, without others waiting for it where it is elsewhere."""
        return await self._in_thread(function, *arguments) if self._index.is_shared else function(*arguments)

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)


def _or_error(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, or the outcome that tells why not."""
    try:
        return function(*arguments)
    except Exception as error:
        return failed_outcome(error)


def _line(outcome: dict[str, Any]) -> dict[str, Any]:
    """An outcome among many: the status of an error is that of a whole answer, and has no place there."""
    return {"error": outcome["error"]} if "error" in outcome else outcome
