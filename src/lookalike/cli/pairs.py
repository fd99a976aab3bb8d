"""`lookalike pairs`: every pair of similar items."""

from __future__ import annotations

from lookalike.cli import options as o
from lookalike.wording.phrases import counted

__all__ = ["pairs"]


def pairs(
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
    max_pairs: o.MaxPairs = 10**9,
    memory: o.Memory = None,
    workdir: o.Workdir = None,
    audit: o.Audit = 1000,
    strict: o.Strict = False,
) -> None:
    """List every pair of similar items: the columns `a`, `b` and `similarity`, each pair once, sorted.

    Without -o the most similar pairs are shown on the screen.

    Example: lookalike pairs docs.jsonl --id id -t 0.8 -o pairs.parquet
    """
    given = dict(locals())
    from lookalike.cli import job
    from lookalike.cli.terminal import SHOWN_ROWS, print_json, progress_for, show_table
    from lookalike.wording.printable import spelled

    job.check_output(output, overwrite=overwrite, dry_run=dry_run, json=json, table=True)
    found = job.prepare("pairs", given).find()
    from lookalike.engines.local.result_tables import most_similar
    from lookalike.runs.results import Pairs

    result = Pairs(found)
    if output is not None and not dry_run:
        result.save(output, overwrite=overwrite, progress=progress_for(quiet))
    elif not json and not dry_run:
        title = "the nearest pairs" if found.config.scale.is_distance else "the most similar pairs"
        show_table(most_similar(found, SHOWN_ROWS), title=title, of=len(result))
    if json:
        print_json(result.report | {"seconds": job.elapsed(), "output": spelled(str(output)) if output else None})
    at = "of identical items" if exact else f"at {job.limit_words(found)}"
    headline = f"{counted(len(result), 'pair')} {at} among {counted(found.counts.items, 'item')}"
    job.summary(found, headline, result.report, quiet=quiet)
