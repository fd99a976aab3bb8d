"""`lookalike neighbors`: the nearest items of each query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o

__all__ = ["neighbors"]

Items = Annotated[str, typer.Argument(metavar="ITEMS", help="The vectors that are searched: .npy, .npz, Parquet, ….")]
Queries = Annotated[
    str | None,
    typer.Argument(metavar="[QUERIES]", help="The vectors to search for; without them, each item among the others."),
]
Count = Annotated[int, typer.Option("-k", help="How many neighbours of each query.")]
Share = Annotated[float, typer.Option("--recall", help="Share of the true neighbours to be found; 1 compares all.")]
By = Annotated[str, typer.Option("--measure", help="cosine, euclidean or manhattan.")]


def neighbors(
    items: Items,
    queries: Queries = None,
    output: o.Output = None,
    k: Count = 10,
    recall: Share = 0.9,
    measure: By = "cosine",
    vectors: o.Vectors = None,
    id: o.Id = None,
    format: o.Format = None,
    limit: o.Limit = None,
    overwrite: o.Overwrite = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
    seed: o.Seed = 0,
    threads: o.Threads = None,
) -> None:
    """Find the k nearest items of each query: the columns `query`, `rank`, `id`, and `similarity` or `distance`.

    Without -o the neighbours of the first queries are shown on the screen.

    Example: lookalike neighbors base.npy queries.npy -k 10 -o nearest.parquet
    """
    from lookalike.cli import job
    from lookalike.cli.terminal import announce_compiling, print_json, progress_for, say, show_table

    job.check_output(output, overwrite=overwrite, dry_run=False, json=json, table=True)
    from lookalike.io import open_files
    from lookalike.searching import find_neighbors

    announce_compiling(quiet)
    source, other = (
        None if name is None else open_files([name], format=format, limit=limit) for name in (items, queries)
    )
    assert source is not None
    _refuse(output, items, queries)
    result = find_neighbors(
        source, other, k=k, recall=recall, measure=measure, column=vectors, id=id, seed=seed, threads=threads,
        progress=progress_for(quiet),
    )  # fmt: skip
    if output is not None:
        result.save(output, overwrite=overwrite)
    elif not json:
        show_table(result.table, title="the nearest, nearest first")
    if json:
        print_json(result.report | {"seconds": job.elapsed(), "output": str(output) if output else None})
    asked = "1 query" if len(result) == 1 else f"{len(result):,} queries"
    say(f"{asked} in {job.elapsed():.1f} s: {result.plan}", quiet=quiet)


def _refuse(output: Path | None, *inputs: str | None) -> None:
    from lookalike.errors import OptionError

    if output is not None and any(name is not None and Path(name).absolute() == output.absolute() for name in inputs):
        raise OptionError(f"{output} is an input too: write somewhere else")
