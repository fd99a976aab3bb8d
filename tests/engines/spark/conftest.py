"""The Spark sessions of all tests: a cluster of two executors, which are processes of their own, and one process."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from lookalike.engines.spark import spark_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def tasks_of_few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred items go to two tasks, and not to one."""
    monkeypatch.setattr(spark_run, "_ENTRIES", 32_000)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with two executors, which are processes of their own."""
    return _session("local-cluster[2,1,1024]", tmp_path_factory)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session in one process."""
    return _session("local[2]", tmp_path_factory)


def _session(master: str, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The session of this process, which has one at a time; its files are below a folder that is thrown away."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java: make java installs it")
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    # Where executors write, and the Python that runs the tasks, which must have this package.
    os.environ |= {"SPARK_WORKER_DIR": str(folder / "work"), "PYSPARK_PYTHON": sys.executable}
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.default.parallelism": "3",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "ERROR",
        # It takes as long as these small tests do; the test of Connect has it.
        "spark.sql.adaptive.enabled": "false",
        # Three young virtual machines on few cores are busy with compiling themselves more than with the tests.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # Any task may run twice.
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.minTaskRuntime": "100ms",
        "spark.ui.showConsoleProgress": "false",
        # As above: what takes a task on a few hundred rows is not worth a compiler.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    builder = SparkSession.builder.master(master).appName("lookalike tests")
    for name, value in options.items():
        builder = builder.config(name, value)
    there = SparkSession.getActiveSession()
    if there is not None and there.conf.get("spark.master") == master:
        return there
    if there is not None:
        there.stop()
    return builder.getOrCreate()
