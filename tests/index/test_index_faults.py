"""Nothing that was acknowledged is lost, and nothing wrong is returned: kills, damage, full disks, failing disks, and
other processes and threads at the same time.

Tables have 32 items here and volumes 8 kB, so that the index flushes, merges and begins volumes all the time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.index_kill import Truth, check, kills, make_small, start, text_of
from lookalike.errors import InputError, LookalikeError, OutputError
from lookalike.index import Index, log_sizes
from lookalike.index.index_folder import FolderMedium
from lookalike.index.index_log import IndexLog
from lookalike.index.log_store import LogStore
from lookalike.index.recent_table import RecentTable
from lookalike.index.row_codec import RowCodec
from tests.stored_records import log_of

pytestmark = pytest.mark.no_cover

SEED = 20_240
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_in(monkeypatch)


def small_in(patch: pytest.MonkeyPatch, table: int = 32, volume: int = 8192) -> None:
    for name in ("FIRST_TABLE", "LAST_TABLE", "FIRST_VOLUME", "LAST_VOLUME", "LEFT_IN_LOG"):
        patch.setattr(log_sizes, name, getattr(log_sizes, name))
    make_small(table, volume)


def seeded() -> random.Random:
    """Random numbers from the fixed seed, which a test that fails shows."""
    sys.stdout.write(f"seed {SEED}\n")
    return random.Random(SEED)


def filled(folder: Path, items: int, **options: Any) -> Index:
    index = Index.create(folder, threshold=0.8, **options)
    for number in range(items):
        index.add(number, text_of(number), 0)
    return index


def within(seconds: float, work: Callable[[], Any]) -> None:
    """Do something in a thread of its own; an error if it is not done in time."""
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"it did not end in {seconds} s"
    if failures:
        raise failures[0]


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process, which is told things by its standard input and answers line by line."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=ROOT,
    )  # fmt: skip


# Kills.


@pytest.mark.parametrize("mode", ["add", "change"])
def test_what_a_killed_process_acknowledged_is_there(tmp_path: Path, mode: str) -> None:
    assert kills(tmp_path / "index", mode, 6, seeded(), quiet=True) > 100


class Steps:
    """Copies of a folder as a kill would leave it, in front of each call that changes files.

    Since memory that is mapped is what the system has of a file, a copy of the files is what a killed process leaves.
    """

    CALLS = ("fdatasync", "fsync", "posix_fallocate", "ftruncate", "replace", "unlink")

    def __init__(self, folder: Path, copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.copies = folder, copies
        self.store: LogStore | None = None
        self.taken: list[tuple[Path, str, Truth, tuple[str, int, int] | None]] = []
        self.truth: Truth = {}
        self.begun: tuple[str, int, int] | None = None
        for name in self.CALLS:
            monkeypatch.setattr(os, name, self._copying(name, getattr(os, name)))

    def _copying(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def copy_first(*arguments: Any, **options: Any) -> Any:
            if self.store is not None:
                # Nobody appends while the files are copied.
                with self.store._mutex:
                    copy = self.copies / str(len(self.taken))
                    shutil.copytree(self.folder, copy)
                    who = threading.current_thread().name
                    self.taken.append((copy, f"{name} by {who}", dict(self.truth), self.begun))
            return call(*arguments, **options)

        return copy_first


def test_a_kill_at_any_step_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In front of every call that changes a file, while items are added, replaced and removed."""
    rng = seeded()
    index = Index.create(tmp_path / "index", threshold=0.8)
    index.query(text_of(0))
    steps = Steps(tmp_path / "index", tmp_path / "copies", monkeypatch)
    steps.store = log_of(index)
    for number in range(120):
        there = list(steps.truth)
        if number < 40 or rng.random() < 0.4:
            step, action = ("add", number, 0), index.add
        elif rng.random() < 0.7:
            old = rng.choice(there)
            step, action = ("replace", old, steps.truth[old] + 1), index.replace
        else:
            step, action = ("remove", rng.choice(there), 0), index.add
        steps.begun = step
        if step[0] == "remove":
            index.remove(step[1])
            steps.truth = {each: version for each, version in steps.truth.items() if each != step[1]}
        else:
            action(step[1], text_of(*step[1:]), step[2])
            steps.truth = steps.truth | {step[1]: step[2]}
        steps.begun = None
    steps.store = None
    index.close()
    assert {what.split()[0] for _, what, _, _ in steps.taken} == set(Steps.CALLS)
    wrong: dict[str, list[str]] = {}
    for copy, what, truth, begun in steps.taken:
        for readonly in (True, False):
            try:
                with Index.open(copy, readonly=readonly) as again:
                    check(again, truth, begun, 10)
            except (AssertionError, LookalikeError, OSError) as error:
                shape = re.sub(r"\d+", "N", f"{type(error).__name__} {error}".replace(str(tmp_path), ""))[:40]
                kind = f"{'to read' if readonly else 'to write'}, {shape}"
                wrong.setdefault(kind, []).append(f"{copy.name} before {what}, in {begun}: {error}"[:250])
        shutil.rmtree(copy)
    assert not wrong, f"of {len(steps.taken)} kills: " + "\n".join(
        f"{kind}: {len(each)}, first {each[0]}" for kind, each in wrong.items()
    )


