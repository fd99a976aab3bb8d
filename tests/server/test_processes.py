"""What only whole servers show: several processes, their ends, and what is left of their index."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import lookalike
from lookalike import Client, LookalikeError
from tests.server.conftest import LOOKALIKE, TEXTS, Server, make_index, serving


def children_of(server: Server) -> list[int]:
    """The process that writes, and then the workers."""
    pid = server.process.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def text_of(number: int) -> str:
    return f"text number {number} has words such as w{number} x{number} y{number} z{number} of its own"


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_what_was_accepted_is_finished_before_the_end(tmp_path: Path, workers: str, how: signal.Signals) -> None:
    path = make_index(tmp_path / "seen.idx")
    with serving(path, "--workers", workers) as server:
        body = b'{"id": "last", "item": "the last text that came before the end of the server"}'
        head = f"POST /v1/seen HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
        with (
            socket.create_connection(("127.0.0.1", server.port)) as idle,
            socket.create_connection(("127.0.0.1", server.port), timeout=30) as busy,
        ):
            busy.sendall(f"{head}content-type: application/json\r\nexpect: 100-continue\r\n\r\n".encode())
            assert busy.recv(1000).startswith(b"HTTP/1.1 100 ")  # it has begun to read the body
            server.process.send_signal(how)
            # The end has begun when a connection that does nothing is closed.
            assert idle.recv(1000) == b""
            busy.sendall(body)
            answer = b""
            while more := busy.recv(10_000):
                answer += more
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b'"added":true' in answer
        assert server.process.wait(timeout=60) == 0
        assert server.stderr.read() == ""
    with lookalike.Index.open(path) as index:
        assert "last" in index


def test_a_stream_is_told_that_the_server_ends(tmp_path: Path) -> None:
    with serving(make_index(tmp_path / "seen.idx")) as server:
        head = b"POST /v1/query/batch HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as stream:
            stream.sendall(head + b"transfer-encoding: chunked\r\n\r\n")
            assert stream.recv(1000).startswith(b"HTTP/1.1 200 ")
            server.process.send_signal(signal.SIGTERM)
            told = b""
            while more := stream.recv(1000):
                told += more
        assert b'"code":"closing"' in told
        assert server.process.wait(timeout=60) == 0


def test_every_worker_sees_what_was_written_through_any(tmp_path: Path) -> None:
    path = tmp_path / "empty.idx"
    lookalike.Index.create(path, threshold=0.6).close()
    with serving(path, "--workers", "2") as server:
        # A query of another kind before the first item decides nothing.
        for _ in range(8):
            assert server.ask("POST", "/v1/query", {"item": [1.5, 2.5]}).json["matches"] == []
        for number in range(30):
            assert server.ask("POST", "/v1/seen", {"id": number, "item": text_of(number)}).json["added"] is True
            # Each on a connection of its own, so that both workers are asked.
            for _ in range(4):
                found = server.ask("POST", "/v1/query", {"item": text_of(number), "k": 1}).json["matches"]
                assert [each["id"] for each in found] == [number]
        assert server.ask("DELETE", "/v1/items/int:3").status == 200
        for _ in range(8):
            assert server.ask("GET", "/v1/items/int:3").status == 404
        assert server.metric("lookalike_items") == 29
        assert server.metric("lookalike_acknowledged_writes_total") == 31
        # Whichever worker is asked, the counters are those of all.
        counted = 'lookalike_requests_total{method="POST",route="/v1/seen",status="200"}'
        assert {server.metric(counted) for _ in range(8)} == {30}
        assert server.end() == 0


class Load:
    """Threads that add items until they cannot, and remember which were acknowledged."""

    def __init__(self, server: Server, first: int, threads: int = 4) -> None:
        self.acknowledged: list[int] = []
        self.reached = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(server.address, first + 100_000 * number))
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, address: str, number: int) -> None:
        with contextlib.suppress(LookalikeError), Client(address) as index:
            while True:
                index.add(number, text_of(number))
                self.acknowledged.append(number)
                if len(self.acknowledged) > 100:
                    self.reached.set()
                number += 1

    def wait(self) -> None:
        assert self.reached.wait(60)

    def end(self) -> list[int]:
        for thread in self._threads:
            thread.join(60)
        return self.acknowledged


@pytest.mark.parametrize("victim", ["alone", "writer", "worker", "parent"])
def test_nothing_that_was_acknowledged_is_lost_by_a_kill(tmp_path: Path, victim: str) -> None:
    path = make_index(tmp_path / "seen.idx")
    known: list[int] = []
    for turn in range(3 if victim == "alone" else 1):
        with serving(path, "--workers", "1" if victim == "alone" else "2") as server:
            load = Load(server, 1_000_000 * turn)
            load.wait()
            others = children_of(server)
            ends = [os.pidfd_open(each) for each in others]
            chosen = {"writer": 0, "worker": 1}
            os.kill(others[chosen[victim]] if victim in chosen else server.process.pid, signal.SIGKILL)
            code = server.process.wait(timeout=60)
            known += load.end()
            if victim in chosen:
                name = "the process that writes" if victim == "writer" else "worker 1"
                assert code == 1
                assert f"{name} (process {others[chosen[victim]]}) was ended by SIGKILL" in server.stderr.read()
            for end in ends:
                # Nobody is left behind, whoever was killed.
                assert select.select([end], [], [], 60)[0]
                os.close(end)
        with lookalike.Index.open(path, wait=10) as index:
            assert [number for number in known if number not in index] == []
            assert index.query(text_of(known[-1]), k=1)[0].id == known[-1]


COUNTERS = ("syncs", "acknowledged_writes")


def test_writes_under_load_share_syncs(tmp_path: Path) -> None:
    with serving(make_index(tmp_path / "seen.idx"), "--workers", "2") as server:
        load = Load(server, 0, threads=8)
        load.wait()
        told = server.ask("GET", "/metrics").body.decode()
        assert server.end() == 0
        assert len(load.end()) > 100
    syncs, writes = (int(told.split(f"\nlookalike_{name}_total ")[1].split()[0]) for name in COUNTERS)
    assert 0 < syncs < writes


def test_the_socket_of_the_writer_lies_in_a_folder_of_its_user_alone(tmp_path: Path) -> None:
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(tmp_path)
    try:
        with serving(make_index(tmp_path / "seen.idx"), "--workers", "2") as server:
            (private,) = tmp_path.glob("lookalike-serve-*")
            assert private.stat().st_mode & 0o777 == 0o700
            assert server.end() == 0
            assert not private.exists()
    finally:
        os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)


def test_an_index_that_is_not_there_is_one_line_whoever_opens_it(tmp_path: Path) -> None:
    for workers in ("1", "2"):
        command: list[Any] = [*LOOKALIKE, "serve", tmp_path / "no.idx", "--port", "0", "--workers", workers]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"lookalike: there is no index at {tmp_path}/no.idx")
        assert done.stderr.count("\n") == 1


def test_without_the_libraries_of_the_server_the_extra_is_named(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['uvicorn'] = None; sys.argv[0] = 'lookalike'\n"
    program = hidden + "from lookalike.cli.main import main; main()"
    command: list[Any] = [sys.executable, "-c", program, "serve", tmp_path / "no.idx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "lookalike: the server needs starlette and uvicorn: pip install 'lookalike[web]'\n"


def test_a_secret_seed_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = 2**100 + 1
    with lookalike.Index.create(tmp_path / "secret.idx", seed=seed) as index:
        index.add("cat", TEXTS["cat"])
    monkeypatch.setenv("LOOKALIKE_SEED", str(seed))
    with serving(tmp_path / "secret.idx", "--workers", "2") as server:
        assert server.ask("POST", "/v1/query", {"item": TEXTS["cat"]}).json["matches"][0]["id"] == "cat"
        assert server.end() == 0


def test_workers_keep_up_while_the_writer_changes_its_files(tmp_path: Path) -> None:
    """Some thousand items are several tables that fill, become segments, are merged and dropped."""
    path = make_index(tmp_path / "seen.idx")
    missed: list[int] = []

    def run(address: str, first: int) -> None:
        with Client(address) as adding, Client(address) as asking, Client(address) as another:
            for begin in range(first, first + 1_000, 100):
                adding.add_many([(number, text_of(number)) for number in range(begin, begin + 100)])
                for number in range(begin, begin + 100, 9):
                    index = asking if number % 2 else another
                    missed.extend([] if number in index and index.query(text_of(number), k=1) else [number])

    with serving(path, "--workers", "2") as server:
        threads = [threading.Thread(target=run, args=(server.address, 10_000 * number)) for number in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert missed == []
        assert server.metric("lookalike_items") == 3_000 + len(TEXTS)
        assert server.end() == 0
        assert server.stderr.read() == ""
