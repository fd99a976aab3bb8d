"""Measures, vectors, edges, pictures and neighbours on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.cli.conftest import Run

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(40, 16))
VECTORS = (np.repeat(CENTRES, 3, axis=0) + 0.05 * RNG.normal(size=(120, 16))).astype(np.float32)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("base.npy", VECTORS)
    table = pa.table(
        {"name": [f"v{i}" for i in range(120)], "embedding": VECTORS.tolist(), "text": ["same text"] * 120}
    )
    pq.write_table(table, "base.parquet")
    return tmp_path


def rows(path: Path | str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return out


def test_vectors_of_a_file_are_compared_by_cosine(run: Run, here: Path) -> None:
    assert run("pairs", "base.npy", "-t", "0.9", "-o", "p.parquet").code == 0
    found = {(row["a"], row["b"]) for row in rows("p.parquet")}
    assert found >= {(3 * i, 3 * i + 1) for i in range(40)} and len(found) >= 120
    assert (
        run("pairs", "base.parquet", "--vectors", "embedding", "--id", "name", "-t", "0.9", "-o", "q.parquet").code == 0
    )
    assert {(row["a"], row["b"]) for row in rows("q.parquet")} == {tuple(sorted((f"v{a}", f"v{b}"))) for a, b in found}


def test_distances_have_their_own_limit_and_column(run: Run, here: Path) -> None:
    done = run("pairs", "base.npy", "--measure", "euclidean", "--max-distance", "0.6", "-o", "p.parquet")
    assert done.code == 0 and "found 120 pairs at <= 0.6" in done.err
    assert set(rows("p.parquet")[0]) == {"a", "b", "distance"}
    assert max(row["distance"] for row in rows("p.parquet")) <= 0.6
    for arguments, message in (
        (["--measure", "euclidean"], "euclidean needs max_distance"),
        (["--measure", "euclidean", "-t", "0.5"], "threshold does not go with euclidean"),
        (["--max-distance", "1"], "max_distance goes with a distance"),
        (["--measure", "nearness"], "measure is 'nearness': it must be one of jaccard"),
    ):
        done = run("pairs", "base.npy", *arguments)
        assert done.code == 2 and message in done.err and done.err.count("\n") == 1


def test_kept_vectors_are_written_as_they_came(run: Run, here: Path) -> None:
    assert run("dedup", "base.npy", "-t", "0.9", "-o", "clean.npy").code == 0
    assert np.array_equal(np.load("clean.npy"), VECTORS[::3])
    assert run("dedup", "base.npy", "-t", "0.9", "-o", "run").code == 0
    assert np.array_equal(np.load("run/kept/base.npy"), VECTORS[::3])
    report = json.loads(Path("run/report.json").read_text())
    assert (report["measure"], report["kept"], report["compared"]) == ("cosine", 40, "vectors of 16 components")
    assert Path("run/report.html").stat().st_size > 10_000


def test_a_broken_vector_is_named_and_can_be_skipped(run: Run, here: Path) -> None:
    broken = VECTORS.copy()
    broken[7, 3] = np.nan
    np.save("broken.npy", broken)
    done = run("dedup", "broken.npy", "-o", "clean.npy")
    assert done.code != 0 and "broken.npy row 7: the item holds NaN; --skip-bad counts such items" in done.err
    assert not Path("clean.npy").exists()
    done = run("dedup", "broken.npy", "-t", "0.9", "-o", "clean.npy", "--skip-bad")
    assert done.code == 0
    assert len(np.load("clean.npy")) == 41
    assert "cannot be compared" in done.err


def test_edges_are_items_in_either_direction(run: Run, here: Path) -> None:
    lines = ["user,item,stars"]
    for user in range(60):
        lines += [f"u{user},i{(user // 2) * 10 + j},{1 + j % 5}" for j in range(10)]
    Path("ratings.csv").write_text("\n".join(lines) + "\n")
    assert run("pairs", "ratings.csv", "--edges", "user,item", "-o", "users.parquet").code == 0
    users = rows("users.parquet")
    assert len(users) == 30 and all(row["similarity"] == 1.0 for row in users)
    assert {"a": "u0", "b": "u1", "similarity": 1.0} in users
    assert run("clusters", "ratings.csv", "--edges", "item,user", "-o", "items.parquet").code == 0
    assert {row["size"] for row in rows("items.parquet")} == {10}
    assert run("pairs", "ratings.csv", "--edges", "user,item,stars", "-o", "w.parquet", "--json").code == 0
    assert len(rows("w.parquet")) == 30
    for columns in ("user", "user,,stars", "a,b,c,d"):
        done = run("pairs", "ratings.csv", "--edges", columns)
        assert done.code == 2 and "it must name two or three columns" in done.err
    assert "undirected goes with edges" in run("pairs", "ratings.csv", "--undirected").err


def test_vertices_are_compared_by_their_neighbours(run: Run, here: Path) -> None:
    edges = [(f"a{i}", f"x{j}") for i in range(3) for j in range(8)] + [("b", "c"), ("c", "b")]
    Path("graph.tsv").write_text("from\tto\n" + "".join(f"{a}\t{b}\n" for a, b in edges))
    done = run("clusters", "graph.tsv", "--edges", "from,to", "--undirected", "-o", "c.parquet")
    assert done.code == 0
    assert {frozenset(r["id"] for r in rows("c.parquet") if r["cluster"] == c) for c in (0, 1)} == {
        frozenset({"a0", "a1", "a2"}), frozenset(f"x{j}" for j in range(8)),
    }  # fmt: skip


def test_pictures_of_a_folder_are_items(run: Run, here: Path) -> None:
    Path("photos").mkdir()
    for i in range(6):
        pixels = np.random.default_rng(i).integers(0, 255, (8, 8), dtype=np.uint8)
        picture = Image.fromarray(pixels).resize((160, 120), Image.Resampling.BICUBIC)
        picture.save(f"photos/{i}.png")
        picture.resize((80, 60)).save(f"photos/{i}-small.jpg", quality=80)
    for features in ("pixels", "dhash"):
        done = run("clusters", "--images", "photos", "--features", features, "-t", "0.85", "-o", f"{features}.parquet")
        assert done.code == 0
        table = rows(f"{features}.parquet")
        assert len(table) == 12 and all(Path(row["id"]).name[0] == Path(row["kept"]).name[0] for row in table)
    assert (
        "give a folder with --images, or other inputs, not both" in run("pairs", "base.npy", "--images", "photos").err
    )
    assert "there is nothing to read" in run("pairs").err


def test_neighbours_are_listed_and_written(run: Run, here: Path) -> None:
    np.save("queries.npy", CENTRES[:5].astype(np.float32))
    done = run("neighbors", "base.npy", "queries.npy", "-k", "3", "-o", "n.parquet")
    assert done.code == 0 and "5 queries" in done.err
    table = rows("n.parquet")
    assert {(row["query"], row["id"] // 3) for row in table} == {(q, q) for q in range(5)}
    shown = run("neighbors", "base.npy", "queries.npy", "-k", "2", "--measure", "manhattan")
    assert shown.code == 0 and "distance" in shown.out
    assert json.loads(run("neighbors", "base.npy", "--json", "-k", "1").out)["queries"] == 120
    done = run("neighbors", "base.npy", "queries.npy", "-o", "base.npy", "--overwrite")
    assert done.code == 2 and np.array_equal(np.load("base.npy"), VECTORS)


def test_weights_and_frequent_shingles_are_options_of_text(run: Run, here: Path) -> None:
    Path("docs.jsonl").write_text(
        "".join(
            json.dumps({"text": f"menu menu bar word{i // 2} token{i // 2} thing{i // 2} item{i}"}) + "\n"
            for i in range(20)
        )
    )
    done = run("pairs", "docs.jsonl", "--shingle", "word:1", "--max-share", "0.5", "-t", "0.6", "-o", "p.parquet")
    assert done.code == 0 and len(rows("p.parquet")) == 10
    assert "shingles" in done.err
    done = run(
        "pairs", "docs.jsonl", "--shingle", "word:1", "--measure", "weighted-jaccard", "--weights", "bm25", "-t", "0.5",
        "-o", "w.parquet",
    )  # fmt: skip
    assert done.code == 0 and len(rows("w.parquet")) == 10


def test_a_plan_is_made_for_every_measure(run: Run, here: Path) -> None:
    for arguments in (
        ["--measure", "cosine", "-t", "0.8"], ["--measure", "hamming"], ["--measure", "weighted-jaccard"],
        ["--measure", "euclidean", "--max-distance", "3"], ["--measure", "lr:1.5", "--max-distance", "3"],
        ["--measure", "lr:3", "--max-distance", "3"],
        ["--measure", "cosine", "--sample", "base.npy"],
    ):  # fmt: skip
        done = run("plan", *arguments, "--plot", "curve.svg", "--overwrite")
        assert done.code == 0, done.err
        assert "expected recall" in done.out and Path("curve.svg").read_text().startswith("<svg")
