"""Measures, vectors, edges, pictures and neighbours on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import lookalike
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
    assert done.code == 0 and done.err.startswith("120 pairs at Euclidean distance <= 0.6 among 120 items in ")
    assert set(rows("p.parquet")[0]) == {"a", "b", "distance"}
    assert max(row["distance"] for row in rows("p.parquet")) <= 0.6
    for arguments, message in (
        (["--measure", "euclidean"], "euclidean needs max_distance"),
        (["--measure", "euclidean", "-t", "0.5"], "euclidean is a distance"),
        (["--max-distance", "1"], "max_distance (--max-distance) needs a measure"),
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


def test_summaries_name_the_measure_and_what_the_items_are(run: Run, here: Path) -> None:
    said = run("pairs", "base.npy", "-t", "0.9").err
    assert said.startswith("120 pairs at cosine similarity >= 0.9 among 120 items in ")
    said = run("clusters", "base.npy", "-t", "0.9").err
    assert said.startswith("40 clusters of 120 among 120 items at cosine similarity >= 0.9 in ")
    said = run("dedup", "base.npy", "-t", "0.9").err
    assert said.startswith("kept 40 of 120 vectors, removed 80 at cosine similarity >= 0.9 in ")
    assert "precision 1 (every match verified); no kept item has a near-duplicate left\n" in said
    Path("sets.jsonl").write_text('{"items": [1, 2, 3]}\n{"items": [3, 1, 2]}\n')
    assert run("dedup", "sets.jsonl").err.startswith("kept 1 of 2 items, removed 1 at Jaccard similarity >= 0.8 in ")


def test_tables_of_distances_are_titled_and_aligned_as_numbers(run: Run, here: Path) -> None:
    shown = run("pairs", "base.npy", "--measure", "lr:3", "--max-distance", "0.5").out.splitlines()
    assert shown[0] == "the nearest pairs"
    assert [cell.strip() for cell in shown[2].split("┃")[1:-1]] == ["a", "b", "distance"]
    assert all(line.split("│")[3].startswith("   0.") for line in shown[4:24])


def test_a_plan_that_compares_every_pair_has_no_curve(run: Run, here: Path) -> None:
    done = run("plan", "--measure", "lr:3", "--max-distance", "2")
    assert done.code == 0 and "probability" not in done.out and "█" not in done.out
    assert "expected recall" in done.out


def test_a_broken_vector_is_named_and_can_be_skipped(run: Run, here: Path) -> None:
    broken = VECTORS.copy()
    broken[7, 3] = np.nan
    np.save("broken.npy", broken)
    done = run("dedup", "broken.npy", "-o", "clean.npy")
    assert done.code != 0
    assert "broken.npy row 7: the item holds NaN; skip_bad=True (--skip-bad) skips and counts such items" in done.err
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
    nearest = run("neighbors", "ratings.csv", "--edges", "user,item", "-k", "1", "-o", "n.parquet")
    assert nearest.code == 0, nearest.error
    of_edges = lookalike.neighbors(lookalike.edges("ratings.csv", "user", "item"), k=1)
    assert pq.read_table("n.parquet").equals(of_edges.table)
    assert run("pairs", "ratings.csv", "--edges", "user,item,stars", "-o", "w.parquet", "--json").code == 0
    assert len(rows("w.parquet")) == 30
    for columns in ("user", "user,,stars", "a,b,c,d"):
        done = run("pairs", "ratings.csv", "--edges", columns)
        assert done.code == 2 and "it must name two or three columns" in done.err
    assert "undirected needs edges" in run("pairs", "ratings.csv", "--undirected").err


def test_vertices_are_compared_by_their_neighbours(run: Run, here: Path) -> None:
    edges = [(f"a{i}", f"x{j}") for i in range(3) for j in range(8)] + [("b", "c"), ("c", "b")]
    Path("graph.tsv").write_text("from\tto\n" + "".join(f"{a}\t{b}\n" for a, b in edges))
    done = run("clusters", "graph.tsv", "--edges", "from,to", "--undirected", "-o", "c.parquet")
    assert done.code == 0
    assert {frozenset(r["id"] for r in rows("c.parquet") if r["cluster"] == c) for c in (0, 1)} == {
        frozenset({"a0", "a1", "a2"}), frozenset(f"x{j}" for j in range(8)),
    }  # fmt: skip


@pytest.fixture
def photos(here: Path) -> Path:
    """Six pictures, each also as a small JPEG in a folder of its own."""
    Path("photos/small").mkdir(parents=True)
    for i in range(6):
        pixels = np.random.default_rng(i).integers(0, 255, (8, 8), dtype=np.uint8)
        picture = Image.fromarray(pixels).resize((160, 120), Image.Resampling.BICUBIC)
        picture.save(f"photos/{i}.png")
        picture.resize((80, 60)).save(f"photos/small/{i}-small.jpg", quality=80)
    return here / "photos"


def test_kept_pictures_are_copied_as_they_are(run: Run, photos: Path) -> None:
    (photos / "broken.png").write_bytes(b"no picture")
    command = ["dedup", "--images", "photos", "--skip-bad", "-t", "0.85", "--keep", "last"]
    done = run(*command, "-o", "run")
    assert done.err.startswith("kept 6 of 12 pictures, removed 6 at cosine similarity >= 0.85 in ")
    kept = {str(path.relative_to("run/kept")): path.read_bytes() for path in Path("run/kept").rglob("*.*")}
    assert kept == {f"small/{i}-small.jpg": (photos / f"small/{i}-small.jpg").read_bytes() for i in range(6)}
    assert json.loads(Path("run/report.json").read_text())["unit"] == "picture"
    assert run(*command, "-o", "clean.parquet").code == 0
    assert [set(row) for row in rows("clean.parquet")] == [{"path", "width", "height"}] * 6
    assert run(*command, "-o", "-", "-q").out.count('"width":80') == 6
    assert "pictures have no columns to add to" in run(*command, "-o", "other", "--annotate").error


def test_pictures_are_resumed_with_the_same_features_only(
    run: Run, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["dedup", "--images", "photos", "-t", "0.85", "-o", "run"]
    with monkeypatch.context() as patch:
        patch.setattr("lookalike.runs.opened_run.page", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        assert run(*command).code == 130
    before = {path: path.stat().st_mtime_ns for path in Path("run/.partial/kept").rglob("*.*")}
    assert len(before) == 6
    assert run(*command, "--features", "raw", "--resume").code != 0
    assert run(*command, "--resume").code == 0
    after = {path: Path(str(path).replace(".partial/", "")).stat().st_mtime_ns for path in before}
    assert after == before


def test_an_output_that_cannot_hold_the_rows_is_refused_before_they_are_read(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lookalike.engines.local.pipeline.find", lambda *_, **__: pytest.fail("the items were read"))
    np.savez("a.npz", vectors=VECTORS)
    np.savez("b.npz", vectors=VECTORS)
    for arguments, message in (
        (["base.parquet", "-c", "text", "-o", "x.npy"], "x.npy: only rows of .npy files go to .npy; use .parquet"),
        (["base.npy", "-o", "x.npz"], "x.npz: only rows of .npz files go to .npz"),
        (["a.npz", "b.npz", "-o", "x.npz"], "archives cannot be combined into one file: write to a folder"),
        (["base.npy", "--annotate", "-o", "run"], "base.npy: arrays have no columns to add to: write to .parquet"),
        (["base.npy", "--annotate", "-o", "x.npy"], "base.npy: arrays have no columns to add to: write to .parquet"),
    ):
        done = run("dedup", *arguments)
        assert done.code == 2 and message in done.error
    assert sorted(path.name for path in here.iterdir()) == ["a.npz", "b.npz", "base.npy", "base.parquet"]


def test_pictures_of_a_folder_are_items(run: Run, photos: Path) -> None:
    for features in ("pixels", "dhash"):
        done = run("clusters", "--images", "photos", "--features", features, "-t", "0.85", "-o", f"{features}.parquet")
        assert done.code == 0
        table = rows(f"{features}.parquet")
        assert len(table) == 12 and all(Path(row["id"]).name[0] == Path(row["kept"]).name[0] for row in table)
    assert "leave out the other inputs" in run("pairs", "base.npy", "--images", "photos").err
    assert "no input: give files" in run("pairs").err


def test_neighbours_are_listed_and_written(run: Run, here: Path) -> None:
    np.save("queries.npy", CENTRES[:5].astype(np.float32))
    done = run("neighbors", "base.npy", "--queries", "queries.npy", "-k", "3", "-o", "n.parquet")
    assert done.code == 0
    assert done.err.startswith("5 queries among 120 vectors by cosine similarity: exact scan, in ")
    table = rows("n.parquet")
    assert {(row["query"], row["id"] // 3) for row in table} == {(q, q) for q in range(5)}
    shown = run("neighbors", "base.npy", "--queries", "queries.npy", "-k", "2", "--measure", "manhattan")
    assert shown.code == 0 and "distance" in shown.out
    assert json.loads(run("neighbors", "base.npy", "--json", "-k", "1").out)["queries"] == 120
    done = run("neighbors", "base.npy", "--queries", "queries.npy", "-o", "base.npy", "--overwrite")
    assert done.code == 2 and np.array_equal(np.load("base.npy"), VECTORS)


def test_items_to_be_searched_may_be_several_files_or_pictures(run: Run, photos: Path) -> None:
    np.save("more.npy", -VECTORS[:5])
    assert run("neighbors", "base.npy", "more.npy", "-k", "1", "--json").json["items"] == 125
    done = run("neighbors", "--images", "photos", "--queries", "photos/small", "-k", "2", "-o", "n.parquet")
    assert done.code == 0
    for row in rows("n.parquet"):
        assert row["query"].startswith("photos/small/")
        assert Path(row["id"]).name[0] == Path(row["query"]).name[0]
    hashed = run("neighbors", "--images", "photos", "--features", "dhash", "-k", "1", "--json").json
    assert (hashed["measure"], hashed["items"]) == ("hamming", len(list(photos.rglob("*.*"))))
    said = run("pairs", "--measure", "cosine", "--images", "photos", "--features", "dhash").error
    assert said.startswith("column 'bits' in photos/0.png holds fixed_size_binary[8]: an item must be ")
    assert "no input: give files" in run("neighbors").error
    assert "leave out the other inputs" in run("neighbors", "base.npy", "--images", "photos").error


def test_vectors_that_cannot_be_searched_are_left_out_when_asked(run: Run, here: Path) -> None:
    broken = VECTORS.copy()
    broken[7, 3] = np.nan
    np.save("broken.npy", broken)
    np.save("queries.npy", np.stack([np.zeros(16), VECTORS[7], VECTORS[9]]).astype(np.float32))
    said = run("neighbors", "broken.npy").error
    assert said == "broken.npy row 7: the item holds NaN; skip_bad=True (--skip-bad) skips and counts such items"
    done = run("neighbors", "broken.npy", "--queries", "queries.npy", "--skip-bad", "-k", "200", "-o", "n.parquet")
    assert done.err.splitlines()[1:] == [
        "  k is 200, and there are only 119 items to be found: all are listed",
        "  1 item skipped: cannot be compared",
        "  1 query skipped: cannot be compared",
        "  the first: broken.npy row 7: the item holds NaN",
    ]
    found = rows("n.parquet")
    assert {row["query"] for row in found} == {1, 2} and 7 not in {row["id"] for row in found}
    assert next(row["id"] for row in found if row["query"] == 2) == 9


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


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--html"], "html"), (["--max-share", "0.5"], "max_share"), (["--shingle", "word:5"], "shingle"),
        (["--normalize", "lower"], "normalize"), (["--tokens", "builtins:list"], "tokens"),
        (["--measure", "cosine", "--weights", "count"], "weights"),
    ],
)  # fmt: skip
def test_an_option_of_text_is_refused_for_other_items(run: Run, here: Path, arguments: list[str], name: str) -> None:
    option = f"--{name.replace('_', '-')}"
    said = run("pairs", "base.npy", *arguments).error
    assert said.startswith(f"{name} ({option}) ") and said.endswith(" for text, and the items are vectors")
    assert run("pairs", "base.parquet", "-c", "text", *arguments).code == 0


def test_an_option_that_nothing_reads_is_refused(run: Run, here: Path) -> None:
    Path("sets.jsonl").write_text('{"items": [1, 2]}\n')
    Path("photos").mkdir()
    Image.new("L", (8, 8)).save("photos/a.png")
    for arguments, message in (
        (["sets.jsonl", "--max-share", "0.5"], "max_share (--max-share) is for text, and the items are sets"),
        (
            ["base.npy", "--features", "pixels"],
            "features (--features) is for pictures: add --images FOLDER",
        ),
        (["base.npy", "--size", "8"], "size (--size) is for pictures: add --images FOLDER"),
        (["--images", "photos", "--edges", "a,b"], "edges (--edges) cannot be combined with pictures (--images)"),
        (["--images", "photos", "--format", "npy"], "format (--format) cannot be combined with pictures (--images)"),
        (["--images", "photos", "--html"], "html (--html) is for text, and the items are vectors"),
    ):
        assert run("pairs", *arguments).error == message
    rated = pa.table({"items": pa.array([[{"element": "a", "weight": 1.0}]])})
    pq.write_table(rated, "bags.parquet")
    said = run("pairs", "bags.parquet", "--measure", "weighted-jaccard", "--weights", "bm25").error
    assert said == "weights (--weights) are for text, and the items are bags, which have weights already"


def test_pictures_are_made_as_large_as_asked(run: Run, here: Path) -> None:
    Path("photos").mkdir()
    Image.new("L", (8, 8)).save("photos/a.png")
    Image.new("L", (8, 8), 200).save("photos/b.png")
    for arguments, compared in (
        (
            ["--features", "raw", "--size", "3", "--measure", "euclidean", "--max-distance", "1"],
            "vectors of 9 components",
        ),
        (["--features", "dhash", "--size", "16"], "strings of 256 bits"),
    ):
        assert run("pairs", "--images", "photos", *arguments, "--json").json["compared"] == compared
    assert run("pairs", "--images", "photos", "--features", "dhash", "--size", "3").error.startswith("size: 3 is not a")


@pytest.mark.parametrize(
    ("module", "arguments", "message"),
    [
        ("trafilatura", ["pairs", "docs.jsonl", "--html"], "HTML needs trafilatura: pip install 'lookalike[html]'"),
        ("PIL", ["pairs", "--images", "."], "images need Pillow: pip install 'lookalike[image]'"),
    ],
)
def test_a_library_that_is_not_installed_is_named_in_one_line(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, module: str, arguments: list[str], message: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    Path("docs.jsonl").write_text('{"text": "<p>a</p>"}\n')
    assert run(*arguments).error == message
