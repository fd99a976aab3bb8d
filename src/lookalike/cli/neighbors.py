"""`lookalike neighbors`: the nearest items of each query."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from lookalike.cli import options as o

__all__ = ["neighbors"]

Queries = Annotated[
    list[str] | None,
    typer.Option(
        "--queries", metavar="FILE", show_default=False,
        help="What to search for, read as the items are: files, or folders of pictures with --images; may be given "
        "several times. Without it, each item among the others.",
    ),
]  # fmt: skip
Count = Annotated[int, typer.Option("-k", help="How many neighbours of each query.")]
Share = Annotated[float, typer.Option("--recall", help="Share of the true neighbours to be found; 1 compares all.")]
By = Annotated[str, typer.Option("--measure", help="cosine, euclidean or manhattan.")]


def neighbors(
    inputs: o.Inputs = None,
    queries: Queries = None,
    output: o.Output = None,
    k: Count = 10,
    recall: Share = 0.9,
    measure: By = "cosine",
    vectors: o.Vectors = None,
    images: o.Images = None,
    features: o.Features = None,
    size: o.Size = None,
    id: o.Id = None,
    format: o.Format = None,
    skip_bad: o.SkipBad = False,
    limit: o.Limit = None,
    overwrite: o.Overwrite = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
    seed: o.Seed = 0,
    threads: o.Threads = None,
) -> None:
    """Find the k nearest items of each query: the columns `query`, `rank`, `id`, and `similarity` or `distance`.

    Without -o the neighbours of the first queries are shown on the screen.

    Example: lookalike neighbors base.npy --queries queries.npy -k 10 -o nearest.parquet
    """
    from lookalike.cli import job
    from lookalike.cli.terminal import announce_compiling, print_json, progress_for, say, show_table
    from lookalike.wording.printable import spelled

    job.check_output(output, overwrite=overwrite, dry_run=False, json=json, table=True)
    from lookalike.config import default_memory
    from lookalike.io.copying.apart import Inputs
    from lookalike.io.input_options import InputOptions, open_inputs
    from lookalike.search.queries import find_neighbors

    announce_compiling(quiet)
    reading = InputOptions(
        format=format, skip_bad=skip_bad, limit=limit, images=bool(images), features=features, size=size,
        threads=threads or os.cpu_count() or 1, memory=default_memory(),
    )  # fmt: skip
    items, asked = [*(inputs or []), *(images or [])], queries or []
    job.check_inputs(inputs or [], images or [])
    source = open_inputs(items, reading)
    other = open_inputs(asked, reading) if asked else None
    read = Inputs([*items, *asked], [*source.files, *(other.files if other is not None else ())])
    job.refuse_nested(read, Inputs(), output, None)
    result = find_neighbors(
        source, other, k=k, recall=recall, measure=measure, vectors=o.typed(vectors), id=o.typed(id), seed=seed,
        threads=threads,
        skip_bad=skip_bad, progress=progress_for(quiet),
    )  # fmt: skip
    if output is not None:
        result.save(output, overwrite=overwrite)
    elif not json:
        show_table(result.table, title="the nearest of each query, nearest first")
    if json:
        print_json(result.report | {"seconds": job.elapsed(), "output": spelled(str(output)) if output else None})
    say(f"{result.headline}, in {job.elapsed():.1f} s", quiet=quiet)
    for note in result.notes:
        say(f"  {note}", quiet=quiet)
