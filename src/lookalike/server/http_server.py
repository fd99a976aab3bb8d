"""A service behind one socket, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lookalike.errors import ExtraError

if TYPE_CHECKING:
    from lookalike.server.access import Access
    from lookalike.server.service import Service

__all__ = ["check_installed", "serve_socket"]

# Seconds that a connection without a request is kept: longer than most proxies do, so that they close it and not we.
_KEEP_ALIVE = 75


def check_installed() -> None:
    """Refuse to go on without what the server is made of."""
    try:
        import starlette
        import uvicorn  # noqa: F401

        assert starlette
    except ImportError:
        raise ExtraError("the server needs starlette and uvicorn: pip install 'lookalike[web]'") from None


async def serve_socket(service: Service, access: Access, listening: socket.socket, stop: asyncio.Event) -> None:
    """Answer requests until `stop` is set; then finish those that were accepted."""
    import uvicorn

    from lookalike.server.application import Application

    class WithoutSignals(uvicorn.Server):
        """Leaves signals to us: the processes of a server end in an order."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    config = uvicorn.Config(
        Application(service, access), lifespan="off", ws="none", log_config=None, log_level="error", access_log=False,
        server_header=False, proxy_headers=False, timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, round(service.limits.request_time)),
    )  # fmt: skip
    server = WithoutSignals(config)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    service.closing.set()
    server.should_exit = True
    await running
