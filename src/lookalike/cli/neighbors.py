"""`lookalike neighbors`: the nearest items of each query."""

from __future__ import annotations

import os
from typing import Unpack

from lookalike.cli.command_options import NeighborsCommand, command, typed
from lookalike.cli.stopwatch import elapsed
from lookalike.cli.waiting import WAITING
from lookalike.options import NeighborsOptions
from lookalike.options.option_table import checked, entries

__all__ = ["neighbors"]


@command(NeighborsCommand)
def neighbors(**given: Unpack[NeighborsCommand]) -> None:
    """Find the k nearest items of each query: the columns `query`, `rank`, `id`, and `similarity` or `distance`.

    Without -o it shows the neighbours of the first queries.

    Example: lookalike neighbors base.npy --queries queries.npy -k 10 -o nearest.parquet

    Example: lookalike neighbors log.csv --edges user,item -o similar-users.csv
    """
    overwrite, quiet, json = given["overwrite"], given["quiet"], given["json"]
    if not quiet:
        WAITING.begin()
    from lookalike.cli import job
    from lookalike.cli.terminal import announce_compiling, print_json, progress_for, say, show_table
    from lookalike.wording.printable import spelled

    output = job.path_of(given["output"])
    job.check_output(output, overwrite=overwrite, dry_run=False, json=json, table=True)
    from lookalike.config import default_memory
    from lookalike.io import check_delimiter
    from lookalike.io.copying.apart import Inputs
    from lookalike.io.input_options import InputOptions, open_inputs
    from lookalike.measure_table import check_measure
    from lookalike.search.queries import find_neighbors

    announce_compiling(quiet)
    values = checked(NeighborsCommand, given)
    values["tokens"] = job.load_tokens(values["tokens"])
    threads, images, inputs = values["threads"], values["images"] or [], values["inputs"] or []
    reading = InputOptions(
        format=values["format"], delimiter=values["delimiter"], skip_bad=values["skip_bad"],
        limit=values["limit"], edges=values["edges"], undirected=values["undirected"],
        negative=values["measure"] is not None and check_measure(values["measure"]) == "cosine", images=bool(images),
        features=values["features"], size=values["size"], threads=threads or os.cpu_count() or 1,
        memory=default_memory(),
    )  # fmt: skip
    items, asked = [*inputs, *images], values["queries"] or []
    job.check_inputs(inputs, images)
    source = open_inputs(items, reading)
    other = open_inputs(asked, reading) if asked else None
    check_delimiter(values["delimiter"], source, other)
    read = Inputs([*items, *asked], [*source.files, *(other.files if other is not None else ())])
    job.refuse_nested(read, Inputs(), output, None)
    wanted = {name: typed(values[name]) for name in entries(NeighborsOptions) if name in values}
    result = find_neighbors(source, other, wanted, progress_for(quiet))
    if output is not None:
        result.save(output, overwrite=overwrite)
    elif not json:
        show_table(result.table, title="the nearest of each query, nearest first")
    if json:
        print_json(result.report | {"seconds": elapsed(), "output": spelled(str(output)) if output else None})
    say(f"{result.headline}, in {elapsed():.1f} s", quiet=quiet)
    for note in result.notes:
        say(f"  {note}", quiet=quiet)
