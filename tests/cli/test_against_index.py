"""`dedup --against seen.idx --add`, killed at every awkward moment: what is run again gives what it should."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike import Index
from tests.cli.conftest import Run
from tests.near_copies import near_copies

TEXTS = near_copies(2, families=40, words=60)
# Runs `lookalike` and kills itself at the n-th call of a method: argv = module, class, method, n, when, arguments.
CHILD = """
import importlib, os, signal, sys
module, owner, name, number, when = sys.argv[1:6]
holder = getattr(importlib.import_module(module), owner)
real, left = getattr(holder, name), [int(number)]
def call(*given, **options):
    left[0] -= 1
    if left[0] == 0 and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    out = real(*given, **options)
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return out
setattr(holder, name, call)
sys.argv = ["lookalike", *sys.argv[6:]]
from lookalike.cli.main import run
sys.exit(run())
"""
MOMENTS = {
    "while items are read": ("lookalike.index.index_probe", "IndexProbe", "probe", "2", "after"),
    "before the results are moved": ("lookalike.io.writing.owned", "OwnedFolder", "publish", "1", "before"),
    "after the results were moved": ("lookalike.io.writing.owned", "OwnedFolder", "publish", "1", "after"),
    "while items are added": ("lookalike.index.storing", "Storing", "store_new", "2", "after"),
    "before the bundle ends": ("lookalike.index.log_store", "LogStore", "end_bundle", "1", "before"),
    "after the bundle ended": ("lookalike.index.log_store", "LogStore", "end_bundle", "1", "after"),
}


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A folder with an index and a crawl; ids of the two differ."""
    texts, names = TEXTS, [f"d{i}" for i in range(len(TEXTS))]
    old = pa.table({"id": names[::2], "text": texts[::2]})
    Index.build(tmp_path / "seen.idx", old, id="id", shingle="word:3", threshold=0.7).close()
    new = pa.table({"id": names[1::2], "text": texts[1::2]})
    pq.write_table(new, tmp_path / "new.parquet", row_group_size=20)
    return tmp_path


def command(folder: Path, output: str = "run") -> list[str]:
    against = ["--against", str(folder / "seen.idx"), "--add", "--id", "id", "--threads", "1"]
    return ["dedup", str(folder / "new.parquet"), *against, "-o", str(folder / output), "--memory", "64MB"]


def left_by(folder: Path, output: str = "run") -> tuple[pa.Table, pa.Table | None, list[str | int]]:
    """What is kept, what was removed, and what is in the index."""
    with Index.open(folder / "seen.idx", readonly=True) as index:
        known = sorted(index, key=str)
        assert index.verify().sound
    if output != "run":
        return pq.read_table(folder / output), None, known
    assert not (folder / "run" / "work").exists()
    return pq.read_table(folder / "run/kept/new.parquet"), pq.read_table(folder / "run/removed.parquet"), known


