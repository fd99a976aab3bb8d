"""`lookalike index`: an index that is built, added to, asked and looked after, a command for each."""

from __future__ import annotations

import contextlib
import json as plain_json
import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import typer

from lookalike.cli.command_options import (
    IndexAddCommand,
    IndexBackupCommand,
    IndexBuildCommand,
    IndexCompactCommand,
    IndexExpireCommand,
    IndexQueryCommand,
    IndexRemoveCommand,
    IndexStatsCommand,
    IndexVerifyCommand,
    command,
    typed,
)
from lookalike.cli.plain_values import PlainCommand, PlainGroup
from lookalike.cli.stopwatch import elapsed
from lookalike.errors import InputError, LookalikeError, OptionError
from lookalike.index.redis_address import shown_path
from lookalike.options import CollectionOptions, IndexOptions
from lookalike.options.option_table import checked, entries
from lookalike.wording.messages import reason
from lookalike.wording.phrases import counted

if TYPE_CHECKING:
    from lookalike.index import Answer, Index

__all__ = ["index_commands"]

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@command(IndexBuildCommand)
def build(**given: Unpack[IndexBuildCommand]) -> None:
    """Build an index of a collection, to query and to extend.

    Example: lookalike index build crawl.parquet -o seen.idx --id url
    """
    from lookalike.cli.job import load_tokens
    from lookalike.index import Index

    values = checked(IndexBuildCommand, given)
    values["tokens"] = load_tokens(values["tokens"])
    output = _begun(values["output"], values)
    making = {name: values[name] for name in entries(IndexOptions)}
    with Index.build(
        output, _inputs(values), payload=typed(values["payload"] or []), **making, **_reading(values)
    ) as index:
        _tell(index, values, f"{counted(len(index), 'item')} in {shown_path(output)}")


@command(IndexAddCommand)
def add(**given: Unpack[IndexAddCommand]) -> None:
    """Add the items of files to an index: all of them, or none if the command is interrupted.

    In Redis the items added so far are kept; start again with --replace.

    Example: lookalike index add seen.idx today.parquet --id url

    Example: lookalike index add seen.idx today.parquet --id url --replace
    """
    values = checked(IndexAddCommand, given)
    place = shown_path(values["index"])
    with _opened(values) as index:
        before = len(index)
        try:
            added = _add(index, values)
        except BaseException as error:
            if index.is_shared:
                error.add_note(f"items added to {place} so far are kept; start again with --replace")
            elif not isinstance(error, InputError | OptionError):
                # A log that was interrupted in a write takes nothing back before it is opened again.
                index.close()
                with contextlib.suppress(LookalikeError):
                    _opened(values).close()
            raise
        told, now = f"{counted(added, 'item')} added", len(index)
        # In Redis others may have added and removed meanwhile.
        if values["replace"] and not index.is_shared:
            told += f", {added - (now - before):,} of them in the place of others"
        _tell(index, values, f"{told}, {now:,} in {place}")


@command(IndexQueryCommand)
def query(**given: Unpack[IndexQueryCommand]) -> None:
    """Look up one item or a stream of items: their matches with exact similarities, best first.

    With - every line of standard input is a JSON text, list, or object with `item` (or `text`) and perhaps `id`; every
    line of standard output is an object with that `id`, or the number of the line from 1, and the `matches`, in the
    same order; --id names another key than `id`. A line that cannot be answered gets an object with `error`; the exit
    code is then 1.

    Example: lookalike index query seen.idx page.txt -k 5

    Example: lookalike index query seen.idx page.txt --nearest
    """
    from lookalike.cli.terminal import say

    values = checked(IndexQueryCommand, given)
    with _opened(values, readonly=True) as index:
        if values["text"] == "-":
            if bad := _stream(partial(_asked_many, index, values), values["id"] or "id"):
                raise InputError(f"{bad:,} of the lines failed: see `error` in their answers")
            return
        if values["id"] is not None:
            raise OptionError("id (--id) names the lines of standard input: give - as the item")
        item, note = _item(typed(values["text"]), shown_path(values["index"]))
        (answer,) = _asked_many(index, values, [item])
        if values["json"]:
            _print_line(_told(answer))
        else:
            _show(index, answer)
        if note:
            say(note)


