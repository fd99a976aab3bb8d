"""A run on Spark: from a DataFrame and options to matches and clusters."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lookalike.cluster.keep import parse_keep
from lookalike.config import Config, check_options
from lookalike.engines.packed.frequency_stage import count_documents
from lookalike.engines.packed.keep_keys import KeepKeys
from lookalike.engines.packed.measured_carrier import MeasuredCarrier
from lookalike.engines.packed.numbering import Numbering
from lookalike.engines.packed.packed_clusters import PackedClusters, find_clusters
from lookalike.engines.packed.packed_job import PackedJob, PackedMatches
from lookalike.engines.planning import plan_run
from lookalike.engines.spark.frame_source import FrameSource
from lookalike.engines.spark.spark_carrier import SparkCarrier, plain_errors, settings
from lookalike.engines.spark.spark_files import SparkFiles
from lookalike.errors import InputError, OptionError
from lookalike.items.collection import open_collection
from lookalike.items.from_rows import Items
from lookalike.recipe import function_name
from lookalike.theory import Plan
from lookalike.wording.phrases import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkFound", "check_supported", "run_on_spark"]

# Keys of all bands that a task sorts: 20 bytes each, and as much again to sort them.
_ENTRIES = 2_000_000
# Shingles that a task counts, and how many a document may have that others do not.
_SHINGLES, _SHINGLES_EACH = 8_000_000, 250
# Up to a few tasks have less, down to a part of that, so that all cores have work.
_FEW_TASKS, _PART, _MOST_TASKS = 8, 32, 65_000


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
    # What the run's own items are compared against.
    against: FrameSource | None = None


def run_on_spark(
    given: DataFrame | SparkFiles,
    config: Config,
    *,
    verb: str,
    work: str | None,
    parts: int | None,
    resume: bool,
    against: DataFrame | SparkFiles | None = None,
) -> SparkFound:
    """All stages up to the matches and, unless pairs are asked for, who stays for whom."""
    check_supported(config)
    frame = given.frame if isinstance(given, SparkFiles) else given
    session = frame.sparkSession
    if resume and work is None:
        raise OptionError("resume needs the work folder of the run: give it with work")
    folder = _folder(session, work, _mark([given, *([] if against is None else [against])], config, verb, parts))
    carrier = SparkCarrier(session, folder, named=work is not None, resume=resume)
    with settings(session), plain_errors():
        source = FrameSource(given, config.id, carrier)
        other = None if against is None else _references(against, config, carrier)
        collection = open_collection(source, other, config)
        items = collection.items
        check_options(config, items.form)
        config = config.for_items(items.form, items.dimensions)
        source.check_ids()
        if other is not None:
            other.check_ids()
        keep = KeepKeys.of(parse_keep(config.keep), source.schema())
        frequencies = None
        if items.recipe.needs_frequencies:
            total = sum(part.source.count() or 0 for part in collection.parts)
            counting = parts or _tasks(total * _SHINGLES_EACH, _SHINGLES)
            read = [(items, source.unordered(_columns(items)))]
            if other is not None and collection.against is not None:
                read.append((collection.against, other.unordered(_columns(collection.against))))
            frequencies = count_documents(carrier, read, counting)
        plan, _ = plan_run(collection, config, frequencies, verb=verb)
        recipe = items.recipe.planned(plan)
        total = sum(part.source.count() or 0 for part in collection.parts) * max(1, recipe.bands)
        tasks = parts or _tasks(total, _ENTRIES)
        all_pairs = verb == "pairs"
        measured = MeasuredCarrier(carrier)
        job = PackedJob(
            measured, items, config, plan, recipe, tasks, all_pairs, None if all_pairs else keep, frequencies,
            collection.against,
        )  # fmt: skip
        more = (config.id, config.group_by, None if job.keep is None else job.keep.policy.column)
        rows, references = source.numbered([*items.columns, *(name for name in more if name)]), None
        if other is not None and collection.against is not None:
            part = collection.against
            references = other.numbered([*_columns(part), *([part.id] if part.id else [])])
        parts_of = [each.known_numbering() for each in (source, other) if each is not None]
        known = None if None in parts_of else Numbering.of({k: n for each in parts_of for k, n in (each or {}).items()})
        found = job.match(rows, references, known)
        _check_count(source, found.numbering.total - found.numbering.references, folder)
        if other is not None:
            _check_count(other, found.numbering.references, folder)
        clusters = None if all_pairs else find_clusters(job, found)
    found = found if clusters is None else clusters.found
    return SparkFound(session, frame, source, carrier, job, found, config, plan, measured, clusters, other)


def check_supported(config: Config) -> None:
    """Refuse what this engine does not do yet, before anything runs."""
    unsupported = {
        "verify": config.verify != "exact" or config.verify_text,
        "unit": config.unit != "document",
        "report_by": config.report_by is not None,
        "within": config.within,
        "with_text": config.with_text,
        "with_rows": config.with_rows,
        "min_words": config.min_words > 0,
        "min_count": config.min_count > 2,
        "only_against": config.only_against,
        "against_column": config.against_columns != config.columns,
        "against_id": config.against_id is not None,
    }
    for name, given in unsupported.items():
        if given:
            raise OptionError(f"{name} is not supported on Spark: leave it out, or run on one machine")


def _references(given: DataFrame | SparkFiles, config: Config, carrier: SparkCarrier) -> FrameSource:
    """The collection to compare against, which need not have ids."""
    columns = given.frame.columns if isinstance(given, SparkFiles) else given.columns
    return FrameSource(given, config.id if config.id in columns else None, carrier, against=True)


def _columns(items: Items) -> list[str]:
    """What items are made of."""
    return [*items.columns, *([items.group_by] if items.group_by else [])]


def _check_count(source: FrameSource, found: int, folder: str) -> None:
    """Refuse a run that was taken up with other rows than it was begun on."""
    if found != source.count():
        raise InputError(
            f"the run in {folder} was begun on {counted(found, 'row')}, and there are {source.count():,} now: name "
            "another folder with work"
        )


def _tasks(work: int, each: int) -> int:
    """How many tasks share the work. It goes by nothing but that: a run may be taken up on another cluster."""
    large, small = (max(1, -(-work // size)) for size in (each, each // _PART))
    return min(_MOST_TASKS, max(large, min(_FEW_TASKS, small)))


def _folder(session: SparkSession, work: str | None, mark: str) -> str:
    """Where stages are kept: below a folder that the user names, or, on one machine, in a temporary one."""
    if work is not None:
        return f"{work.rstrip('/')}/lookalike-{mark}"
    master = session.conf.get("spark.master", "") or ""
    if not master.startswith("local"):
        raise OptionError(
            f"work is needed on {master or 'a cluster'}: give a folder that all machines can reach (s3://…)"
        )
    folder = tempfile.mkdtemp(prefix="lookalike-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _mark(given: Sequence[DataFrame | SparkFiles], config: Config, verb: str, parts: int | None) -> str:
    """What runs with the same options on rows of the same columns, or on the same files, have in common."""
    tokens, keep = function_name(config.shingle.tokens), config.keep
    shingle = replace(config.shingle, tokens=None, normalize=frozenset())
    # What only says how a run is computed is left out, and sets are told in order.
    told = replace(config, shingle=shingle, threads=1, memory=1, keep=keep if isinstance(keep, str) else "")
    marks = [verb, repr(parts), repr(told), repr(sorted(config.shingle.normalize)), repr(tokens)]
    for each in given:
        if isinstance(each, SparkFiles):
            marks += [each.frame.schema.simpleString(), repr(each.places), repr(each.fingerprints)]
        else:
            marks.append(each.schema.simpleString())
    return hashlib.blake2b("\n".join(marks).encode(), digest_size=6).hexdigest()
