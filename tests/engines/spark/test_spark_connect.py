"""Sessions of Spark Connect, where driver and user are two processes, give the same result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import lookalike
from tests.engines.spark import connect_run
from tests.engines.spark.test_spark_pairs import rows

pytestmark = pytest.mark.spark


@pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="there is no Java")
def test_a_connect_session_gives_the_same(tmp_path: Path) -> None:
    table = rows()
    pq.write_table(table, tmp_path / "rows.parquet")
    options: dict[str, Any] = {
        "column": "text",
        "threshold": 0.5,
        "shingle": "word:2",
        "bands": 5,
        "rows": 3,
        "id": "id",
        # So that tasks share document counts, which come to them in another way than on a classic session.
        "max_share": 0.1,
    }
    command = [sys.executable, connect_run.__file__, str(tmp_path / "rows.parquet"), json.dumps(options)]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout)
    local = lookalike.dedup(table, **options)
    assert said["session"] == "pyspark.sql.connect.session"
    assert [tuple(row) for row in said["removed"]] == sorted(tuple(row.values()) for row in local.removed.to_pylist())
    assert said["kept"] == local.table.num_rows
    assert said["certificate"] == json.loads(json.dumps(local.report["certificate"]))
