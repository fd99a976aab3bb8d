"""What runs on Spark give back: DataFrames with a short face, and the report of the local engine."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.config import Config
from lookalike.engines.counts import Counts
from lookalike.engines.evidence import Evidence, histogram_steps
from lookalike.engines.packed.lookup_stage import CountByFile
from lookalike.engines.packed.numbering import NUMBER
from lookalike.engines.packed.packed_clusters import ListedClusters, list_clusters
from lookalike.engines.packed.packed_evidence import Weighed, evidence_of, median_size, weigh_matches
from lookalike.engines.packed.tallies import Tallies
from lookalike.engines.spark.frame_source import FrameSource
from lookalike.engines.spark.spark_carrier import plain_errors, settings, spark_functions
from lookalike.engines.spark.spark_run import SparkFound
from lookalike.engines.spark.spark_tables import (
    annotated_rows,
    ids_of_places,
    kept_rows,
    listed_pairs,
    members_of_clusters,
    removed_items,
)
from lookalike.errors import CertificateError
from lookalike.items.from_rows import Items
from lookalike.report.certificate import certify
from lookalike.report.plain_data import (
    CLUSTERS_ALONE,
    RunFacts,
    cluster_classes,
    compared,
    hits_by_file,
    report_of,
    sources_by,
    warnings,
)
from lookalike.theory import Plan
from lookalike.types import I64Array
from lookalike.wording.phrases import counted
from lookalike.wording.printable import spelled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkClusters", "SparkDedup", "SparkPairs"]


class _SparkResult:
    """What a run on Spark found."""

    def __init__(self, run: SparkFound) -> None:
        self._run = run
        if run.config.strict and self.certificate is not None and self.certificate["alarms"]:
            raise CertificateError(f"strict: {'; '.join(self.certificate['alarms'])}; nothing is given back")

    @property
    def found(self) -> SparkFound:
        """Everything that the run found."""
        return self._run

    @property
    def plan(self) -> Plan | None:
        """The plan that ran; None for identical items, which need none."""
        return self._run.plan

    @property
    def config(self) -> Config:
        """What was asked for."""
        return self._run.config

    @property
    def items_read(self) -> Items:
        """Which columns were compared, and as what."""
        return self._run.job.items

    @property
    def counts(self) -> Counts:
        """Every count, as the local engine has them."""
        return self._evidence.counts

    @cached_property
    def items(self) -> DataFrame:
        """All rows of the input, with what the results call them in a column `item` before the others."""
        run = self._run
        if run.source.by_id:
            return run.frame.select(spark_functions().col(f"`{run.config.id}`").alias("item"), "*")
        if run.config.id is None:
            return run.source.with_places(run.found.numbering, "item")
        return run.source.rows.select(spark_functions().col(f"`{run.config.id}`").alias("item"), "*").drop(NUMBER)

    @cached_property
    def _weighed(self) -> Weighed:
        with settings(self._run.session), plain_errors():
            return weigh_matches(self._run.job, self._run.found)

    @cached_property
    def _evidence(self) -> Evidence:
        run = self._run
        with settings(run.session), plain_errors():
            return evidence_of(run.job, run.found, self._weighed, run.clusters)

    @property
    def certificate(self) -> dict[str, Any] | None:
        """How much of what there is was found; None for identical items, all of which are."""
        run = self._run
        if run.plan is None:
            return None
        about = f"{run.config.scale} on {compared(run.job.items)}"
        return certify(run.config, run.plan, self._evidence, run.found.audited, about)

    @cached_property
    def report(self) -> dict[str, Any]:
        """What went in, what was found and how: every count, cap, skip and replacement."""
        run, evidence = self._run, self._evidence
        binned = np.zeros(histogram_steps(run.config.scale) + 1, np.int64)
        for place, pairs in self._weighed.bins.items():
            binned[place] = pairs
        binned[-1] += evidence.within
        facts = RunFacts(
            run.config, run.job.items, run.plan, evidence.counts, self._weighed.pairs, binned,
            median_size(run.found), self.certificate, run.carrier.seconds,
            against=None if run.against is None else run.against.files,
        )  # fmt: skip
        out = report_of(facts, partial(ids_of_places, run)) | self._of_clusters()
        with settings(run.session), plain_errors():
            figures = run.measured.figures()
        for stage in out["stages"]:
            if stage["name"] in figures:
                stage |= figures[stage["name"]].as_dict()
        return out | {"warnings": warnings(out)}

    def _of_clusters(self) -> dict[str, Any]:
        """What a report says about clusters."""
        return {}


class SparkPairs(_SparkResult):
    """Similar pairs: the columns `a`, `b` and `similarity`, each pair once, as a DataFrame in no order."""

    def __init__(self, run: SparkFound) -> None:
        super().__init__(run)
        # Made at once, so that too many pairs are refused before anybody asks for them.
        self.table: DataFrame = listed_pairs(run)

    def __len__(self) -> int:
        return self._run.found.counts["pairs"]

    def __repr__(self) -> str:
        return f"{counted(len(self), 'pair')} of {counted(self._run.found.counts['items'], 'item')}, on Spark"


class _WithClusters(_SparkResult):
    """What a run on Spark found that made clusters."""

    @cached_property
    def _listed(self) -> ListedClusters:
        run = self._run
        assert run.clusters is not None
        with settings(run.session), plain_errors():
            return list_clusters(run.job, run.clusters)

    def _of_clusters(self) -> dict[str, Any]:
        counts, listed = self._run.found.counts, self._listed
        return self._hits() | {
            "unit": "document" if self._run.job.items.traits.is_text else self._run.job.items.traits.noun,
            "kept": counts["items"] - counts["removed"],
            "removed": counts["removed"],
            "clusters": listed.clusters,
            "largest_cluster": listed.largest,
            "cluster_sizes": cluster_classes(listed.classes),
            "sources": self._sources(),
        }

    def _hits(self) -> dict[str, Any]:
        """How many items were removed for one of the other collection, and which of its files those are from."""
        run = self._run
        if run.against is None or run.clusters is None:
            return {}
        out: dict[str, Any] = {"removed_against": run.found.counts["removed_against"]}
        if run.against.files:
            out["hits"] = hits_by_file(run.against.files, self._removed_by(run.against, hits=True))
        return out

    def _sources(self) -> dict[str, Any]:
        """How much each file lost, where items are of files."""
        files = self._run.source.files
        if not files:
            return {}
        items = np.diff([*self._run.source.first_rows(), self._run.found.counts["items"]])
        removed = self._removed_by(self._run.source, hits=False)
        return sources_by([spelled(name) for name in files], items, items - removed, "file")

    def _removed_by(self, source: FrameSource, *, hits: bool) -> I64Array:
        """Of each file how many items were removed, or how many were removed for one of it."""
        run, firsts = self._run, np.array(source.first_rows())
        assert run.clusters is not None
        work = CountByFile(run.found.numbering, firsts + (0 if hits else run.found.numbering.references), hits)
        with settings(run.session), plain_errors():
            made = run.carrier.map(run.clusters.removed, work, ("counts",))
            told = Tallies.merged(run.carrier.collect(made, "counts")[0])
        return np.array([told.get(str(file), 0) for file in range(len(source.files))], np.int64)

    def _members(self) -> DataFrame:
        return members_of_clusters(self._run, self._listed)


class SparkClusters(_WithClusters):
    """Clusters of two or more items: `cluster`, `size`, `id`, `kept` (the id that stands for it), `similarity`."""

    @cached_property
    def table(self) -> DataFrame:
        return self._members()

    def _of_clusters(self) -> dict[str, Any]:
        found = super()._of_clusters()
        return {name: found[name] for name in CLUSTERS_ALONE}

    def __len__(self) -> int:
        """The number of clusters."""
        return self._listed.clusters

    def __repr__(self) -> str:
        return f"{counted(len(self), 'cluster')} among {counted(self._run.found.counts['items'], 'item')}, on Spark"


class SparkDedup(_WithClusters):
    """What stays and what goes, as DataFrames in no order.

    `table` has the kept rows with all their columns; `removed` the columns `id`, `kept`, `similarity`; `clusters` those
    of `SparkClusters.table`. `annotated` has all rows, with `cluster`, `cluster_size`, `duplicate_of` and `similarity`
    beside their columns.
    """

    @cached_property
    def table(self) -> DataFrame:
        return kept_rows(self._run, self.removed)

    @cached_property
    def removed(self) -> DataFrame:
        return removed_items(self._run)

    @cached_property
    def clusters(self) -> DataFrame:
        return self._members()

    @cached_property
    def annotated(self) -> DataFrame:
        return annotated_rows(self._run, self._listed)

    def _of_clusters(self) -> dict[str, Any]:
        pairs = self._weighed.pairs
        return super()._of_clusters() | {"pairs_left_out": pairs if pairs > self._run.config.max_pairs else 0}

    @cached_property
    def pairs(self) -> DataFrame:
        """The pairs that it was decided by; refused where they are more than `max_pairs`."""
        return listed_pairs(self._run)

    def __len__(self) -> int:
        """How many rows stay."""
        return self._run.found.counts["items"] - self._run.found.counts["removed"]

    def __repr__(self) -> str:
        items = self._run.found.counts["items"]
        return f"{len(self):,} of {counted(items, 'item')} kept, {items - len(self):,} removed, on Spark"
