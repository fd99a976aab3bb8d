"""A Redis of our own: at a port that was free, with a folder that is thrown away."""

from __future__ import annotations

import itertools
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["RedisServer", "find_redis", "free_port", "wait_until"]

_DEADLINE = 30.0


def find_redis() -> str | None:
    """The program, if there is one."""
    return shutil.which("redis-server") or shutil.which("valkey-server")


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def wait_until(condition: Callable[[], bool]) -> None:
    """Ask until it is so, for as long as a busy machine may take."""
    until = time.monotonic() + _DEADLINE
    while not condition():
        assert time.monotonic() < until, "it does not come about"
        time.sleep(0.01)


class RedisServer:
    """A running Redis, or one that was killed; `options` are those of its command line."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder, self._options = folder, options
        self.port = free_port()
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        program = find_redis()
        assert program is not None
        fixed = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder), "--save", ""]
        self._process = subprocess.Popen([program, *fixed, *self._options], stdout=subprocess.DEVNULL)
        wait_until(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"Redis ended with {self._process.returncode}"
        try:
            return self.ask("PING").startswith(b"+PONG")
        except OSError:
            return False

    def ask(self, *words: str | bytes) -> bytes:
        """One command, on a connection of its own; the first part of the answer, as it is sent."""
        raw = [word.encode() if isinstance(word, str) else word for word in words]
        with socket.create_connection(("127.0.0.1", self.port), timeout=_DEADLINE) as connection:
            connection.sendall(b"*%d\r\n" % len(raw) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in raw))
            return connection.recv(1 << 16)

    def kill(self) -> None:
        """End it as a power failure does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def address(self, name: str | None = None, **more: str) -> str:
        """The address of an index, by default of one that nobody has."""
        asked = {"name": name or f"index{next(self._numbers)}"} | more
        return f"redis://127.0.0.1:{self.port}/0?" + "&".join(f"{key}={value}" for key, value in asked.items())
