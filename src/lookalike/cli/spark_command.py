"""`--engine spark`: what `pairs`, `clusters` and `dedup` do on a cluster instead of this machine."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.cli import job
from lookalike.cli.command_options import PairsCommand
from lookalike.cli.stopwatch import elapsed
from lookalike.cli.terminal import SHOWN_ROWS, print_json, say, show_table
from lookalike.errors import OptionError
from lookalike.options import ConfigOptions
from lookalike.options.option_table import entries
from lookalike.wording.phrases import counted

if TYPE_CHECKING:
    from lookalike.config import Config
    from lookalike.engines.counts import Counts
    from lookalike.items.from_rows import Items
    from lookalike.runs.spark_results import SparkClusters, SparkDedup, SparkPairs
    from lookalike.runs.spark_run_folder import AddressedRun
    from lookalike.theory import Plan

__all__ = ["run_on_cluster"]

# Options of one machine, and what to do instead.
_REFUSED = {
    "workdir": "give a folder that all machines can reach with --work",
    "memory": "Spark decides the memory of executors",
    "threads": "Spark decides the cores of tasks",
    "limit": "give it fewer files",
    "images": "run it on one machine",
    "features": "run it on one machine",
    "size": "run it on one machine",
    "edges": "run it on one machine",
    "undirected": "run it on one machine",
    "add": "an index works on one machine only",
    "replace": "an index works on one machine only",
    "payload": "an index works on one machine only",
}


@dataclass(frozen=True)
class _Told:
    """What the summary is made of."""

    config: Config
    plan: Plan | None
    counts: Counts
    items: Items


def run_on_cluster(verb: str, table: Any, given: Mapping[str, Any]) -> None:
    """Check the options, run the verb on Spark, write the run folder and say what was found."""
    options = job.given_options(table, given)
    _check(table, options)
    options["tokens"] = job.load_tokens(options["tokens"])
    wanted = {name: options[name] for name in entries(ConfigOptions) if name in options and name != "memory"}
    wanted = {name: value for name, value in wanted.items() if name != "threads"}
    from lookalike.config import make_config
    from lookalike.engines.spark.spark_run import check_supported

    config = make_config(**wanted | {"threads": 1})
    check_supported(config)
    run = _run_folder(options)
    from lookalike.engines.spark.spark_files import SparkFiles, one_line_errors, open_session

    gc.enable()  # it was off while modules were loaded
    with open_session(options["master"]) as session, one_line_errors():
        files = SparkFiles(session, options["inputs"], options["format"], options["delimiter"])
        against = SparkFiles(session, options["against"]) if options.get("against") else None
        _check_apart(options, files, against)
        _found(verb, options, wanted, config, files, against, run)


def _check(table: Any, options: Mapping[str, Any]) -> None:
    """Refuse options that do not go with Spark before anything is started."""
    for name, instead in _REFUSED.items():
        if name in options and options[name] != entries(table)[name].option.default:
            raise OptionError(f"{name} does not go with --engine spark: {instead}")
    if table is PairsCommand and options["against"]:
        raise OptionError("pairs --against runs on one machine only: leave out --engine spark")
    job.check_inputs(options["inputs"] or [], [])
    output = options["output"]
    from lookalike.engines.spark.spark_files import check_addresses
    from lookalike.runs.spark_run_folder import check_spark_output, is_address

    check_addresses(options["inputs"], options["format"])
    _check_against(options.get("against") or [])
    if options["resume"] and options["work"] is None:
        raise OptionError("resume needs the work folder of the run: give it with --work")
    if output is None or options["dry_run"]:
        return
    check_spark_output(output, options["work"])
    if options["overwrite"] and is_address(output):
        raise OptionError(f"overwrite is for folders of this machine, and {output} is an address: choose another one")


def _run_folder(options: Mapping[str, Any]) -> Any:
    """The folder of the run, looked at before anything is started; None where nothing is written."""
    output = options["output"]
    if output is None or options["dry_run"]:
        return None
    from lookalike.runs.run_folder import RunFolder
    from lookalike.runs.spark_run_folder import AddressedRun, is_address

    run: RunFolder | AddressedRun
    if is_address(output):
        run = AddressedRun(output, resume=options["resume"])
    else:
        run = RunFolder(output, overwrite=options["overwrite"], resume=options["resume"])
    run.check()
    return run


def _check_against(addresses: list[str]) -> None:
    """Refuse an index to compare against."""
    from lookalike.engines.spark.spark_files import check_addresses
    from lookalike.index.index_folder import is_index
    from lookalike.index.redis_address import is_redis

    check_addresses(addresses, None)
    for each in addresses:
        if is_redis(each) or is_index(each):
            raise OptionError(f"against {each}: an index works on one machine only; leave out --engine spark")


def _check_apart(options: Mapping[str, Any], files: Any, against: Any) -> None:
    """Nothing may be read from where it is written."""
    from lookalike.io.copying.apart import Inputs, check_apart
    from lookalike.runs.spark_run_folder import is_address

    output, work = (
        None if name is None or is_address(name) else Path(name) for name in (options["output"], options["work"])
    )

    def inputs(given: list[str], files: Any) -> Inputs:
        local = [name for name in files.names if not is_address(name) and Path(name).exists()]
        return Inputs([name for name in given if not is_address(name)], local)

    other = Inputs() if against is None else inputs(options["against"], against)
    check_apart(inputs(options["inputs"], files), other, output, work, is_folder=True)


def _found(
    verb: str, options: dict[str, Any], wanted: dict[str, Any], config: Config, files: Any, against: Any, run: Any
) -> None:  # fmt: skip
    """Run the verb, write what it found, and say it."""
    import lookalike.spark
    from lookalike.runs.spark_run_folder import AddressedRun, describe_spark_run, write_spark_run
    from lookalike.wording.printable import spelled

    quiet, output = options["quiet"], options["output"]
    annotate = bool(options.get("annotate"))
    what = describe_spark_run(config, files, against, verb=verb, annotate=annotate)
    if run is not None and _is_finished(run, what, resume=options["resume"]):
        if options["json"]:
            print_json(run.report() | {"seconds": elapsed(), "output": spelled(output)})
        say(f"{output} is a finished run: nothing to do", quiet=quiet)
        return
    if annotate:
        from lookalike.engines.spark.spark_tables import check_annotation

        check_annotation(files.frame.columns, config.scale.column)
    how = {name: options[name] for name in ("work", "parts", "resume")}
    how |= {} if against is None else {"against": against}
    result = getattr(lookalike.spark, verb)(files, **how, **wanted)
    if run is not None:
        report = write_spark_run(result, run, what, annotate=annotate, closing=job.closing)
    else:
        report = result.report
        if not options["json"] and not options["dry_run"]:
            _show(verb, result)
    if options["json"]:
        where = None if run is None else run.address if isinstance(run, AddressedRun) else str(run.path)
        print_json(report | {"seconds": elapsed(), "output": None if where is None else spelled(where)})
    told = _Told(result.config, result.plan, result.counts, result.items_read)
    job.summary(told, _headline(verb, result, told, report), report, quiet=quiet)
    if against is not None:
        hits = counted(report["removed_against"], report["unit"])
        say(f"  {hits} removed because of a match in the other collection", quiet=quiet)
    if run is not None and report.get("pairs_left_out"):
        say(f"  no pairs: {report['pairs']:,} exceed --max-pairs {config.max_pairs:,}", quiet=quiet)


def _is_finished(run: Any, what: dict[str, Any], *, resume: bool) -> bool:
    """Whether there is nothing left to do."""
    from lookalike.runs.spark_run_folder import AddressedRun

    if isinstance(run, AddressedRun):
        return run.begin(what)
    if resume and run.finished:
        run.check_same(what)
        return True
    return False


def _show(verb: str, result: Any) -> None:
    """The first rows of what was found."""
    from lookalike.engines.spark.spark_carrier import spark_functions

    functions, scale = spark_functions(), result.config.scale
    nearest = functions.col(scale.column).asc() if scale.is_distance else functions.col(scale.column).desc()
    if verb == "pairs":
        title = "the nearest pairs" if scale.is_distance else "the most similar pairs"
        return show_table(result.table.orderBy(nearest).limit(SHOWN_ROWS).toArrow(), title=title, of=len(result))
    if verb == "clusters":
        order = [functions.col("size").desc(), functions.col("cluster"), nearest]
        return show_table(result.table.orderBy(*order).limit(SHOWN_ROWS).toArrow(), title="the largest clusters")
    removed = result.removed.orderBy(functions.col(scale.column)).limit(SHOWN_ROWS).toArrow()
    title = f"removed {result.report['unit']}s (nothing is written without -o)"
    return show_table(removed, title=title, of=result.report["removed"], whole="-o FOLDER")


def _headline(
    verb: str, result: SparkPairs | SparkClusters | SparkDedup, told: _Told, report: dict[str, Any]
) -> str:  # fmt: skip
    items = counted(told.counts.items, "item")
    if verb == "pairs":
        at = "of identical items" if told.config.exact else f"at {job.limit_words(told)}"
        return f"{counted(len(result), 'pair')} {at} among {items}, on Spark"
    if verb == "clusters":
        return f"{counted(len(result), 'cluster')} among {items}{job.by_measure(told)}, on Spark"
    kept = f"kept {report['kept']:,} of {counted(report['items'], report['unit'])}"
    return f"{kept}, removed {report['removed']:,}{job.by_measure(told)}, on Spark"
