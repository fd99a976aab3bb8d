"""`lookalike clusters`: groups of similar items."""

from __future__ import annotations

from lookalike.cli import options as o
from lookalike.wording.phrases import counted

__all__ = ["clusters"]


def clusters(
    inputs: o.Inputs = None,
    output: o.Output = None,
    measure: o.Measure = None,
    threshold: o.Threshold = None,
    max_distance: o.MaxDistance = None,
    recall: o.Recall = 0.99,
    column: o.Column = None,
    vectors: o.Vectors = None,
    sets: o.Sets = None,
    edges: o.Edges = None,
    undirected: o.Undirected = False,
    images: o.Images = None,
    features: o.Features = None,
    size: o.Size = None,
    id: o.Id = None,
    shingle: o.Shingle = None,
    normalize: o.Normalize = None,
    html: o.Html = False,
    max_share: o.MaxShare = None,
    weights: o.Weights = None,
    exact: o.Exact = False,
    cluster: o.Cluster = o.ClusterChoice.representative,
    keep: o.Keep = "first",
    verify: o.Verify = o.VerifyChoice.exact,
    group_by: o.GroupBy = None,
    format: o.Format = None,
    skip_bad: o.SkipBad = False,
    limit: o.Limit = None,
    overwrite: o.Overwrite = False,
    dry_run: o.DryRun = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
    bands: o.Bands = None,
    rows: o.Rows = None,
    tokens: o.Tokens = None,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    memory: o.Memory = None,
    workdir: o.Workdir = None,
    audit: o.Audit = 1000,
    strict: o.Strict = False,
) -> None:
    """Group similar items: `cluster`, `size`, `id`, `kept` (the item that stands for it) and `similarity` to it.

    Without -o the largest clusters are shown on the screen.

    Example: lookalike clusters news.parquet --id url --keep longest -o clusters.parquet
    """
    given = dict(locals())
    from lookalike.cli import job
    from lookalike.cli.terminal import print_json, show_table
    from lookalike.wording.printable import spelled

    job.check_output(output, overwrite=overwrite, dry_run=dry_run, json=json, table=True)
    found = job.prepare("clusters", given).find()
    from lookalike.io.writing.table_files import save_table
    from lookalike.runs.results import Clusters

    result = Clusters(found)
    if output is not None and not dry_run:
        save_table(result.table, output, overwrite=overwrite)
    elif not json and not dry_run:
        scale = found.config.scale
        nearest = (scale.column, "ascending" if scale.is_distance else "descending")
        by_size = result.table.sort_by([("size", "descending"), ("cluster", "ascending"), nearest])
        show_table(by_size, title="the largest clusters")
    if json:
        data = {"clusters": len(result), "seconds": job.elapsed(), "output": spelled(str(output)) if output else None}
        print_json(result.report | data)
    items = f"{result.table.num_rows:,} among {counted(found.counts.items, 'item')}"
    headline = f"{counted(len(result), 'cluster')} of {items}{job.by_measure(found)}"
    job.summary(found, headline, result.report, quiet=quiet)