@command(IndexRemoveCommand)
def remove(**given: Unpack[IndexRemoveCommand]) -> None:
    """Remove items by their ids.

    Example: lookalike index remove seen.idx https://example.org/a
    """
    from lookalike.cli.terminal import say

    values = checked(IndexRemoveCommand, given)
    with _opened(values) as index:
        found = []
        for name in typed(values["ids"]):
            # An id that looks like a number may be one, or a text.
            options: list[str | int] = [name, *([int(name)] if name.lstrip("-").isdecimal() else [])]
            known = next((each for each in options if each in index), None)
            if known is None:
                raise InputError(f"there is no item {name!r} in {shown_path(values['index'])}: nothing was removed")
            found.append(known)
        with index.together():
            for known in dict.fromkeys(found):
                index.remove(known)
        say(f"{len(set(found)):,} removed, {len(index):,} left", quiet=values["quiet"])


@command(IndexExpireCommand)
def expire(**given: Unpack[IndexExpireCommand]) -> None:
    """Remove items that were added before a given time.

    Example: lookalike index expire seen.idx --older-than 90d
    """
    from lookalike.cli.terminal import say

    values = checked(IndexExpireCommand, given)
    moment = _moment(values["older_than"])
    with _opened(values) as index:
        say(f"{index.expire(moment):,} removed, {len(index):,} left", quiet=values["quiet"])


@command(IndexStatsCommand)
def stats(**given: Unpack[IndexStatsCommand]) -> None:
    """Show the settings and the size of an index.

    Example: lookalike index stats seen.idx
    """
    from lookalike.cli.terminal import out, print_json
    from lookalike.cli.wrapping import tell

    values = checked(IndexStatsCommand, given)
    with _opened(values, readonly=True) as index:
        found = index.stats()
    if values["json"]:
        print_json(found)
        return
    for name, value in found.items():
        shown = (
            f"{value:,}"
            if isinstance(value, int | float)
            else "not known before the first item"
            if value is None
            else value
        )
        tell(out(), f"{name.replace('_', ' '):>15}  {shown}")


@command(IndexVerifyCommand)
def verify(**given: Unpack[IndexVerifyCommand]) -> None:
    """Check the index for damage, and measure its recall on a sample. Exit code 1 if it is damaged.

    Example: lookalike index verify seen.idx
    """
    from lookalike.cli.terminal import print_json, say

    values = checked(IndexVerifyCommand, given)
    with _opened(values, readonly=True) as index:
        found = index.verify(values["sample"])
    if values["json"]:
        print_json(found._asdict())
    if not found.sound:
        raise InputError(
            f"{shown_path(values['index'])} is damaged: {'; '.join(found.damaged)}; restore it from a backup"
        )
    say(str(found), quiet=values["quiet"])


@command(IndexCompactCommand)
def compact(**given: Unpack[IndexCompactCommand]) -> None:
    """Free the space of removed items.

    Example: lookalike index compact seen.idx
    """
    from lookalike.cli.terminal import say

    values = checked(IndexCompactCommand, given)
    with _opened(values) as index:
        say(f"{index.compact() / 1e6:,.1f} MB freed, {counted(len(index), 'item')}", quiet=values["quiet"])


@command(IndexBackupCommand)
def backup(**given: Unpack[IndexBackupCommand]) -> None:
    """Copy an index, even while it is in use.

    Example: lookalike index backup seen.idx /backups/seen-today.idx
    """
    from lookalike.cli.terminal import say

    values = checked(IndexBackupCommand, given)
    with _opened(values, readonly=True) as index:
        index.backup(values["to"])
        say(f"{counted(len(index), 'item')} copied to {values['to']}", quiet=values["quiet"])


