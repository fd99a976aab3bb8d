"""Web pages to their main text: what is left without menus, footers and advertisements is what pages should share.

The extractor is trafilatura (the extra `html`) in its fast mode, on the page alone: nothing is fetched, and what a page
gives depends on no other page. Where it finds no main text the page counts by all its visible text (`visible.py`;
`html_fallback`); where it fails on a page, likewise (`html_broken`).

It is written in Python, so threads would wait for each other: with more than one, each drives a process of its own,
which stays for the next call. About 800 pages of 7 kB a second on one core of an AMD EPYC, where shingling takes
hundreds of thousands: the processes are worth it. They are started without Python's `multiprocessing`, which would run
the user's script again in each of them.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO

import pyarrow as pa

from lookalike.errors import ExtraError
from lookalike.represent.visible import visible_text

__all__ = ["close_readers", "main_texts", "needs_trafilatura", "serve"]

# Pages that a process is given at once: a tenth of a second of work, so that none waits long for the last one.
_SHARE = 64
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([a-zA-Z0-9_.:-]+)""")
_HEAD = 1024
_XML = re.compile(r"\A\s*<\?xml[^>]*\?>")


def needs_trafilatura() -> None:
    """Raise `ExtraError` with what to install if trafilatura, or what it needs, is not there."""
    try:
        import trafilatura  # noqa: F401
    except ImportError:
        raise ExtraError("HTML needs trafilatura: pip install 'lookalike[html]'") from None
    # Without a handler of its own Python would print what it logs about odd pages.
    logging.getLogger("trafilatura").addHandler(logging.NullHandler())


def main_texts(items: pa.Array, threads: int = 1) -> tuple[pa.Array, dict[str, int]]:
    """The main text of each page (`large_string`; null of null), and counts of those that were no ordinary page.

    Bytes are taken for UTF-8 if they are that, else for what the page says, else for Windows-1252.
    """
    needs_trafilatura()
    pages = items.cast(pa.large_binary())
    shares = [pages.slice(at, _SHARE) for at in range(0, len(pages), _SHARE)]
    if threads == 1 or len(shares) < 2:
        answers = [_read_pages(share.to_pylist()) for share in shares]
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="lookalike-html") as pool:
            answers = list(pool.map(lambda share: _readers.ask(share.to_pylist()), shares))
    texts = [text for answer in answers for text, _ in answer]
    ways = [way for answer in answers for _, way in answer]
    counts = {"html_fallback": sum(way != "main" for way in ways), "html_broken": ways.count("broken")}
    return pa.array(texts, pa.large_string()), counts


_Answer = list[tuple[str | None, str]]


def _read_pages(pages: Sequence[bytes | None]) -> _Answer:
    """(text, way) of each page: "main", "visible" where there is no main text, or "broken" where looking failed."""
    import trafilatura

    answer: _Answer = []
    for page in pages:
        if page is None:
            answer.append((None, "main"))
            continue
        source = _decoded(page)
        try:
            text, way = trafilatura.extract(source, fast=True, include_comments=False), "visible"
        except Exception:
            text, way = None, "broken"
        answer.append((text, "main") if text else (visible_text(source), way))
    return answer


def _decoded(page: bytes) -> str:
    try:
        text = page.decode("utf-8-sig")
    except UnicodeDecodeError:
        said = _CHARSET.search(page[:_HEAD])
        try:
            text = page.decode(said[1].decode() if said else "cp1252", "replace")
        except LookupError:
            text = page.decode("cp1252", "replace")
    # It names an encoding, which text does not have any more; lxml refuses such text.
    return _XML.sub("", text).replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class _Readers:
    """Processes that read pages; as many as were ever busy at once, kept for the next call."""

    def __init__(self) -> None:
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()

    def ask(self, pages: list[bytes | None]) -> _Answer:
        """What a process makes of some pages. One that a page kills is replaced, and that page is a broken one."""
        try:
            process = self._idle.get_nowait()
        except queue.Empty:
            process = _started()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            _send(process.stdin, pages)
            answer = _receive(process.stdout)
        except BaseException as error:
            _end(process)
            if not isinstance(error, OSError | EOFError):
                raise
        else:
            self._idle.put(process)
            texts, ways = answer[: len(pages)], answer[len(pages) :]
            pairs = zip(texts, ways, strict=True)
            return [(None if text is None else text.decode(), (way or b"").decode()) for text, way in pairs]
        if len(pages) > 1:
            half = len(pages) // 2
            return self.ask(pages[:half]) + self.ask(pages[half:])
        return [(None, "main") if page is None else (visible_text(_decoded(page)), "broken") for page in pages]

    def close(self) -> None:
        """End the processes that wait."""
        with contextlib.suppress(queue.Empty):
            while True:
                _end(self._idle.get_nowait())


def _started() -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", "from lookalike.represent.html import serve; serve()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    try:
        assert process.stdout is not None
        _receive(process.stdout)
    except BaseException as error:
        _end(process)
        if isinstance(error, EOFError):
            raise RuntimeError("a process to read HTML could not be started; its own words stand above") from None
        raise
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.terminate()
    process.wait()


def serve() -> None:
    """Answer pages from standard input on standard output, until there are no more."""
    needs_trafilatura()
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    # Whatever a library prints must not come between the answers.
    sys.stdout = sys.stderr
    _send(answers, [])
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            answer = _read_pages(_receive(given))
            texts = [None if text is None else text.encode() for text, _ in answer]
            _send(answers, texts + [way.encode() for _, way in answer])


_NONE = (1 << 64) - 1


def _send(pipe: IO[bytes], values: Sequence[bytes | None]) -> None:
    """How many values there are, then each with its length before it, in eight bytes."""
    out = [len(values).to_bytes(8, "little")]
    for value in values:
        out.append((_NONE if value is None else len(value)).to_bytes(8, "little"))
        out.append(value or b"")
    pipe.write(b"".join(out))
    pipe.flush()


def _receive(pipe: IO[bytes]) -> list[bytes | None]:
    values: list[bytes | None] = []
    for _ in range(int.from_bytes(_exactly(pipe, 8), "little")):
        size = int.from_bytes(_exactly(pipe, 8), "little")
        values.append(None if size == _NONE else _exactly(pipe, size))
    return values


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


_readers = _Readers()
close_readers = _readers.close
atexit.register(close_readers)
