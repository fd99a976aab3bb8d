"""Sessions of Spark Connect, where driver and user are two processes, give the same result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.engines.spark import connect_run
from tests.engines.spark.same_cases import ON_CONNECT, on_one_machine

pytestmark = pytest.mark.spark


@pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="there is no Java")
def test_a_connect_session_gives_the_same() -> None:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", connect_run.__name__]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout)
    assert said["session"] == "pyspark.sql.connect.session"
    for case in ON_CONNECT:
        assert said["told"][case] == json.loads(json.dumps(on_one_machine(case))), case
