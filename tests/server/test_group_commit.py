"""Writes share the wait for the disk, and are answered only after it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from lookalike import Index
from lookalike.errors import OutputError
from lookalike.index.index_folder import FolderMedium
from lookalike.server.asked import Operation
from lookalike.server.group_commit import GroupCommit
from lookalike.server.metrics import Metrics
from lookalike.server.request_error import RequestError


def adding(number: int) -> Operation:
    return Operation("add", f"id {number}", f"text number {number} with some words that are only its own w{number}")


class SlowDisk:
    """Every sync of a volume waits until it is let through, and is counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.syncs = 0
        self.begun, self.through = threading.Semaphore(0), threading.Semaphore(0)
        sync = FolderMedium.sync

        def slow(medium: FolderMedium, name: str) -> None:
            if name.startswith("volume"):
                self.syncs += 1
                self.begun.release()
                self.through.acquire()
            sync(medium, name)

        monkeypatch.setattr(FolderMedium, "sync", slow)


def test_what_comes_during_a_sync_shares_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics()

    async def run(index: Index, disk: SlowDisk) -> None:
        writes = GroupCommit(index, metrics)
        first = asyncio.create_task(writes.write([adding(0)]))
        await asyncio.to_thread(disk.begun.acquire)
        others = [asyncio.create_task(writes.write([adding(number)])) for number in range(1, 101)]
        await asyncio.sleep(0)
        assert not first.done()
        disk.through.release()
        assert await first == [{"stored": True}]
        await asyncio.to_thread(disk.begun.acquire)
        assert not any(each.done() for each in others)
        disk.through.release()
        assert await asyncio.gather(*others) == [[{"stored": True}]] * 100
        await writes.close()

    with Index.create(tmp_path / "a.idx") as index:
        index.add("first", "the first text of the index")
        disk = SlowDisk(monkeypatch)
        asyncio.run(run(index, disk))
        assert disk.syncs == 2
        assert len(index) == 102
        disk.through.release(10)
    assert "lookalike_syncs_total 2\n" in metrics.text(0)
    assert "lookalike_acknowledged_writes_total 101\n" in metrics.text(0)


def test_a_disk_that_fails_is_told_to_all_that_waited_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(index: Index) -> list[Any]:
        writes = GroupCommit(index, Metrics())
        writes.check()
        outcomes = await asyncio.gather(*(writes.write([adding(number)]) for number in range(3)))
        again = await writes.write([adding(9), Operation("remove", "nobody")])
        with pytest.raises(RequestError, match="disk is full"):
            writes.check()
        await writes.close()
        return [*outcomes, again]

    def full(medium: FolderMedium, name: str) -> None:
        raise OutputError("the disk is full")

    with Index.create(tmp_path / "a.idx") as index:
        index.add("first", "the first text of the index")
        monkeypatch.setattr(FolderMedium, "sync", full)
        *outcomes, again = asyncio.run(run(index))
    for (outcome,) in outcomes:
        assert (outcome["status"], outcome["error"]["code"]) == (503, "storage")
    assert [each["status"] for each in again] == [503, 503]


def test_a_fault_of_our_own_is_told_without_its_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Index):
        def replace(self, id: str | int, item: Any, payload: Any = None) -> None:
            raise RuntimeError("secret words")

    async def run(index: Index) -> list[dict[str, Any]]:
        writes = GroupCommit(index, Metrics())
        outcomes = await writes.write([adding(0)._replace(verb="replace"), adding(1)])
        await writes.close()
        return outcomes

    with Broken.create(tmp_path / "a.idx") as index:
        failed, stored = asyncio.run(run(index))
    assert (failed["status"], failed["error"]["code"]) == (500, "internal")
    assert "secret" not in failed["error"]["message"]
    assert "secret words" in caplog.text
    assert stored == {"stored": True}