def test_the_count_is_right_after_a_kill_of_the_first_to_add(tmp_path: Path) -> None:
    """An index that was closed while it was empty, and then added to."""
    Index.create(tmp_path / "index", threshold=0.8).close()
    code = (
        "import os, signal, sys; from lookalike.index import Index; from lookalike.index.log_store import LogStore\n"
        "LogStore._count = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "Index.open(sys.argv[1]).add('a', 'the cat sat on the mat with a hat')"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "index")]).returncode == -signal.SIGKILL
    with Index.open(tmp_path / "index") as index:
        assert len(index) == len(list(index))


def left_open(tmp_path: Path, more: str = "") -> Path:
    """An index that a process has added to, and ended without closing it."""
    code = (
        "import os, sys; from lookalike.index import Index; from benchmarks.index_kill import make_small, text_of\n"
        "make_small(); index = Index.create(sys.argv[1], threshold=0.8)\n"
        "index.add_many((n, text_of(n), 0) for n in range(200))\n"
        f"{more}\nos._exit(0)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "index")]).returncode == 0
    return tmp_path / "index"


@pytest.mark.parametrize("readonly", [True, False])
def test_items_of_which_none_was_removed_are_counted_without_a_look_at_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readonly: bool
) -> None:
    path = left_open(tmp_path)
    monkeypatch.setattr(LogStore, "_walked", lambda _: pytest.fail("every record was looked at"))
    with Index.open(path, readonly=readonly) as index:
        assert len(index) == len(list(index)) == 200
        if not readonly:
            index.remove(7)
            index.add_many((n, text_of(n), 0) for n in range(200, 300))
            assert len(index) == 299
    with Index.open(path, readonly=readonly) as index:
        assert len(index) == len(list(index)) == (200 if readonly else 299)


@pytest.mark.parametrize("how", ["index.remove(7)", "index.replace(7, text_of(500)); index.remove(8)"])
@pytest.mark.parametrize("readonly", [True, False])
def test_items_of_which_some_were_removed_are_counted_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, readonly: bool
) -> None:
    path = left_open(tmp_path, how)
    walks = _told(monkeypatch, LogStore, "_walked")
    with Index.open(path, readonly=readonly) as index:
        assert len(index) == len(list(index)) == 199
    assert walks == ["_walked"]


def test_that_something_is_removed_is_on_the_disk_before_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power failure the mark of the first removal may be there, and the count must not rely on none."""
    index = filled(tmp_path / "index", 5)
    steps = _told(monkeypatch, FolderMedium, "sync_state")
    _told(monkeypatch, IndexLog, "remove", steps)
    index.remove(1)
    index.remove(2)
    assert steps == ["sync_state", "remove", "remove"]
    index.close()


def _told(patch: pytest.MonkeyPatch, owner: type, name: str, calls: list[str] | None = None) -> list[str]:
    """A list to which the name of a method is put when it is called."""
    told, real = [] if calls is None else calls, getattr(owner, name)

    def call(*given: Any) -> Any:
        told.append(name)
        return real(*given)

    patch.setattr(owner, name, call)
    return told


def test_a_reader_does_not_count_what_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two items with one id, which a crash leaves between adding one and removing the other, it sees the later."""
    index = filled(tmp_path / "index", 5)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LogStore, "_mark_removed", _interrupted)
        index.replace(2, text_of(50), 1)
    shutil.copytree(tmp_path / "index", tmp_path / "left")
    with Index.open(tmp_path / "left", readonly=True) as reader:
        assert len(reader) == len(list(reader)) == 5
        assert reader.get(2) == 1
    with Index.open(tmp_path / "left") as writer:
        assert len(writer) == len(list(writer)) == 5
        assert writer.get(2) == 1
    index.close()


