"""The sockets that the server listens at, made before any process is started.

Several processes that share one socket would each take all connections that wait, whoever wakes first, and one of them
would do most of the work. So each has a socket of its own at the same port, and the system deals connections out.
"""

from __future__ import annotations

import socket
from typing import Any

from lookalike.errors import OptionError, OutputError

__all__ = ["address_of_server", "listen"]

_BACKLOG = 2048


def listen(host: str, port: int, count: int) -> list[socket.socket]:
    """So many sockets that listen at one port; port 0 is one that the system chooses."""
    try:
        address: Any
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise OptionError(f"host is {host!r}: it is no name or address of this machine ({error})") from None
    found: list[socket.socket] = []
    try:
        if count > 1 and port:
            # Sockets that share a port share it with those of another server of the same user, without a word.
            _bound(family, address, shared=False).close()
        for _ in range(count):
            found.append(_bound(family, address, shared=count > 1))
            address = (address[0], found[0].getsockname()[1], *address[2:])
    except OSError as error:
        for each in found:
            each.close()
        raise OutputError(f"cannot listen at {host} port {port}: {error.strerror}") from None
    for each in found:
        each.listen(_BACKLOG)
    return found


def address_of_server(listening: socket.socket) -> str:
    """Where a browser finds the server."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bound(family: int, address: Any, *, shared: bool) -> socket.socket:
    # By its name: of another protocol than TCP, asyncio does not have small answers sent at once, and they take 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made
