"""One Spark cluster for all tests: two executors, which are processes of their own, on this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session; its files are below a folder that is thrown away."""
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
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("lookalike tests")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