@pytest.mark.parametrize("step", [(RecentTable, "add"), (IndexLog, "append"), (LogStore, "_count")])
def test_a_step_that_was_interrupted_does_not_hide_its_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[type, str]
) -> None:
    """Ctrl-C before, between or after log and table: the item must not be in one of them only."""
    index = filled(tmp_path / "index", 3)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(*step, _interrupted)
        index.add_many([(3, text_of(3), 0)])
    with contextlib.suppress(OutputError):
        for number in range(4, 80):
            index.add(number, text_of(number), 0)
    within(10, index.close)
    with Index.open(tmp_path / "index") as again:
        assert [each for each in again if each not in again] == []
        assert len(again) == len(list(again))


def _interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


# What a power failure leaves: of what was not synced, any pages.


def test_pages_that_were_lost_before_others_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written and not yet synced reaches the disk in any order: none of it was acknowledged."""
    small_in(monkeypatch, 128, 1 << 16)
    with filled(tmp_path / "index", 5) as index:
        synced = log_of(index).log.last.end
        with index.together():
            for number in range(5, 100):
                index.add(number, text_of(number), 0)
            shutil.copytree(tmp_path / "index", tmp_path / "copy")
    lost = slice((synced // 4096 + 1) * 4096, (synced // 4096 + 2) * 4096)
    data = bytearray((tmp_path / "copy" / "volume-0").read_bytes())
    assert any(data[lost])
    data[lost] = bytes(4096)
    (tmp_path / "copy" / "volume-0").write_bytes(data)
    with Index.open(tmp_path / "copy") as again:
        assert set(range(5)) <= set(again)
        check(again, {int(each): 0 for each in again})


def test_a_replacement_is_not_half_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old item is in one volume and the new one in another: the new one must be safe first."""
    index = filled(tmp_path / "index", 70)
    index.compact()
    assert log_of(index).log.last.number > 0
    shutil.copytree(tmp_path / "index", tmp_path / "disk")
    states: list[Path] = []

    def syncing(whole: Callable[[int], None], handle: int) -> None:
        whole(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        shutil.copy(path, tmp_path / "disk" / path.name)
        states.append(tmp_path / f"state-{len(states)}")
        shutil.copytree(tmp_path / "disk", states[-1])

    with monkeypatch.context() as patch:
        for name in ("fdatasync", "fsync"):
            patch.setattr(os, name, partial(syncing, getattr(os, name)))
        index.replace(0, text_of(0, 1), 1)
    index.close()
    assert states
    truth = dict.fromkeys(range(70), 0)
    for state in states:
        with Index.open(state) as again:
            check(again, truth, ("replace", 0, 1))


# Closing.


def test_closing_ends_when_segments_are_due_to_be_merged(tmp_path: Path) -> None:
    for items in (32, 48, 60, 64, 80, 100):
        index = filled(tmp_path / f"index-{items}", items)
        within(20, index.close)


def test_segments_are_not_merged_after_a_write_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest may have half of what was interrupted, and a merge would save it."""
    monkeypatch.setattr(log_sizes, "FIRST_TABLE", 16)
    monkeypatch.setattr(log_sizes, "LAST_TABLE", 16)
    index = Index.create(tmp_path / "seen.idx")
    index.add_many((number, text_of(number)) for number in range(100))
    log = log_of(index)
    log.settle()
    before = log.medium.load()
    log.fail(KeyboardInterrupt())
    with pytest.raises(OutputError, match="could not be written before"):
        log._merge(0, log.view().segments)
    assert log.medium.load() == before
    index.close()
    with Index.open(tmp_path / "seen.idx") as again:
        assert (len(again), len(list(again))) == (100, 100)


def test_a_closed_index_is_not_written(tmp_path: Path) -> None:
    """Its last volume is cut: to write beyond its end would end the process."""
    code = (
        "import sys; from lookalike.index import Index; from benchmarks.index_kill import text_of\n"
        "from lookalike.errors import LookalikeError\n"
        "index = Index.create(sys.argv[1], threshold=0.8, durable=False)\n"
        "index.add(0, text_of(0))\n"
        "index.close()\n"
        "try:\n"
        "    for number in range(1, 200): index.add(number, text_of(number))\n"
        "except LookalikeError as error: print('refused', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "index")], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-300:]}"
    assert done.stdout.startswith("refused")


def test_closing_while_others_add_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread waits for the disk while another one closes."""
    index = filled(tmp_path / "index", 3)
    syncing, closing = threading.Event(), threading.Event()
    # The thread that adds is the one that syncs and is about to take `_mutex`; the one that closes has `_mutex`.
    mutex = log_of(index)._mutex

    class Handing:
        def __enter__(self) -> None:
            if threading.current_thread().name == "adds" and log_of(index)._syncs.is_busy:
                syncing.set()
                closing.wait(10)
            mutex.acquire()
            if threading.current_thread().name == "closes":
                closing.set()

        def __exit__(self, *_: object) -> None:
            mutex.release()

    def adds() -> None:
        with contextlib.suppress(LookalikeError):
            index.add(3, text_of(3), 0)

    log_of(index)._mutex = Handing()  # type: ignore[assignment]
    adding = threading.Thread(target=adds, name="adds", daemon=True)
    adding.start()
    assert syncing.wait(10)
    ending = threading.Thread(target=index.close, name="closes", daemon=True)
    ending.start()
    adding.join(1)
    ending.join(1)
    assert not adding.is_alive() and not ending.is_alive(), "they wait for each other"


# Damage.

_DAMAGED = """
import os, pickle, random, shutil, signal, sys
from benchmarks.index_kill import check
from lookalike.errors import InputError
from lookalike.index import Index, log_sizes
source, scratch, seed, flips = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = random.Random(seed)
items = int(sys.argv[5])
truth = {number: 0 for number in range(items)}
def trial(name, how, what):
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(source, scratch)
    path = os.path.join(scratch, name)
    data = bytearray(open(path, "rb").read())
    if what is None:
        os.unlink(path)
    elif how == "cut":
        os.truncate(path, what)
    else:
        data[what // 8] ^= 1 << (what % 8)
        open(path, "wb").write(data)
    for readonly in (True, False):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(20)
            try:
                with Index.open(scratch, readonly=readonly) as index:
                    check(index, truth)
                told = "right"
            except InputError as error:
                told = "refused " + str(error)
            except AssertionError as error:
                told = "WRONG " + str(error)
            except BaseException as error:
                told = f"RAISED {type(error).__name__} {error}"
            os.write(write, told[:200].encode())
            os._exit(0)
        os.close(write)
        told = os.read(read, 1000).decode()
        os.close(read)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            told = f"CRASHED by signal {os.WTERMSIG(status)}"
        print(name, "to read," if readonly else "to write,", how, what, told.replace("\\n", " "), flush=True)
for name in sorted(os.listdir(source)):
    size = os.path.getsize(os.path.join(source, name))
    for cut in sorted({0, 1, 8, 100, size // 2, size - 8, size - 1} & set(range(size))):
        trial(name, "cut", cut)
    if name != "lock":
        trial(name, "gone", None)
    # Of the state only the first words are used. What matters most is damaged always: of the first record its state,
    # the lengths of id and payload, the size of its row; and the first directory of a segment.
    always = {"volume": [0, 2, 14, 18], "segment": [71], "state": [8, 16]}.get(name.partition("-")[0], [])
    chosen = [8 * byte + 3 for byte in always]
    chosen += [rng.randrange(8 * (24 if name == "state" else size)) for _ in range(flips if size else 0)]
    for bit in chosen:
        trial(name, "flip", bit)
"""


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What came of an index of which one file was damaged: one line a trial."""
    seeded()
    folder = tmp_path_factory.mktemp("damaged")
    with pytest.MonkeyPatch.context() as patch:
        small_in(patch, 32, 8192)
        patch.setattr(log_sizes, "LEFT_IN_LOG", 1000)
        index = filled(folder / "index", 76)
        # Some items are in the log only.
        index.compact()
        index.close()
    done = subprocess.run(
        [sys.executable, "-c", _DAMAGED, str(folder / "index"), str(folder / "copy"), str(SEED), "6", "76"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("kind", ["index.json", "state", "volume", "segment"])
@pytest.mark.parametrize("bad", ["CRASHED", "WRONG", "RAISED"])
def test_damage_is_noticed_or_does_not_matter(damaged: list[str], kind: str, bad: str) -> None:
    mine = [line for line in damaged if line.startswith(kind)]
    assert mine
    found = [line for line in mine if bad in line]
    assert not found, f"{len(found)} of {len(mine)}:\n" + "\n".join(found[:6])


# A full disk.


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    disk, room = tmp_path / "disk", tmp_path / "room"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    truth: Truth = {}
    try:
        index = Index.create(disk / "index", threshold=0.8)
        with pytest.raises(OutputError) as full:
            for number in range(10_000):
                index.add(number, text_of(number), 0)
                truth[number] = 0
        assert len(truth) > 200
        assert "\n" not in str(full.value)
        with pytest.raises(OutputError, match="could not be written before"):
            index.add(-1, text_of(-1), 0)
        assert [match.id for match in index.query(text_of(5))] == [5]
        with contextlib.suppress(LookalikeError):
            index.close()
        with Index.open(disk / "index", readonly=True) as reader:
            check(reader, truth, ("add", len(truth), 0), 50)
        shutil.copytree(disk / "index", room)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
    assert "no space left on the disk" in str(full.value)
    with Index.open(room) as again:
        check(again, truth, ("add", len(truth), 0), 50)
        again.add(-1, text_of(-1), 0)


def test_a_limit_on_files_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from lookalike.index import Index; from lookalike.errors import OutputError\n"
        "from benchmarks.index_kill import make_small, text_of\n"
        "make_small(32, 16384)\n"
        "index = Index.create(sys.argv[1], threshold=0.8)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (15000, 15000))\n"
        "try:\n"
        "    for number in range(10000):\n"
        "        index.add(number, text_of(number), 0)\n"
        "        print(number, flush=True)\n"
        "except OutputError as error: print('refused', error)\n"
        "try: index.close()\n"
        "except OutputError as error: print('closing', error)\n"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "index")], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-500:]
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith("refused the file became larger")]) == 1
    truth = {int(line): 0 for line in lines if line.isdigit()}
    with Index.open(tmp_path / "index") as index:
        check(index, truth, ("add", len(truth), 0), 50)
        index.add(-1, text_of(-1), 0)


def test_closing_on_a_full_disk_lets_go_of_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled(tmp_path / "index", 20)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OutputError, match="no space left"):
        patch.setattr(os, "posix_fallocate", full)
        index.close()
    with Index.open(tmp_path / "index") as again:
        check(again, dict.fromkeys(range(20), 0))


# A disk that fails.


@pytest.mark.parametrize("after", [0, 1, 5, 20, 31, 32, 33, 60, 90])
def test_a_disk_that_fails_is_told_and_nothing_acknowledged_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    index = filled(tmp_path / "index", 3)
    index.compact()
    calls, truth = Counter[str](), dict.fromkeys(range(3), 0)
    whole = os.fdatasync

    def failing(handle: int) -> None:
        calls["sync"] += 1
        if calls["sync"] > after:
            raise OSError(errno.EIO, "Input/output error")
        whole(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", failing)
        with pytest.raises(OutputError) as failed:
            for number in range(3, 1000):
                index.add(number, text_of(number), 0)
                truth[number] = 0
        assert "\n" not in str(failed.value)
    # The disk is well again, and yet nobody knows what it has.
    changes: list[Callable[[], None]] = [
        lambda: index.add(-1, text_of(-1), 0),
        lambda: index.replace(0, text_of(0, 1), 1),
        lambda: index.remove(0),
    ]
    for change in changes:
        with pytest.raises(OutputError, match="open it again") as refused:
            change()
        assert "\n" not in str(refused.value)
    within(10, index.close)
    with Index.open(tmp_path / "index") as again:
        check(again, truth, ("add", len(truth), 0))
        again.add(-1, text_of(-1), 0)


def test_a_disk_that_fails_while_closing_lets_go_of_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = filled(tmp_path / "index", 3, durable=False)

    def failing(handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch, pytest.raises(OutputError, match="input/output error"):
        patch.setattr(os, "fdatasync", failing)
        index.close()
    with Index.open(tmp_path / "index") as again:
        check(again, dict.fromkeys(range(3), 0))


# Other processes.

_READER = """
import sys
from benchmarks.index_kill import make_small, text_of
from lookalike.index import Index
make_small()
with Index.open(sys.argv[1], readonly=True) as index:
    print("open", flush=True)
    for line in sys.stdin:
        what, number = line.split()[0], int(line.split()[1])
        try:
            if what == "find":
                found = [(m.id, m.similarity) for m in index.query(text_of(number))] == [(number, 1.0)]
                print("yes" if found and number in index else f"no: {index.query(text_of(number))} {number in index}")
            elif what == "ids":
                print(*sorted(index))
            elif what == "len":
                print(len(index))
        except Exception as error:
            print("error", type(error).__name__, error)
        sys.stdout.flush()
"""


class Asked:
    """A process that reads an index and answers."""

    def __init__(self, folder: Path) -> None:
        self.process = python(_READER, folder)
        assert self.answer() == "open"

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, what: str, number: int = 0) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what} {number}\n")
        return self.answer()

    def ids(self) -> list[int]:
        return [int(each) for each in self.ask("ids").split()]


@pytest.fixture
def reading() -> Iterator[Callable[[Path], Asked]]:
    """Starts processes that read, and ends them."""
    with contextlib.ExitStack() as stack:

        def begin(folder: Path) -> Asked:
            asked = Asked(folder)
            stack.callback(asked.process.communicate)
            return asked

        yield begin


def test_a_second_process_that_writes_is_told_or_waits(tmp_path: Path) -> None:
    code = (
        "import sys; from lookalike.index import Index; from lookalike.errors import OutputError\n"
        "print('begun', flush=True)\n"
        "try:\n"
        "    with Index.open(sys.argv[1], wait=float(sys.argv[2])) as index: index.add('b', 'b b b b b')\n"
        "    print('added')\n"
        "except OutputError as error: print('refused', error)\n"
    )
    index = filled(tmp_path / "index", 5)
    told = python(code, tmp_path / "index", 0).communicate()[0].splitlines()
    assert len(told) == 2 and told[1].startswith("refused") and "is being written by another process" in told[1]
    waiting = python(code, tmp_path / "index", 60)
    assert waiting.stdout is not None and waiting.stdout.readline() == "begun\n"
    index.add(5, text_of(5), 0)
    index.close()
    assert waiting.communicate()[0] == "added\n"
    with Index.open(tmp_path / "index") as again:
        assert sorted(again, key=str) == [0, 1, 2, 3, 4, 5, "b"]


def test_readers_in_other_processes_see_what_is_acknowledged(tmp_path: Path, reading: Callable[[Path], Asked]) -> None:
    index = Index.create(tmp_path / "index", threshold=0.8)
    early = reading(tmp_path / "index")
    index.add(0, text_of(0), 0)
    assert early.ask("find", 0) == "yes"
    readers = [early, reading(tmp_path / "index")]
    rng = seeded()
    wrong = []
    for number in range(1, 1200):
        index.add(number, text_of(number), 0)
        for reader in readers:
            answers = [(which, reader.ask("find", which)) for which in {number, rng.randrange(number + 1)}]
            wrong += [(number, *answer) for answer in answers if answer[1] != "yes"]
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"
    assert [reader.ask("len") for reader in readers] == ["1200", "1200"]
    index.remove(7)
    assert [reader.ask("find", 7)[:2] for reader in readers] == ["no", "no"]
    index.close()
    assert [reader.ask("find", 1199) for reader in readers] == ["yes", "yes"]


def test_a_reader_iterates_over_what_is_recent(tmp_path: Path, reading: Callable[[Path], Asked]) -> None:
    with filled(tmp_path / "index", 40):
        assert reading(tmp_path / "index").ids() == list(range(40))


def test_a_reader_without_bands_finds_what_is_recent(tmp_path: Path) -> None:
    """Where there are no bands, every item is compared."""
    with Index.create(tmp_path / "index", measure="containment", threshold=0.8) as index:
        for number in range(5):
            index.add(number, [f"{number}-{each}" for each in range(20)])
        with Index.open(tmp_path / "index", readonly=True) as reader:
            wanted = [f"3-{each}" for each in range(20)]
            assert [match.id for match in index.query(wanted)] == [3]
            assert [match.id for match in reader.query(wanted)] == [3]


def test_readers_open_while_much_changes(tmp_path: Path) -> None:
    """A file that the manifest named when it was read may be gone when it is opened."""
    Index.create(tmp_path / "index", threshold=0.8).close()
    child = start(tmp_path / "index", "add", 0, SEED)
    assert child.stdout is not None
    try:
        acknowledged, wrong = [], []
        for line in child.stdout:
            if line.startswith("begin"):
                last = int(line.split()[2])
                continue
            acknowledged.append(last)
            if len(acknowledged) > 2000:
                break
            if last % 5:
                continue
            try:
                with Index.open(tmp_path / "index", readonly=True) as reader:
                    if [match.id for match in reader.query(text_of(last))] != [last]:
                        wrong.append(f"{last} is not there")
            except (LookalikeError, OSError, AttributeError) as error:
                wrong.append(f"{last}: {type(error).__name__} {error}")
        assert len(acknowledged) > 1000
        assert not wrong, f"{len(wrong)}: {wrong[:3]}"
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("ends", ["closes", "is killed"])
def test_a_reader_from_before_the_first_item_when_the_writer_ends(tmp_path: Path, ends: str) -> None:
    Index.create(tmp_path / "index", threshold=0.8).close()
    with Index.open(tmp_path / "index", readonly=True) as reader:
        code = (
            "import os, signal, sys; from lookalike.index import Index; from benchmarks.index_kill import text_of\n"
            "index = Index.open(sys.argv[1]); index.add(0, text_of(0), 0)\n"
            "index.close() if sys.argv[2] == 'closes' else os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        python(code, tmp_path / "index", ends).communicate()
        assert [match.id for match in reader.query(text_of(0))] == [0]
        assert list(reader) == [0]


@pytest.mark.parametrize("kind", ["texts", "sets"])
def test_a_reader_that_asked_before_the_first_item_sees_it(tmp_path: Path, kind: str) -> None:
    item: Any = text_of(0) if kind == "texts" else list(range(50))
    index = Index.create(tmp_path / "index", threshold=0.8)
    with index, Index.open(tmp_path / "index", readonly=True) as reader:
        assert reader.query(item) == []
        assert 0 not in reader
        index.add(0, item)
        assert [match.id for match in reader.query(item)] == [0]
        assert 0 in reader


def test_a_reader_that_asked_for_something_else_before_the_first_item(tmp_path: Path) -> None:
    """What the items are is decided by the first one, not by what a reader asked for."""
    index = Index.create(tmp_path / "index", threshold=0.8)
    with index, Index.open(tmp_path / "index", readonly=True) as reader:
        assert reader.query(text_of(0)) == []
        index.add(0, list(range(50)))
        assert [match.id for match in reader.query(list(range(50)))] == [0]


def test_a_reader_goes_on_when_the_writer_is_killed(tmp_path: Path, reading: Callable[[Path], Asked]) -> None:
    rng = seeded()
    index = filled(tmp_path / "index", 1)
    index.close()
    reader, first, known = reading(tmp_path / "index"), 1, [0]
    for _ in range(4):
        child = start(tmp_path / "index", "add", first, 0)
        assert child.stdout is not None
        left, wrong = rng.randrange(50, 200), []
        for line in child.stdout:
            if line.startswith("begin"):
                first = int(line.split()[2])
                continue
            known.append(first)
            left -= 1
            if left == 0:
                child.kill()
            if left > 0 and left % 3 == 0:
                answer = reader.ask("find", first)
                wrong += [(first, answer)] if answer != "yes" else []
        child.communicate()
        for number in rng.sample(known, 20):
            answer = reader.ask("find", number)
            wrong += [(number, answer)] if answer != "yes" else []
        assert not wrong, f"{len(wrong)}: {wrong[:5]}"
        first += 1
    assert len(known) > 200


def test_threads_of_a_reader_see_what_is_acknowledged(tmp_path: Path) -> None:
    """While one thread takes over what the writer has changed, the others must not look at half of it."""
    index = filled(tmp_path / "index", 100)
    lock, last, ended, wrong = threading.Lock(), [99], threading.Event(), list[str]()
    with Index.open(tmp_path / "index", readonly=True) as reader:

        def look() -> None:
            while not ended.is_set():
                with lock:
                    number = last[0]
                try:
                    found = [match.id for match in reader.query(text_of(number))]
                    if found != [number]:
                        wrong.append(f"{number}: {found}")
                except Exception as error:
                    wrong.append(f"{number}: {type(error).__name__} {error}")

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(100, 500):
            index.add(number, text_of(number), 0)
            with lock:
                last[0] = number
        ended.set()
        for thread in threads:
            thread.join()
    index.close()
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"


# Threads.


def test_threads_add_query_and_remove_at_once(tmp_path: Path) -> None:
    seeded()
    index = Index.create(tmp_path / "index", threshold=0.8)
    wrong: list[str] = []
    barrier = threading.Barrier(6)
    truths: list[Truth] = [{} for _ in range(6)]

    def work(own: int) -> None:
        rng, truth = random.Random(SEED + own), truths[own]
        barrier.wait()
        try:
            for step in range(120):
                number = 1000 * own + step
                index.add(number, text_of(number), 0)
                truth[number] = 0
                chosen = rng.choice(list(truth))
                found = [(match.id, match.similarity, match.payload) for match in index.query(text_of(chosen))]
                if found != [(chosen, 1.0, 0)]:
                    wrong.append(f"{chosen}: {found}")
                if rng.random() < 0.3:
                    index.remove(chosen)
                    del truth[chosen]
                    if chosen in index:
                        wrong.append(f"{chosen} was removed and is there")
        except Exception as error:
            wrong.append(f"thread {own}: {type(error).__name__} {error}")

    threads = [threading.Thread(target=work, args=(own,)) for own in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"
    whole = {number: 0 for truth in truths for number in truth}
    assert len(whole) > 100
    check(index, whole, None, 50)
    within(20, index.close)
    with Index.open(tmp_path / "index") as again:
        check(again, whole, None, 50)


def test_the_same_ids_from_many_threads_are_added_once(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", threshold=0.8)
    barrier, added = threading.Barrier(4), Counter[int]()

    def work() -> None:
        barrier.wait()
        for number in range(100):
            with contextlib.suppress(InputError):
                index.add(number, text_of(number), 0)
                added[number] += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(index, dict.fromkeys(range(100), 0))
    assert added == dict.fromkeys(range(100), 1)
    within(20, index.close)


def test_a_look_up_sees_by_itself_how_many_items_are_recent(tmp_path: Path) -> None:
    """A number that threads told one another could be an older one, and hide an item."""
    index = filled(tmp_path / "index", 3)
    store = log_of(index)
    view = store.view()
    index.add(3, text_of(3), 0)
    assert view.table is not None
    keys = view.table.keys[3:4].copy()
    found, _ = store.find(view, keys, 0, store.bands, 1000)
    assert found.ends[1] == 1
    index.close()


def test_the_first_item_is_decided_for_all_threads_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one thread finds out what the items are, another one must not see half of it."""
    index = Index.create(tmp_path / "index", threshold=0.8)
    begun, go_on, whole = threading.Event(), threading.Event(), RowCodec.__init__

    def slow(self: RowCodec, *arguments: Any, **options: Any) -> None:
        begun.set()
        go_on.wait(2)
        whole(self, *arguments, **options)

    monkeypatch.setattr(RowCodec, "__init__", slow)
    first = threading.Thread(target=lambda: index.add(0, text_of(0), 0))
    first.start()
    assert begun.wait(10)
    try:
        index.add(1, text_of(1), 0)
    finally:
        go_on.set()
        first.join()
        within(10, index.close)
    with Index.open(tmp_path / "index") as again:
        check(again, {0: 0, 1: 0})


def test_who_makes_a_segment_while_another_waits_for_the_disk_waits_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync that has begun is none: what the manifest says is on the disk must be there."""
    index = filled(tmp_path / "index", 3)
    store = log_of(index)
    syncing, go_on = threading.Event(), threading.Event()
    whole, synced = os.fdatasync, list[str]()

    def slow(handle: int) -> None:
        if threading.current_thread().name == "waits":
            syncing.set()
            assert go_on.wait(10)
        whole(handle)
        synced.append(f"{threading.current_thread().name} {Path(f'/proc/self/fd/{handle}').readlink().name}")

    monkeypatch.setattr(os, "fdatasync", slow)
    waiting = threading.Thread(target=index.add, args=(3, text_of(3), 0), name="waits")
    waiting.start()
    assert syncing.wait(10)
    with store._mutex:
        store._flush()
    assert "MainThread volume-0" in synced
    assert "waits volume-0" not in synced
    go_on.set()
    waiting.join()
    index.close()
    with Index.open(tmp_path / "index") as again:
        check(again, dict.fromkeys(range(4), 0))
