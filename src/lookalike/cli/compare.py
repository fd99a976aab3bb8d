"""`lookalike compare`: how similar two files are, and what they share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from lookalike.cli.command_options import CompareCommand, command, typed
from lookalike.errors import OptionError
from lookalike.options.option_table import checked
from lookalike.wording.phrases import measure_words

if TYPE_CHECKING:
    import pyarrow as pa

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
    shingle, normalize, scored = values["shingle"] or "word:5", values["normalize"], None
    for name in ("id", "column", "delimiter"):
        if values[name] is not None and values["of"] is None:
            raise OptionError(f"{name} (--{name}) needs the collection: add --of")
    if values["of"] is not None:
        key, column = typed(values["id"]), typed(values["column"])
        run, texts = _items(typed(values["of"]), (typed(a), typed(b)), key, column, values["delimiter"])
        if run is not None:
            scored = _scored(run, (typed(a), typed(b)))
        if run is not None and values["shingle"] is None:
            # Columns have shingles of their own; words show what they share.
            shingle = "word:1" if run.options["compare"] else run.options["shingle"]
            normalize = normalize or run.options["normalize"] or "none"
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
            | ({} if scored is None else {"measure": scored.what, scored.column: scored.score})
        )
        return
    console = out()
    what = "files" if values["of"] is None else "items"
    same = f"  (the {what} are identical)" if texts[0] == texts[1] else ""
    if scored is not None:
        told = "unknown without the whole collection" if scored.score is None else f"{scored.score:.4f}"
        tell(console, f"{told} is the {scored.what}, as in the run")
    console.print(f"Jaccard similarity [bold]{found.similarity:.4f}[/] on {parsed} shingles{same}")
    tell(
        console,
        f"{found.both:,} shared of {found.size_a:,} and {found.size_b:,} shingles; "
        f"{found.a_in_b:.1%} of A is in B, {found.b_in_a:.1%} of B is in A",
    )
    if lines and not quiet:
        print_side_by_side(console, (a, b), texts, (found.shared_a, found.shared_b), rows=lines)


@dataclass(frozen=True)
class _Scored:
    """What a run compared its items by, where that is not their Jaccard similarity, and what it says of two of them.

    The score is None where it takes more than the two: document frequencies.
    """

    what: str
    column: str
    score: float | None


def _scored(run: Run, names: tuple[str, str]) -> _Scored | None:
    import numpy as np

    from lookalike.config import make_config
    from lookalike.io import open_source
    from lookalike.items.from_rows import open_items
    from lookalike.measures import measure_of

    options = run.options
    if options["measure"] in (None, "jaccard"):
        return None
    taken = ("compare", "measure", "max_distance", "shingle", "normalize", "weights", "threshold")
    given = {name: options[name] for name in taken if options[name] not in (None, [])}
    if options["compare"]:
        given = {name: value for name, value in given.items() if name not in ("measure", "shingle")}
    config = make_config(**given, column=None if options["compare"] else run.columns)
    items = open_items(open_source(_rows_of(run, names)), config)
    config, on = config.for_items(items.form, items.dimensions), f" on {items.kind}"
    what = f"{measure_words(config.scale.measure, config.scale.column)}{on}"
    if items.recipe.needs_frequencies:
        return _Scored(what, config.scale.column, None)
    measure = measure_of(items.recipe)
    judge = measure.judge(config)
    assert judge is not None
    rows = judge.rows(measure.represent(next(items.batches()).values))
    score = judge.similarity(judge.compare(*rows, np.array([0]), np.array([1]), judge.lowest))
    return _Scored(what, config.scale.column, float(config.scale.told(score)[0]))


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


def _rows_of(run: Run, names: tuple[str, str]) -> pa.Table:
    """The columns that were compared, of two rows."""
    import pyarrow as pa

    from lookalike.errors import InputError

    try:
        rows = run.rows_of(pa.array([int(name) for name in names] if run.id is None else list(names)))
        return run.take(rows).select(run.columns)
    except (ValueError, IndexError) as error:
        raise InputError(f"{run.path} has no items {names[0]!r} and {names[1]!r}: {error}") from None


def _of_run(run: Run, names: tuple[str, str]) -> dict[str, bytes]:
    by_column = bool(run.options["compare"])
    texts = (
        "\n".join(f"{name}: {value}" if by_column else str(value) for name, value in row.items() if value is not None)
        for row in _rows_of(run, names).to_pylist()
    )
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