def index_commands() -> typer.Typer:
    """The commands of `lookalike index`, as Typer has them."""
    group = typer.Typer(
        name="index", cls=PlainGroup, no_args_is_help=True, rich_markup_mode="markdown", add_completion=False,
        help="An index answers: have I seen something like this before? Build it, add to it, query it.",
    )  # fmt: skip
    commands: list[Callable[..., None]] = [build, add, query, remove, expire, stats, verify, compact, backup]
    for function in commands:
        group.command(function.__name__, cls=PlainCommand)(function)
    return group


def _begun(place: str, values: dict[str, Any]) -> str:
    """What every command does first."""
    from lookalike.cli.lean import load_lean
    from lookalike.cli.terminal import announce_compiling

    load_lean()
    announce_compiling(bool(values.get("quiet")))
    return place


def _opened(values: dict[str, Any], *, readonly: bool = False) -> Index:
    from lookalike.index import Index

    _begun(values["index"], values)
    secret = os.environ.get("LOOKALIKE_SEED")
    given: dict[str, Any] = {"seed": int(secret)} if secret and secret.isdecimal() and int(secret) >= 2**64 else {}
    return Index.open(values["index"], readonly=readonly, wait=values.get("wait") or 0.0, **given)


def _add(index: Index, values: dict[str, Any]) -> int:
    payload = typed(values["payload"] or [])
    return index.add_collection(_inputs(values), payload=payload, replace=values["replace"], **_reading(values))


def _inputs(values: dict[str, Any]) -> list[Path]:
    if not values["inputs"]:
        raise OptionError("no input: give files, or - for standard input")
    return [Path(each) for each in values["inputs"]]


def _reading(values: dict[str, Any]) -> dict[str, Any]:
    """How the inputs are read."""
    from lookalike.cli.terminal import progress_for

    return {name: typed(values[name]) for name in entries(CollectionOptions) if name != "progress"} | {
        "progress": progress_for(values["quiet"])
    }


def _tell(index: Index, values: dict[str, Any], words: str) -> None:
    from lookalike.cli.terminal import print_json, say

    if values["json"]:
        print_json(index.stats() | {"seconds": round(elapsed(), 3)})
    say(f"{words}, in {elapsed():.1f} s", quiet=values["quiet"])


def _item(given: str, index: str) -> tuple[str, str]:
    """The text of a file, compressed or not, where there is one of this name, else what was given; and a note."""
    try:
        path = Path(given)
        is_file, is_folder = path.is_file(), path.is_dir()
    except (OSError, ValueError):
        # A text that is too long for a name, or has a NUL.
        return given, ""
    if is_folder and given:
        raise OptionError(f"{given} is a folder: give a file or a text")
    if is_file:
        return _text_of(path), _note_of_rows(given, index)
    if not given.strip():
        raise OptionError("nothing to look up: give a text or a file")
    return given, f"there is no file {given!r}; it was looked up as a text" if len(given.split()) == 1 else ""


def _note_of_rows(path: str, index: str) -> str:
    """What is said of a file that holds rows rather than one text."""
    from lookalike.io.reading.formats import DATA_ENDINGS, endings

    ending, compression = endings(path)
    kind = DATA_ENDINGS.get(ending)
    if kind is None:
        return ""
    by_line = f"its lines: lookalike index query {index} - < {path}"
    by_row = f"its rows: lookalike dedup {path} --against {index}"
    return f"{path} was looked up as one text; {by_line if kind == 'jsonl' and not compression else by_row}"


def _text_of(path: Path) -> str:
    import pyarrow as pa

    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            return bytes(stream.read()).decode("utf-8", errors="surrogateescape")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {reason(error)}") from error


def _asked_many(index: Index, values: dict[str, Any], items: list[Any]) -> list[Answer]:
    """The matches of items, or those that are nearest."""
    threshold, k, examine = values["threshold"], values["k"], values["examine"]
    if values["nearest"]:
        asked = {"recall": values["recall"], "examine": examine or None}
        return [index.nearest(item, k or 10, threshold, **asked) for item in items]
    return index.query_many(items, threshold, k, **({} if examine is None else {"examine": examine or None}))