@pytest.mark.parametrize("output", ["run", "clean.parquet"])
def test_a_run_that_is_repeated_gives_the_same_and_adds_nothing(run: Run, crawl: Path, output: str) -> None:
    """All its items are in the index by then, under their own ids."""
    first = run(*command(crawl, output))
    assert first.code == 0, first.err
    whole = left_by(crawl, output)
    assert len(whole[2]) == len(TEXTS) // 2 + len(whole[0])
    assert run(*command(crawl, output), "--overwrite").code == 0
    assert left_by(crawl, output) == whole
    # Another file is another matter, and what it holds was seen.
    shutil.copy(crawl / "new.parquet", crawl / "other.parquet")
    again = run("dedup", crawl / "other.parquet", "--against", crawl / "seen.idx", "--id", "id", "--json", "-q")
    assert (again.json["kept"], again.json["removed_against"]) == (0, len(TEXTS) // 2)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_is_killed_can_be_gone_on_with_or_begun_again(run: Run, crawl: Path, moment: str) -> None:
    undisturbed = crawl / "undisturbed"
    shutil.copytree(crawl, undisturbed)
    assert run(*command(undisturbed)).code == 0
    whole = left_by(undisturbed)
    killed = subprocess.run([sys.executable, "-c", CHILD, *MOMENTS[moment], *command(crawl)], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    again = crawl / "again"
    shutil.copytree(crawl, again, ignore=shutil.ignore_patterns("undisturbed", "again"), copy_function=shutil.copy2)

    done = run(*command(crawl), "--resume")
    assert done.code == 0, done.err
    assert left_by(crawl) == whole
    assert "nothing to do" in run(*command(crawl), "--resume").err

    # Elsewhere, the files are others by their names: what was added is taken back, unless all of it was.
    if moment != "after the bundle ended":
        with Index.open(again / "seen.idx") as index:
            assert len(index) == len(TEXTS) // 2
        assert run(*command(again), "--overwrite").code == 0
        assert left_by(again) == whole


def changed_crawl(folder: Path) -> list[str]:
    """The command that adds a crawl in which every fourth page has an id of the index, and another text."""
    new = pq.read_table(folder / "new.parquet")
    names = [f"d{2 * i}" if i % 4 == 0 else name for i, name in enumerate(new["id"].to_pylist())]
    texts = [
        f"{i} this is {i} another text {i} altogether" if i % 4 == 0 else text
        for i, text in enumerate(new["text"].to_pylist())
    ]
    pq.write_table(pa.table({"id": names, "text": texts}), folder / "new.parquet", row_group_size=20)
    return [*command(folder), "--replace"]


def texts_of(folder: Path) -> dict[str | int, bool]:
    """The ids of the index, and which of them have another text than in the beginning."""
    with Index.open(folder / "seen.idx") as index:
        assert len(index) == len(list(index))
        found = dict.fromkeys(index, True)
        for number in range(0, len(TEXTS), 2):
            found[f"d{number}"] = f"d{number}" not in [match.id for match in index.query(TEXTS[number])]
        return found


@pytest.mark.parametrize("moment", [*MOMENTS, "before old ones are removed", "after old ones are removed"])
def test_a_run_that_replaces_and_is_killed_leaves_all_as_it_was_or_all_replaced(
    run: Run, crawl: Path, moment: str
) -> None:
    replacing = changed_crawl(crawl)
    before = texts_of(crawl)
    assert not any(before.values())
    undisturbed = crawl / "undisturbed"
    shutil.copytree(crawl, undisturbed, copy_function=shutil.copy2)
    assert run(*command(undisturbed), "--replace").code == 0
    whole, replaced = left_by(undisturbed), texts_of(undisturbed)
    assert sum(replaced[name] for name in before) == 30

    removing = ("lookalike.index.log_store", "LogStore", "_mark_removed", "1", moment.split()[0])
    killed = subprocess.run(
        [sys.executable, "-c", CHILD, *MOMENTS.get(moment, removing), *replacing], capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    again = crawl / "again"
    shutil.copytree(crawl, again, ignore=shutil.ignore_patterns("undisturbed", "again"), copy_function=shutil.copy2)
    is_whole = moment in ("after the bundle ended", "before old ones are removed", "after old ones are removed")
    assert texts_of(again) == (replaced if is_whole else before)

    done = run(*replacing, "--resume")
    assert done.code == 0, done.err
    assert left_by(crawl) == whole
    assert texts_of(crawl) == replaced
    assert "nothing to do" in run(*replacing, "--resume").err


def test_a_changed_page_is_refused_without_replace_and_that_is_said(run: Run, crawl: Path) -> None:
    replacing = changed_crawl(crawl)
    assert "use replace (--replace), or another id" in run(*command(crawl)).error
    assert "replace" in run(*[each for each in replacing if each != "--add"]).error
    done = run(*replacing)
    assert done.code == 0, done.err
    assert "30 of them in place of items with the same id" in " ".join(done.err.split())
    # The same run again finds its own items under these ids. What only a replaced text was like is kept now.
    kept = left_by(crawl)[0]["id"].to_pylist()
    assert run(*replacing, "--overwrite").code == 0
    assert set(kept) < set(left_by(crawl)[0]["id"].to_pylist())


def test_a_run_that_is_begun_again_after_all_was_added_is_as_if_it_were_the_first(run: Run, crawl: Path) -> None:
    assert run(*command(crawl)).code == 0
    whole = left_by(crawl)
    shutil.rmtree(crawl / "run")
    assert run(*command(crawl)).code == 0
    assert left_by(crawl) == whole


def test_an_index_that_has_changed_is_not_gone_on_with(run: Run, crawl: Path) -> None:
    moment = MOMENTS["while items are read"]
    subprocess.run([sys.executable, "-c", CHILD, *moment, *command(crawl)], capture_output=True)
    with Index.open(crawl / "seen.idx") as index:
        index.add("another", "one more that was not there when the run began")
    error = run(*command(crawl), "--resume").error
    assert error.endswith("seen.idx has changed since; start again with --overwrite")
    assert run(*command(crawl), "--overwrite").code == 0


def test_a_second_writer_is_told_before_any_work(run: Run, crawl: Path) -> None:
    with Index.open(crawl / "seen.idx"):
        assert "seen.idx" in run(*command(crawl)).error
        assert not (crawl / "run").exists()
        # Who only compares goes on.
        arguments = [each for each in command(crawl) if each != "--add"]
        assert run(*arguments).code == 0


def test_the_terminal_says_what_was_seen_and_what_was_added(run: Run, crawl: Path) -> None:
    done = run(*command(crawl), "--annotate", "--limit", "50")
    assert "50 new items: " in done.err
    assert f"seen before and removed (compared with {crawl / 'seen.idx'}, 120 items)" in " ".join(done.err.split())
    assert "sampled new items compared with all of" in done.err
    table = pq.read_table(crawl / "run/kept/new.parquet")
    assert table.num_rows == 50
    assert {"duplicate_of", "similarity"} <= set(table.column_names)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-t", "0.5"], "was made for Jaccard >= 0.7, and threshold=0.5 was given"),
        (["--unit", "line"], "unit=line does not go with an index"),
        (["--against", "new.parquet"], "against takes one index and nothing else"),
    ],
)
def test_what_does_not_go_with_an_index_is_said_in_one_line(run: Run, crawl: Path, more: list[str], words: str) -> None:
    assert words in run(*command(crawl), *more).error
    assert not (crawl / "run").exists()


def test_nothing_is_added_without_an_output_or_in_a_dry_run(run: Run, crawl: Path) -> None:
    arguments = command(crawl)[:-4]
    assert "give it with -o" in run(*arguments).error
    assert run(*arguments, "--dry-run", "--payload", "id").code == 0
    with Index.open(crawl / "seen.idx") as index:
        assert len(index) == len(TEXTS) // 2


def test_an_index_in_redis_is_refused_before_anything_runs(run: Run, tmp_path: Path) -> None:
    new = tmp_path / "new.jsonl"
    new.write_text('{"text": "some words of a text"}\n')
    done = run("dedup", str(new), "--against", "redis://:secret@127.0.0.1:1/0?name=x", "-o", str(tmp_path / "run"))
    assert done.code == 2
    assert "is in Redis, and a batch run looks things up in a folder" in done.err
    assert "secret" not in done.err
    assert not (tmp_path / "run").exists()
