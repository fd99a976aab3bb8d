"""`lookalike compare`: how similar two files are, and what they share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from lookalike.cli.command_options import CompareCommand, command, typed
from lookalike.errors import OptionError
from lookalike.options.option_table import checked

if TYPE_CHECKING:
    from lookalike.items.from_rows import ItemBatch
    from lookalike.runs.opened_run import Run

__all__ = ["compare"]


@command(CompareCommand)
def compare(**given: Unpack[CompareCommand]) -> None:
    """Compare two files, or two items of a run or a collection, side by side.

    Example: lookalike compare LICENSE other/LICENSE, or lookalike compare --of run 17 4711
    """
    from lookalike.cli.side_by_side import print_side_by_side
    from lookalike.cli.terminal import announce_compiling, out, print_json
    from lookalike.cli.wrapping import tell
    from lookalike.report.explain import compare_texts
    from lookalike.shingle import parse_shingle

    values = checked(CompareCommand, given)
    a, b, lines, quiet = values["a"], values["b"], values["lines"], values["quiet"]
    announce_compiling(quiet)
    shingle, normalize = values["shingle"] or "word:5", values["normalize"]
    for name in ("id", "column", "delimiter"):
        if values[name] is not None and values["of"] is None:
            raise OptionError(f"{name} (--{name}) needs the collection: add --of")
    if values["of"] is not None:
        key, column = typed(values["id"]), typed(values["column"])
        run, texts = _items(typed(values["of"]), (typed(a), typed(b)), key, column, values["delimiter"])
        if run is not None and values["shingle"] is None:
            shingle, normalize = run.options["shingle"], normalize or run.options["normalize"] or "none"
    elif a == b == "-":
        raise OptionError("A and B are both standard input: one of them must be a file")
    else:
        texts = (_read(a), _read(b))
    parsed = parse_shingle(shingle, normalize=normalize)
    found = compare_texts(*texts, parsed)
    if values["json"]:
        print_json(
            {
                "a": a,
                "b": b,
                "similarity": found.similarity,
                "identical": texts[0] == texts[1],
                "shingle": str(parsed),
                "shingles_a": found.size_a,
                "shingles_b": found.size_b,
                "shared": found.both,
                "a_in_b": found.a_in_b,
                "b_in_a": found.b_in_a,
            }
        )
        return
    console = out()
    what = "files" if values["of"] is None else "items"
    same = f"  (the {what} are identical)" if texts[0] == texts[1] else ""
    console.print(f"Jaccard similarity [bold]{found.similarity:.4f}[/] on {parsed} shingles{same}")
    tell(
        console,
        f"{found.both:,} shared of {found.size_a:,} and {found.size_b:,} shingles; "
        f"{found.a_in_b:.1%} of A is in B, {found.b_in_a:.1%} of B is in A",
    )
    if lines and not quiet:
        print_side_by_side(console, (a, b), texts, (found.shared_a, found.shared_b), rows=lines)


def _items(
    places: list[str], names: tuple[str, str], id: str | None, columns: list[str] | None, delimiter: str | None
) -> tuple[Run | None, tuple[bytes, bytes]]:
    """The texts of two items of a run, or of the files of a collection; and the run, if it is one."""
    from lookalike.errors import InputError
    from lookalike.runs.opened_run import RUN, Run

    run = Run.open(places[0]) if len(places) == 1 and (Path(places[0]) / RUN).is_file() else None
    if run is None:
        found = _of_files(places, names, id, columns, delimiter)
    else:
        if any(each is not None for each in (id, columns, delimiter)):
            raise OptionError("a run folder knows its columns: leave out --id, --column and --delimiter")
        for option in ("tokens", "html"):
            if run.options[option]:
                raise OptionError(f"the run used {option}, which compare does not support")
        found = _of_run(run, names)
    missing = next((name for name in names if name not in found), None)
    if missing is not None:
        raise InputError(f"there is no item {missing!r} in {', '.join(places)}")
    return run, (found[names[0]], found[names[1]])


def _of_run(run: Run, names: tuple[str, str]) -> dict[str, bytes]:
    import pyarrow as pa

    from lookalike.errors import InputError

    try:
        rows = run.rows_of(pa.array([int(name) for name in names] if run.id is None else list(names)))
        table = run.take(rows).select(run.columns)
    except (ValueError, IndexError) as error:
        raise InputError(f"{run.path} has no items {names[0]!r} and {names[1]!r}: {error}") from None
    texts = ("\n".join(str(value) for value in row.values() if value is not None) for row in table.to_pylist())
    return dict(zip(names, (text.encode("utf-8", "replace") for text in texts), strict=True))


def _of_files(
    places: list[str], names: tuple[str, str], id: str | None, columns: list[str] | None, delimiter: str | None
) -> dict[str, bytes]:
    import pyarrow as pa

    from lookalike.config import default_memory, make_config
    from lookalike.errors import InputError
    from lookalike.io import check_delimiter, open_files
    from lookalike.items.from_rows import open_items

    source = open_files(places, delimiter=delimiter, memory=default_memory())
    check_delimiter(delimiter, source)
    items = open_items(source, make_config(id=id, column=columns))
    if not items.traits.is_text:
        raise InputError(f"the items are {items.form}: compare is for texts")
    found: dict[str, bytes] = {}
    for batch in items.batches(*([items.id] if items.id else [])):
        ids = [str(each) for each in _ids(batch, items.id)]
        for name in {*names} - found.keys():
            if name in ids:
                found[name] = batch.values.cast(pa.large_binary())[ids.index(name)].as_py() or b""
    return found


def _ids(batch: ItemBatch, column: str | None) -> list[object]:
    """The ids of the items of a batch, or their rows."""
    if column is None:
        return list(range(batch.first, batch.first + len(batch.values)))
    rows = batch.batch.rows
    out: list[object] = rows.column(rows.schema.get_field_index(column)).to_pylist()
    return out


def _read(name: str) -> bytes:
    """The bytes of one text file, decompressed."""
    import pyarrow as pa

    from lookalike.config import default_memory
    from lookalike.errors import InputError
    from lookalike.io import open_files

    source = open_files([name], format="text", memory=default_memory())
    if len(source.files) != 1:
        raise InputError(f"{name} is {len(source.files)} files: compare takes two files")
    batch = next(iter(source.batches(["text"])))
    text: bytes = batch.rows.column(0).cast(pa.large_binary())[0].as_py()
    return text
