"""Threads share the wait for the disk, and none goes on before its own writes are there."""

from __future__ import annotations

import threading

import pytest

from lookalike.index.group_sync import GroupSync


class Disk:
    """What was written reaches it when it is told to; `gate` holds it up."""

    def __init__(self) -> None:
        self.syncs, self.safe = 0, 0
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()
        self.group = GroupSync(self.sync)

    def sync(self) -> int:
        upto = self.group.written
        self.begun.set()
        assert self.gate.wait(60)
        self.syncs, self.safe = self.syncs + 1, upto
        return upto


def test_a_thread_that_is_alone_syncs_once_for_each_write() -> None:
    disk = Disk()
    for number in range(1, 6):
        disk.group.written += 1
        disk.group.wait(number)
        assert (disk.syncs, disk.safe) == (number, number)
    disk.group.wait(3)
    assert disk.syncs == 5


def test_those_who_come_meanwhile_share_the_next_one() -> None:
    disk, done = Disk(), []
    disk.gate.clear()

    def write(number: int) -> None:
        disk.group.wait(number)
        assert disk.safe >= number
        done.append(number)

    disk.group.written = 1
    first = threading.Thread(target=write, args=[1])
    first.start()
    assert disk.begun.wait(60)
    # Whatever is written while the first sync lasts is not in it.
    others = []
    for number in range(2, 12):
        disk.group.written = number
        others.append(threading.Thread(target=write, args=[number]))
        others[-1].start()
    assert disk.group.is_busy
    assert not done
    disk.gate.set()
    for thread in (first, *others):
        thread.join(60)
    assert sorted(done) == list(range(1, 12))
    assert disk.syncs == 2
    assert not disk.group.is_busy


def test_a_sync_that_fails_is_told_to_all_who_wait() -> None:
    """Whoever waits tries for himself, and is told as well."""
    begun, gate = threading.Event(), threading.Event()

    def broken() -> int:
        begun.set()
        assert gate.wait(60)
        raise OSError("the disk is gone")

    group, told = GroupSync(broken), []

    def write(number: int) -> None:
        with pytest.raises(OSError, match="the disk is gone"):
            group.wait(number)
        told.append(number)

    group.written = 3
    threads = [threading.Thread(target=write, args=[number]) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    gate.set()
    for thread in threads:
        thread.join(60)
    assert sorted(told) == [1, 2, 3]
    assert not group.is_busy
