"""Executors that are killed while a run is on change nothing; with speculation on, as in all tests of Spark here."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lookalike
import lookalike.spark
from lookalike.engines.packed import packed_clusters
from tests.engines.spark.test_spark_dedup import plain, rows_of
from tests.engines.spark.test_spark_pairs import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_DEADLINE = 120.0


def executors(session: SparkSession) -> list[int]:
    """The processes of the session's executors."""
    application = session.sparkContext.applicationId.encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and application in words:
            found.append(int(path.parent.name))
    return sorted(found)


class Killer(threading.Thread):
    """Kills an executor as soon as a stage begins to write, once for each stage that is named."""

    def __init__(self, session: SparkSession, folder: Path, stages: tuple[str, ...]) -> None:
        super().__init__(daemon=True)
        self._session, self._folder, self._stages = session, folder, stages
        self.killed: list[str] = []

    def run(self) -> None:
        until = time.monotonic() + _DEADLINE
        for stage in self._stages:
            while not list(self._folder.glob(f"lookalike-*/{stage}/_temporary")):
                if time.monotonic() > until:
                    return
                time.sleep(0.005)
            alive = executors(self._session)
            if alive:
                os.kill(alive[0], signal.SIGKILL)
                self.killed.append(stage)


def test_killed_executors_change_nothing(
    cluster: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In sketching, in verification, and in the rounds in which keepers are chosen."""
    monkeypatch.setattr(packed_clusters, "_ONE_TASK", 0)
    table, stages = rows(), ("sketches", "matches", "round-0-1")
    options: dict[str, Any] = {
        "column": "text",
        "id": "id",
        "threshold": 0.5,
        "shingle": "word:2",
        "bands": 5,
        "rows": 3,
    }
    killer = Killer(cluster, tmp_path, stages)
    killer.start()
    found = lookalike.spark.dedup(cluster.createDataFrame(table), work=str(tmp_path), **options)
    removed = plain(found.removed)
    killer.join(_DEADLINE)
    assert tuple(killer.killed) == stages
    local = lookalike.dedup(table, **options)
    assert removed == rows_of(local.removed)
    assert found.report["certificate"] == local.report["certificate"]
