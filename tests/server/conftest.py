"""A real server in processes of its own, at a port that the system chooses."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

import lookalike

LOOKALIKE = [sys.executable, "-m", "lookalike.cli.main"]
WRITE, READ = "write-token-1", "read-token-1"

TEXTS: dict[str | int, str] = {
    "cat": "the cat sat on the mat and looked at the dog for a while",
    "fox": "a quick brown fox jumps over the lazy dog every single day",
    7: "seven is the number of this text which has words like others",
}


@dataclass(frozen=True, slots=True)
class Told:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error, whose body has nothing beside code and message."""
        assert list(self.json) == ["error"]
        assert sorted(self.json["error"]) == ["code", "message"]
        assert "Traceback" not in self.json["error"]["message"]
        return str(self.json["error"]["code"])


class Server:
    """A running server."""

    def __init__(self, path: Path | str, *options: str) -> None:
        self.path = path
        self.process = subprocess.Popen(
            [*LOOKALIKE, "serve", str(path), "--port", "0", *options],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONWARNINGS": "error"},
        )
        assert self.process.stderr is not None
        self.stderr: IO[str] = self.process.stderr
        said = ""
        while not (found := re.search(r"at (http://127\.0\.0\.1:(\d+))", said)):
            said = self.stderr.readline()
            assert said, f"the server ended with {self.process.wait()}"
        self.said, self.address, self.port = said, found[1], int(found[2])

    def ask(self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str) -> Told:
        """One request on a connection of its own; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            given.setdefault("content-type", "application/json")
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        with contextlib.closing(connection):
            connection.request(method, path, data, given)
            answer = connection.getresponse()
            return Told(answer.status, dict(answer.getheaders()), answer.read())

    def metric(self, name: str) -> int:
        """One number of /metrics."""
        found = re.search(rf"^{re.escape(name)} (\d+)$", self.ask("GET", "/metrics").body.decode(), re.MULTILINE)
        assert found is not None, name
        return int(found[1])

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code."""
        self.process.send_signal(how)
        return self.process.wait(timeout=60)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.stderr.close()


@contextlib.contextmanager
def serving(path: Path | str, *options: str) -> Iterator[Server]:
    """A server of the index at a path."""
    server = Server(path, *options)
    try:
        yield server
    finally:
        server.close()


def make_index(path: Path) -> Path:
    """An index of three texts."""
    with lookalike.Index.create(path, threshold=0.6) as index:
        for name, text in TEXTS.items():
            index.add(name, text, {"text": text})
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all tests of a module, with small limits; a test uses ids of its own."""
    path = make_index(tmp_path_factory.mktemp("served") / "seen.idx")
    limits = ["--max-body", "100000", "--max-item", "50000", "--max-batch", "50", "--request-time", "1"]
    with serving(path, *limits) as started:
        yield started
        assert started.end() == 0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with tokens."""
    folder = tmp_path_factory.mktemp("guarded")
    with serving(make_index(folder / "seen.idx"), "--token-file", str(token_file(folder))) as started:
        yield started


def token_file(folder: Path) -> Path:
    path = folder / "tokens"
    path.touch(mode=0o600)
    path.write_text(f"# who may what\n\nread {READ}\nwrite {WRITE}\n")
    return path
