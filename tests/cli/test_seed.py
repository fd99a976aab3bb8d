"""The seed from the command line: where a secret one comes from, where it must not be seen, and what it is tied to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

SECRET = 0xC0FFEE_0123456789_0123456789_AB


def test_a_secret_seed_of_the_environment_is_written_nowhere(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOKALIKE_SEED", str(SECRET))
    out = tmp_path / "run"
    assert run("dedup", docs, "-o", out, "--quiet").code == 0
    report = json.loads((out / "report.json").read_text())
    assert report["seed"].startswith("secret, ")
    for path in out.rglob("*"):
        if path.is_file():
            written = path.read_bytes()
            assert str(SECRET).encode() not in written
            assert f"{SECRET:x}".encode() not in written
    again = run("dedup", docs, "--json").json["seed"]
    monkeypatch.setenv("LOOKALIKE_SEED", str(SECRET + 1))
    assert report["seed"] == again != run("dedup", docs, "--json").json["seed"]


def test_a_short_seed_is_told_so_that_a_run_can_be_repeated(run: Run, docs: Path) -> None:
    assert run("dedup", docs, "--json").json["seed"] == 0
    assert run("dedup", docs, "--json", "--seed", "12").json["seed"] == 12


def test_a_seed_that_is_no_number_or_too_long_is_refused(run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "it must be a whole number from 0 to 2^128 - 1" in run("pairs", docs, "--seed", str(2**128)).error
    monkeypatch.setenv("LOOKALIKE_SEED", "secret")
    refused = run("pairs", docs)
    assert refused.code == 2
    assert "LOOKALIKE_SEED" in refused.error


def test_a_run_of_another_seed_or_hash_specification_is_not_resumed(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    kill = "import os, lookalike.engines.local.matched as m\nm.Matched.save = lambda *a: os._exit(9)\n"
    command = f"{kill}from lookalike.cli.main import main\nmain()"
    arguments = ["dedup", str(docs), "-o", str(out), "-q", "--seed", str(SECRET)]
    assert subprocess.run([sys.executable, "-c", command, *arguments], check=False).returncode == 9
    work = next(out.rglob("run.json"))
    assert str(SECRET) not in work.read_text()
    assert "seed was 'secret, " in run("dedup", docs, "-o", out, "--resume").error
    monkeypatch.setattr("lookalike.runs.run_description.SPEC_VERSION", 1)
    assert "cannot be resumed" in run("dedup", docs, "-o", out, "--seed", SECRET, "--resume").error


def test_texts_that_were_made_to_collide_are_told_of(run: Run, tmp_path: Path) -> None:
    """Two of three texts have sets of elements that collide under the public seed, by `tests.reference.forgery`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lookalike.twin.hashing import PUBLIC
    from tests.reference.forgery import forged_bytes

    target = [f"element {i}".encode() for i in range(6)]
    made = [forged_bytes(each, b"forged %d" % i, PUBLIC) for i, each in enumerate(target)]
    pq.write_table(pa.table({"items": pa.array([made, target], pa.list_(pa.binary()))}), tmp_path / "x.parquet")
    assert run("dedup", tmp_path / "x.parquet", "--json").json["removed"] == 1
    checked = run("dedup", tmp_path / "x.parquet", "--json", "--verify", "text").json
    assert (checked["removed"], checked["refused_identical"], checked["refused_matches"]) == (0, 1, 1)
    told = run("dedup", tmp_path / "x.parquet", "--verify", "text", "-o", tmp_path / "out").err
    assert "1 item identical by hash, but not in fact: somebody made the hashes collide" in told
