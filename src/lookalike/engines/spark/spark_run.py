"""A run on Spark: from a DataFrame and options to matches and clusters."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lookalike.cluster.keep import parse_keep
from lookalike.config import Config, check_options
from lookalike.engines.packed.frequency_stage import count_documents
from lookalike.engines.packed.keep_keys import KeepKeys
from lookalike.engines.packed.measured_carrier import MeasuredCarrier
from lookalike.engines.packed.packed_clusters import PackedClusters, find_clusters
from lookalike.engines.packed.packed_job import PackedJob, PackedMatches
from lookalike.engines.planning import plan_run
from lookalike.engines.spark.frame_source import FrameSource
from lookalike.engines.spark.spark_carrier import SparkCarrier, SparkTable, plain_errors, settings
from lookalike.engines.spark.spark_files import SparkFiles
from lookalike.errors import InputError, OptionError
from lookalike.items.collection import open_collection
from lookalike.items.from_rows import Items
from lookalike.measure_table import form_named
from lookalike.recipe import function_name
from lookalike.theory import Plan
from lookalike.wording.phrases import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkFound", "check_supported", "run_on_spark"]

# Keys of all bands that a task sorts: 20 bytes each, and as much again to sort them.
_ENTRIES = 2_000_000
_MOST_PARTS = 65_000
# Shingles that a task counts, and how many a document may have that others do not.
_SHINGLES, _SHINGLES_EACH = 8_000_000, 250


@dataclass(frozen=True)
class SparkFound:
    """A finished run: how it was planned, and what it found."""

    session: SparkSession
    frame: DataFrame
    source: FrameSource
    carrier: SparkCarrier
    job: PackedJob
    found: PackedMatches
    config: Config
    plan: Plan | None
    # The carrier of the job, which tells what each stage took.
    measured: MeasuredCarrier
    clusters: PackedClusters | None = None


def run_on_spark(
    given: DataFrame | SparkFiles, config: Config, *, verb: str, work: str | None, parts: int | None, resume: bool
) -> SparkFound:
    """All stages up to the matches and, unless pairs are asked for, who stays for whom."""
    check_supported(config)
    files = given if isinstance(given, SparkFiles) else None
    frame = given.frame if isinstance(given, SparkFiles) else given
    session = frame.sparkSession
    if resume and work is None:
        raise OptionError("resume goes on with a run in its work folder: name that with work")
    folder = _folder(session, work, _mark(frame, files, config, verb))
    carrier = SparkCarrier(session, folder, named=work is not None, resume=resume)
    with settings(session), plain_errors():
        source = FrameSource(given, config.id, carrier)
        collection = open_collection(source, None, config)
        items = collection.items
        check_options(config, items.form)
        config = replace(config, measure=config.measure or form_named(items.form).measure)
        _check_items(config, items)
        source.check_ids()
        keep = KeepKeys.of(parse_keep(config.keep), source.schema())
        frequencies = None
        if items.recipe.needs_frequencies:
            rows = source.count() or 0
            counting = parts or min(_MOST_PARTS, max(_cores(session), -(-rows * _SHINGLES_EACH // _SHINGLES)))
            frequencies = count_documents(carrier, items, _unordered(source, frame, items), counting)
        plan, _ = plan_run(collection, config, frequencies, verb=verb)
        recipe = items.recipe.planned(plan)
        total = (source.count() or 0) * max(1, recipe.bands)
        tasks = parts or min(_MOST_PARTS, max(_cores(session), -(-total // _ENTRIES)))
        all_pairs = verb == "pairs"
        measured = MeasuredCarrier(carrier)
        job = PackedJob(
            measured, items, config, plan, recipe, tasks, all_pairs, None if all_pairs else keep, frequencies
        )
        more = (config.id, config.group_by, None if job.keep is None else job.keep.policy.column)
        found = job.match(source.numbered([*items.columns, *(name for name in more if name)]))
        if found.numbering.total != source.count():
            raise InputError(
                f"the run in {folder} was begun on {counted(found.numbering.total, 'row')}, and there are "
                f"{source.count():,} now: name another folder with work"
            )
        clusters = None if all_pairs else find_clusters(job, found)
    found = found if clusters is None else clusters.found
    return SparkFound(session, frame, source, carrier, job, found, config, plan, measured, clusters)


def check_supported(config: Config) -> None:
    """Refuse what this engine does not do yet, before anything runs."""
    unsupported = {
        "verify": config.verify != "exact" or config.verify_text,
        "unit": config.unit != "document",
        "report_by": config.report_by is not None,
    }
    for name, given in unsupported.items():
        if given:
            raise OptionError(f"{name} is not supported on Spark yet: leave it out, or run it on one machine")


def _check_items(config: Config, items: Items) -> None:
    """Refuse what this engine does not do yet with items of this form, before any of them is read as a whole."""
    if items.recipe.traits.directed:
        raise OptionError(f"{config.measure} is not supported on Spark yet: run it on one machine")


def _unordered(source: FrameSource, frame: DataFrame, items: Items) -> SparkTable:
    """The rows for a stage that does not ask for their order, without sorting them."""
    columns = [*items.columns, *([items.group_by] if items.group_by else [])]
    if items.id is None:
        return source.numbered(columns)
    return SparkTable(frame.select(*(f"`{name}`" for name in dict.fromkeys(columns))), ())


def _cores(session: SparkSession) -> int:
    """How many tasks the user has exchanges make, at most as many as cores are likely."""
    return max(1, min(64, int(session.conf.get("spark.sql.shuffle.partitions", "8") or 8)))


def _folder(session: SparkSession, work: str | None, mark: str) -> str:
    """Where stages are kept: below a folder that the user names, or, on one machine, in a temporary one."""
    if work is not None:
        return f"{work.rstrip('/')}/lookalike-{mark}"
    master = session.conf.get("spark.master", "") or ""
    if not master.startswith("local"):
        raise OptionError(f"work is needed on {master or 'a cluster'}: name a folder that all machines reach (s3://…)")
    folder = tempfile.mkdtemp(prefix="lookalike-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _mark(frame: DataFrame, files: SparkFiles | None, config: Config, verb: str) -> str:
    """What runs with the same options on rows of the same columns, or on the same files, have in common."""
    tokens, keep = function_name(config.shingle.tokens), config.keep
    shingle = replace(config.shingle, tokens=None, normalize=frozenset())
    # What only says how a run is computed is left out, and sets are told in order.
    told = replace(config, shingle=shingle, threads=1, memory=1, keep=keep if isinstance(keep, str) else "")
    parts = [verb, repr(told), repr(sorted(config.shingle.normalize)), repr(tokens), frame.schema.simpleString()]
    if files is not None:
        parts += [repr(files.places), repr(files.fingerprints)]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()