def _stream(ask: Callable[[list[Any]], list[Answer]], name: str) -> int:
    """Answer lines as they come: what is read together is answered together. How many could not be answered."""
    number = bad = 0
    for lines in _read_together(sys.stdin.buffer):
        asked: list[tuple[Any, Any]] = []
        for line in lines:
            number += 1
            if line.strip():
                asked.append((number, _query_of(line, number, name)))
        for answer in _answers(ask, asked):
            bad += "error" in answer
            _print_line(answer)
        sys.stdout.flush()
    return bad


def _answers(ask: Callable[[list[Any]], list[Answer]], asked: list[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """What is said to each line: its matches, or what is wrong with it."""
    good = [query for _, query in asked if not isinstance(query, LookalikeError)]
    try:
        found: Iterator[Any] = iter(ask([item for _, item in good]) if good else [])
    except LookalikeError:  # which of them it is, is known when each is asked alone
        found = iter([_alone(ask, item) for _, item in good])
    out = []
    for number, query in asked:
        answer = query if isinstance(query, LookalikeError) else next(found)
        name = number if isinstance(query, LookalikeError) else query[0]
        said = {"error": str(answer)} if isinstance(answer, LookalikeError) else _told(answer)
        out.append({"id": name} | said)
    return out


def _alone(ask: Callable[[list[Any]], list[Answer]], item: Any) -> Answer | LookalikeError:
    try:
        return ask([item])[0]
    except LookalikeError as error:
        return error


def _read_together(stream: Any) -> Iterator[list[bytes]]:
    """Lines, as many at a time as are there already: who writes one and waits for its answer gets it."""
    rest = b""
    while data := stream.read1(1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _query_of(line: bytes, number: int, name: str) -> tuple[Any, Any] | InputError:
    """The id and the item of a line, its number where it has no such key; or what is wrong with it."""
    try:
        told = plain_json.loads(line)
    except (ValueError, RecursionError) as error:
        return InputError(f"line {number} of standard input is not JSON: {error}")
    if not isinstance(told, dict):
        return number, told
    item = told.get("item", told.get("text"))
    if item is None:
        return InputError(f"line {number} of standard input has neither item nor text")
    return told.get(name, number), item


def _told(answer: Answer) -> dict[str, Any]:
    told = {"matches": [match._asdict() for match in answer], "compared": answer.compared, "left_out": answer.left_out}
    return told if answer.recall is None else told | {"recall": answer.recall}


def _print_line(data: Any) -> None:
    sys.stdout.write(plain_json.dumps(data, ensure_ascii=True) + "\n")


def _show(index: Index, answer: Answer) -> None:
    import pyarrow as pa

    from lookalike.cli.terminal import say, show_table

    if answer:
        columns: dict[str, list[Any]] = {
            "id": [str(match.id) for match in answer],
            answer[0]._fields[1]: [match[1] for match in answer],
        }
        if any(match.payload is not None for match in answer):
            columns["payload"] = [plain_json.dumps(match.payload, ensure_ascii=False) for match in answer]
        table = pa.table(columns)
        found = "match" if answer.recall is None else f"are nearest (recall {answer.recall:.3f})"
        show_table(table, title=f"{len(answer):,} of {len(index):,} items {found}, best first")
    else:
        say(f"no match among {counted(len(index), 'item')}")
    if answer.left_out:
        say(f"{counted(answer.left_out, 'candidate')} not compared: there were too many; --examine 0 compares all")


def _moment(words: str) -> datetime:
    """The moment that `90d` or a date stands for."""
    unit = _UNITS.get(words[-1:].lower())
    try:
        if unit is not None:
            moment = datetime.now(UTC) - timedelta(seconds=float(words[:-1]) * unit)
        else:
            moment = datetime.fromisoformat(words)
            moment = moment if moment.tzinfo else moment.astimezone()
    except (ValueError, OverflowError) as error:
        raise OptionError(
            f"older-than is {words!r}: it must be a time such as 90d, 12h, 30m or 45s, or a date such as 2026-01-31"
        ) from error
    if moment > datetime.now(UTC):
        raise OptionError(f"older-than is {words!r}, which is in the future: it would remove every item")
    return moment
