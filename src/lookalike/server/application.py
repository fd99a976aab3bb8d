"""The ASGI application: from an HTTP request to an answer, a count of it, and never a traceback.

What is asked a thousand times a second, the calls with a body at a fixed address, goes straight from here to the
service: Starlette's routing and its objects for requests and answers took a third of the time of a query. All else goes
through Starlette's router.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, Router

from lookalike.errors import InputError
from lookalike.server.access import Access
from lookalike.server.endpoints import ENDPOINTS, Endpoint
from lookalike.server.openapi import openapi_document
from lookalike.server.pages import describing_page, trying_page
from lookalike.server.request_body import ClientGoneError, Receive, media_type, read_body
from lookalike.server.request_error import RequestError, failure_of
from lookalike.server.service import Many, Service
from lookalike.server.streams import Send, stream
from lookalike.server.wire import ITEMS_PATH, JSON_TYPE, NDJSON_TYPE, encoded, id_from_path

__all__ = ["Application"]

_JSON_HEADER = (b"content-type", JSON_TYPE.encode())
_ROUTE = "lookalike.route"
_Headers = Mapping[bytes, bytes]
_Handler = Callable[[Request], Awaitable[Response]]


class Application:
    """All addresses of one service."""

    def __init__(self, service: Service, access: Access) -> None:
        self._service, self._access = service, access
        self._direct: dict[str, Callable[[bytes], Awaitable[bytes]]] = {
            "/v1/query": service.query,
            "/v1/nearest": service.nearest,
            "/v1/seen": service.seen,
        }
        self._endpoints = {each.path: each for each in ENDPOINTS if each.method == "POST"}
        routed: dict[str, dict[str, _Handler]] = {
            "/v1/items/{id}": {"GET": self._get, "PUT": self._put, "DELETE": self._remove},
            "/v1/stats": {"GET": self._stats},
            "/metrics": {"GET": self._metrics},
            "/healthz": {"GET": self._health},
            "/readyz": {"GET": self._ready},
            "/openapi.json": {"GET": self._openapi},
            "/docs": {"GET": self._docs},
            "/": {"GET": self._page},
        }
        self._router = Router([self._route(path, each) for path, each in routed.items()], redirect_slashes=False)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            # WebSockets: uvicorn answers 403 to what is not accepted.
            return
        begun = time.perf_counter()
        counting = _Counting(send)
        try:
            endpoint = self._endpoints.get(scope["path"])
            if endpoint is not None and scope["method"] == "POST":
                scope[_ROUTE] = ("POST", endpoint.path)
                await self._call(endpoint, scope, receive, counting)
            elif endpoint is not None and not endpoint.path.startswith(ITEMS_PATH):
                raise HTTPException(405, headers={"allow": "POST"})
            else:
                scope["app"] = self
                await self._router(scope, receive, counting)
        except ClientGoneError:
            return
        except Exception as error:
            if counting.status:
                # Half of an answer is out; without its end the client knows that it is none.
                raise
            failure = _of_starlette(error) if isinstance(error, HTTPException) else failure_of(error)
            headers = [_JSON_HEADER, *((name.encode(), value.encode()) for name, value in failure.headers.items())]
            await _answer(counting, failure.status, encoded(failure.to_json()), headers)
        finally:
            route = scope.get(_ROUTE, ("other", "other"))
            if counting.status:
                self._service.metrics.answered(route, counting.status, time.perf_counter() - begun)

    async def _call(self, endpoint: Endpoint, scope: Any, receive: Receive, send: Send) -> None:
        """A call with a body, at a fixed address."""
        headers: _Headers = dict(scope["headers"])
        self._access.check(headers, endpoint.needs)
        kind = media_type(headers)
        direct = self._direct.get(endpoint.path)
        if direct is not None:
            _refuse_lines(kind)
            body = await direct(await read_body(headers, receive, self._service.limits))
        else:
            what = _many(endpoint.path, scope)
            if kind == NDJSON_TYPE:
                await stream(self._service, what, receive, send)
                return
            body = await self._service.batch(what, await read_body(headers, receive, self._service.limits))
        await _answer(send, 200, body, [_JSON_HEADER])

    def _route(self, path: str, handlers: dict[str, _Handler]) -> Route:
        needs = {each.method: each.needs for each in ENDPOINTS if each.path == path}

        async def guarded(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            request.scope[_ROUTE] = (method, path)
            self._access.check(dict(request.scope["headers"]), needs[method])
            return await handlers[method](request)

        # The id is taken from the address as it was sent, where %2F is no slash.
        return Route(path.replace("{id}", "{id:path}"), guarded, methods=list(handlers))

    async def _get(self, request: Request) -> Response:
        return _json(await self._service.get(_id_of(request)))

    async def _put(self, request: Request) -> Response:
        headers = dict(request.scope["headers"])
        _refuse_lines(media_type(headers))
        replace = _replaces(request.scope)
        body = await read_body(headers, request.receive, self._service.limits)
        return _json(await self._service.put(_id_of(request), body, replace=replace))

    async def _remove(self, request: Request) -> Response:
        return _json(await self._service.remove(_id_of(request)))

    async def _stats(self, request: Request) -> Response:
        return _json(encoded(await self._service.stats()))

    async def _metrics(self, request: Request) -> Response:
        return PlainTextResponse(
            await self._service.metrics_text(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    async def _health(self, request: Request) -> Response:
        return _json(encoded({"status": "ok"}))

    async def _ready(self, request: Request) -> Response:
        if self._service.closing.is_set():
            raise RequestError(503, "closing", "the server is shutting down")
        await self._service.check()
        return _json(encoded({"status": "ok"}))

    async def _openapi(self, request: Request) -> Response:
        return _json(encoded(openapi_document(self._service.limits)))

    async def _docs(self, request: Request) -> Response:
        page, policy = describing_page(self._service.limits)
        return HTMLResponse(page, headers=policy)

    async def _page(self, request: Request) -> Response:
        page, policy = trying_page()
        return HTMLResponse(page, headers=policy)


class _Counting:
    """Hands an answer on, and remembers its status."""

    __slots__ = ("_send", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


def _json(body: bytes) -> Response:
    return Response(body, media_type=JSON_TYPE)


def _refuse_lines(kind: str) -> None:
    if kind == NDJSON_TYPE:
        raise RequestError(415, "media-type", f"lines are taken by the addresses that end in /batch: send {JSON_TYPE}")


def _id_of(request: Request) -> str | int:
    raw: bytes = request.scope["raw_path"].partition(b"?")[0]
    try:
        return id_from_path(raw[len(ITEMS_PATH) :])
    except InputError as error:
        raise RequestError(400, "invalid-id", str(error)) from None


def _many(path: str, scope: Any) -> Many:
    if path.startswith(ITEMS_PATH):
        return "replace" if _replaces(scope) else "add"
    return "query" if path.startswith("/v1/query") else "seen"


def _replaces(scope: Any) -> bool:
    """Whether an item may take the place of another one, as ?replace= says."""
    given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    word = given.pop("replace", ["true"])[-1]
    if given or word not in ("true", "false"):
        raise RequestError(400, "invalid-option", "the address accepts only ?replace=true or ?replace=false")
    return bool(word == "true")


def _of_starlette(error: HTTPException) -> RequestError:
    if error.status_code == 405:
        return RequestError(405, "method", "the address does not accept this method", dict(error.headers or {}))
    return RequestError(error.status_code, "not-found", "unknown address: see /docs")
