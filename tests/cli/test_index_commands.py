"""`lookalike index`: every command does what it says, and says it in a line."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lookalike import Index
from tests.cli.conftest import Run
from tests.redis_server import RedisServer

TEXTS = {
    "a": "the cat sat on the mat and looked at the dog that slept near the door",
    "b": "The cat sat on the mat, and looked at the dog that slept near the door!",
    "c": "a quick brown fox jumps over the lazy dog while the sun goes down",
}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    lines = [{"id": name, "text": text, "url": f"http://{name}"} for name, text in TEXTS.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def built(run: Run, docs: Path, tmp_path: Path) -> Path:
    path = tmp_path / "seen.idx"
    done = run("index", "build", str(docs), "-o", str(path), "--id", "id", "--payload", "url", "--shingle", "word:2")
    assert done.code == 0, done.err
    assert "3 items in" in done.err
    return path


def test_a_built_index_is_asked_for_a_text_a_file_or_a_stream(run: Run, built: Path, tmp_path: Path) -> None:
    done = run("index", "query", str(built), TEXTS["a"])
    assert done.code == 0
    assert "2 of 3 items match" in done.out
    assert "http://b" in done.out
    page = tmp_path / "page.txt"
    page.write_text(TEXTS["c"])
    done = run("index", "query", str(built), str(page), "--json")
    assert done.json["matches"] == [{"id": "c", "similarity": 1.0, "payload": {"url": "http://c"}}]
    lines = [json.dumps(TEXTS["c"]), json.dumps({"id": "q", "text": TEXTS["a"]}), "", json.dumps({"item": "nothing"})]
    done = run("index", "query", str(built), "-", "-k", "1", stdin="\n".join(lines).encode())
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [(each["id"], [match["id"] for match in each["matches"]]) for each in answers] == [
        (1, ["c"]),
        ("q", ["a"]),
        (4, []),
    ]
    assert "no match among 3 items" in run("index", "query", str(built), "something else").err


@pytest.mark.parametrize("measure", ["weighted-jaccard", "cosine"])
def test_texts_that_are_weighed_are_by_count(run: Run, docs: Path, tmp_path: Path, measure: str) -> None:
    path, out = str(tmp_path / "weighed.idx"), str(tmp_path / "clean.jsonl")
    build = ("index", "build", str(docs), "--id", "id", "--measure", measure, "-o", path)
    refused = run(*build, "--weights", "bm25")
    assert refused.code == 2
    assert "weights=bm25 go by how many documents" in refused.err
    done = run(*build)
    assert done.code == 0, done.err
    assert [each["id"] for each in run("index", "query", path, TEXTS["a"], "--json").json["matches"]] == ["a", "b"]
    done = run("dedup", str(docs), "--id", "id", "--against", path, "-o", out)
    assert done.code == 0, done.err
    assert Path(out).read_text() == ""


def test_the_nearest_items_need_not_match(run: Run, built: Path) -> None:
    half = " ".join(TEXTS["c"].split()[:5])
    assert "no match among 3 items" in run("index", "query", str(built), half).err
    done = run("index", "query", str(built), half, "--nearest", "-k", "1")
    assert "1 of 3 items are nearest (recall 1.000)" in done.out
    line = run("index", "query", str(built), "-", "--nearest", stdin=json.dumps(half).encode()).json
    assert line["matches"][0]["id"] == "c"
    assert line["recall"] == 1.0


def test_items_are_added_removed_and_expire(run: Run, built: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.csv"
    more.write_text("id,text\n7,one more text of some length\n8,and another text of some length\n")
    assert "2 items added, 5 in" in run("index", "add", str(built), str(more), "--id", "id").err
    assert "exists already" in run("index", "add", str(built), str(more), "--id", "id").error
    assert "2 removed, 3 left" in run("index", "remove", str(built), "a", "7").err
    assert "no item 'a'" in run("index", "remove", str(built), "b", "a").error
    with Index.open(built, readonly=True) as index:
        assert sorted(map(str, index)) == ["8", "b", "c"]
    assert "0 removed" in run("index", "expire", str(built), "--older-than", "1h").err
    assert "3 removed, 0 left" in run("index", "expire", str(built), "--older-than", "0s").err
    assert "MB freed" in run("index", "compact", str(built)).err


# The command line, which a signal meets when something was done for the second time, or a disk that is full by then.
MET = """
import os, sys
from importlib import import_module
from lookalike.errors import OutputError
number, module, holder, name = int(sys.argv.pop(1)), *(sys.argv.pop(1) for _ in range(3))
holder = getattr(import_module(module), holder)
left, real = [2], getattr(holder, name)
def met(*given, **options):
    done = real(*given, **options)
    left[0] -= 1
    if left[0] == 0 and number:
        os.kill(os.getpid(), number)
    elif left[0] == 0:
        raise OutputError("no space left on the disk")
    return done
setattr(holder, name, met)
from lookalike.cli.main import run
sys.exit(run())
"""
MOMENTS = {
    "between batches": ("lookalike.index.storing", "Storing", "store_new"),
    "in a write": ("lookalike.index.log_writer", "LogWriter", "_append"),
}
ENDS = {
    signal.SIGKILL: (-signal.SIGKILL, ""),
    signal.SIGINT: (130, "lookalike: interrupted; "),
    signal.SIGTERM: (143, "lookalike: terminated; "),
    0: (1, "lookalike: no space left on the disk"),
}


def met(number: int, command: list[str], moment: str = "between batches") -> str:
    """What a command says that is met in the middle."""
    child = [sys.executable, "-c", MET, str(int(number)), *MOMENTS[moment]]
    done = subprocess.run([*child, *command], capture_output=True, text=True)
    code, words = ENDS[number]
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith(words)
    assert done.stderr.count("\n") <= 1
    return done.stderr


def more_files(folder: Path) -> list[str]:
    """Three files of which each is a batch; the first text of each is another one under an id that is taken."""
    names = []
    for number, taken in enumerate("abc"):
        lines = [{"id": taken, "text": f"{number} all that was said of {taken} is said in other words now"}]
        lines += [
            {"id": f"n{number}-{i}", "text": f"{i} new {number} text {i} of {number} some length"} for i in range(9)
        ]
        names.append(str(folder / f"more{number}.jsonl"))
        Path(names[-1]).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return names


@pytest.mark.parametrize("number", ENDS)
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_addition_that_is_broken_off_leaves_the_index_as_it_was(
    run: Run, built: Path, tmp_path: Path, moment: str, number: int, replace: bool
) -> None:
    add = ["index", "add", str(built), *more_files(tmp_path), "--id", "id", *(["--replace"] if replace else [])]
    if not replace:
        assert run("index", "remove", str(built), "a", "b", "c").code == 0
    before = [] if not replace else list(TEXTS)
    said = met(number, add, moment)
    if number in (signal.SIGINT, signal.SIGTERM):
        assert said.endswith("no incomplete output is kept\n")
    if number != signal.SIGKILL:
        with Index.open(built, readonly=True) as index:
            assert list(index) == before
    with Index.open(built) as index:
        assert (list(index), len(index)) == (before, len(before))
        assert [match.id for match in index.query(TEXTS["a"])] == before[:2]
        assert index.verify().sound
    met(number, add, moment)
    done = run(*add)
    assert done.code == 0, done.err
    assert (
        "30 items added, 3 of them in the place of others, 30 in" if replace else "30 items added, 30 in"
    ) in done.err
    with Index.open(built, readonly=True) as index:
        assert len(list(index)) == 30
        assert index.query(TEXTS["a"]) == []
        assert index.verify().sound


def test_an_id_that_comes_twice_is_refused_and_nothing_is_added(run: Run, built: Path, tmp_path: Path) -> None:
    files = [*more_files(tmp_path), str(tmp_path / "again.jsonl")]
    shutil.copy(files[0], files[3])
    assert run("index", "remove", str(built), "a").code == 0
    for more in ([], ["--replace"]):
        done = run("index", "add", str(built), files[0], files[3], "--id", "id", *more)
        assert (done.code, done.err) == (1, "lookalike: the id 'a' is repeated\n")
        with Index.open(built, readonly=True) as index:
            assert list(index) == ["b", "c"]
    done = run("index", "add", str(built), *files[:3], "--id", "id")
    assert "the id 'b' exists already: use replace (--replace)" in done.err
    with Index.open(built, readonly=True) as index:
        assert list(index) == ["b", "c"]


def test_an_addition_to_redis_that_is_broken_off_says_what_is_kept(
    run: Run, docs: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    pytest.importorskip("redis")
    address = redis_server.address()
    assert run("index", "build", str(docs), "-o", address, "--id", "id").code == 0
    add = ["index", "add", address, *more_files(tmp_path), "--id", "id", "--replace"]
    for number in (signal.SIGINT, signal.SIGTERM, 0):
        said = met(number, add)
        assert said.endswith(f"; items added to {address} so far are kept; start again with --replace\n")
    with Index.open(address) as index:
        assert len(index) == 21
    done = run(*add)
    assert (done.code, f"30 items added, 30 in {address}" in done.err) == (0, True), done.err
    shutil.copy(tmp_path / "more0.jsonl", tmp_path / "again.jsonl")
    assert "the id 'a' is repeated" in run(*add, str(tmp_path / "again.jsonl")).err


@pytest.mark.parametrize("payload", ["title,url", "title, url"])
def test_payload_columns_may_be_parted_by_commas_as_text_columns_are(
    run: Run, docs: Path, tmp_path: Path, payload: str
) -> None:
    lines = [json.loads(line) | {"title": "T"} for line in docs.read_text().splitlines()]
    docs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = str(tmp_path / "with.idx")
    done = run("index", "build", str(docs), "-o", path, "--id", "id", "-c", "text", "--payload", payload)
    assert done.code == 0, done.err
    with Index.open(path, readonly=True) as index:
        assert index.get("a") == {"title": "T", "url": "http://a"}
    refused = run("index", "build", str(docs), "-o", path + "2", "--id", "id", "--payload", "title,link")
    assert "there is no column 'title,link' to keep as payload" in refused.error


def test_an_index_that_is_there_already_is_said_to_be_added_to(run: Run, built: Path, docs: Path) -> None:
    said = run("index", "build", str(docs), "-o", str(built), "--id", "id").error
    assert said.endswith(
        "already holds an index: add to it (lookalike index add, Index.open), or choose another folder"
    )


def test_integer_ids_are_removed_by_their_digits(run: Run, tmp_path: Path) -> None:
    with Index.create(tmp_path / "i.idx", shingle="word:1") as index:
        index.add_many([(1, "one"), ("2", "two"), (2, "zwei")])
    assert "2 left" in run("index", "remove", str(tmp_path / "i.idx"), "2").err
    with Index.open(tmp_path / "i.idx", readonly=True) as index:
        assert list(index) == [1, 2]


def test_stats_verify_and_backup(run: Run, built: Path, tmp_path: Path) -> None:
    assert "Jaccard >= 0.8" in run("index", "stats", str(built)).out
    assert run("index", "stats", str(built), "--json").json["items"] == 3
    assert "3 items, sound" in run("index", "verify", str(built)).err
    assert run("index", "verify", str(built), "--json").json["damaged"] == []
    assert "3 items copied" in run("index", "backup", str(built), str(tmp_path / "copy.idx")).err
    assert run("index", "stats", str(tmp_path / "copy.idx"), "--json").json["items"] == 3
    volume = next(built.glob("volume-*"))
    data = bytearray(volume.read_bytes())
    data[100] ^= 1
    volume.write_bytes(bytes(data))
    assert "damaged" in run("index", "verify", str(built)).error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["query", "nowhere", "x"], "no index at nowhere"),
        (["query", "INDEX", "x", "-t", "0.5"], "make another index"),
        (["query", "INDEX", "x", "-k", "0"], "k is 0"),
        (["expire", "INDEX", "--older-than", "soon"], "older-than is 'soon'"),
        (["build", "DOCS", "-o", "INDEX"], "already holds an index"),
        (["build", "-o", "new.idx"], "no input"),
        (["build", "DOCS", "-o", "new.idx", "--payload", "nope"], "no column 'nope'"),
        (["add", "INDEX", "missing.parquet"], "missing.parquet"),
        (["backup", "INDEX", "DOCS"], "is a file"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    run: Run, built: Path, docs: Path, arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [{"INDEX": str(built), "DOCS": str(docs)}.get(each, each) for each in arguments]
    assert words in run("index", *given).error


@pytest.mark.parametrize("line", ["{", "[1,", '{"id": 1}', "[" * 5000])
def test_a_bad_line_of_a_stream_has_its_own_answer_and_the_others_theirs(run: Run, built: Path, line: str) -> None:
    asked = [json.dumps(TEXTS["a"]), line, json.dumps(TEXTS["c"])]
    done = run("index", "query", str(built), "-", stdin="\n".join(asked).encode())
    assert done.code == 1
    assert "1 of the lines failed" in done.err
    first, bad, last = map(json.loads, done.out.splitlines())
    assert [match["id"] for match in first["matches"] + last["matches"]] == ["a", "b", "c"]
    assert bad["id"] == 2
    assert bad["error"]
    assert "matches" not in bad


def test_a_table_that_is_looked_up_as_one_text_is_said_to_be(run: Run, built: Path, docs: Path, tmp_path: Path) -> None:
    done = run("index", "query", str(built), str(docs), "--json")
    assert (done.code, done.json["matches"]) == (0, [])
    assert f"{docs} was looked up as one text; its lines: lookalike index query {built} - < {docs}" in done.err
    packed = tmp_path / "docs.csv.gz"
    packed.write_bytes(gzip.compress(b"id,text\n1,one\n"))
    done = run("index", "query", str(built), str(packed))
    assert f"its rows: lookalike dedup {packed} --against {built}" in done.err


def test_a_stream_is_answered_under_the_names_that_its_objects_have(run: Run, built: Path, docs: Path) -> None:
    lines = docs.read_text() + json.dumps({"text": TEXTS["c"]}) + "\n" + json.dumps(TEXTS["c"])
    done = run("index", "query", str(built), "-", "--id", "url", stdin=lines.encode())
    told = [json.loads(line) for line in done.out.splitlines()]
    assert [each["id"] for each in told] == ["http://a", "http://b", "http://c", 4, 5]
    assert [match["id"] for match in told[3]["matches"]] == ["c"]
    done = run("index", "query", str(built), "a text", "--id", "url")
    assert (done.code, done.error) == (2, "id (--id) names the lines of standard input: give - as the item")


def test_a_name_that_is_no_file_is_looked_up_as_a_text_and_that_is_said(run: Run, built: Path, tmp_path: Path) -> None:
    done = run("index", "query", str(built), str(tmp_path / "pag.txt"))
    assert done.code == 0
    assert "there is no file" in done.err
    assert "one text" not in done.err
    packed = tmp_path / "page.txt.gz"
    packed.write_bytes(gzip.compress(TEXTS["c"].encode()))
    assert [match["id"] for match in run("index", "query", str(built), str(packed), "--json").json["matches"]] == ["c"]
    packed.write_bytes(b"no gzip")
    for given, told in ((tmp_path, "is a folder"), ("", "nothing to look up"), (packed, "cannot be read")):
        done = run("index", "query", str(built), str(given))
        assert done.code in (1, 2)
        assert told in done.err


@pytest.mark.parametrize("given", ["-5d", "2099-01-01"])
def test_a_moment_that_is_still_to_come_expires_nothing(run: Run, built: Path, given: str) -> None:
    done = run("index", "expire", str(built), f"--older-than={given}")
    assert done.code == 2
    assert "in the future" in done.err
    assert run("index", "stats", str(built), "--json").json["items"] == 3


def test_an_index_that_is_being_written_is_read_and_not_written(run: Run, built: Path) -> None:
    with Index.open(built):
        assert run("index", "query", str(built), TEXTS["c"], "--json").json["matches"][0]["id"] == "c"
        said = run("index", "compact", str(built)).error
        assert "being written by another process: wait for it with wait=SECONDS (--wait SECONDS)" in said


@pytest.mark.parametrize(
    "wrong", [["--id", "nope"], ["--payload", "nope"], ["--measure", "cosine", "--weights", "tf-idf"]]
)
def test_a_build_that_fails_leaves_nothing_and_can_be_done_again(
    run: Run, docs: Path, tmp_path: Path, wrong: list[str]
) -> None:
    path = tmp_path / "new.idx"
    assert run("index", "build", str(docs), "-o", str(path), *wrong).code != 0
    assert [each.name for each in tmp_path.iterdir()] == [docs.name]
    assert run("index", "build", str(docs), "-o", str(path), "--id", "id").code == 0
    assert run("index", "stats", str(path), "--json").json["items"] == 3


def test_an_index_in_redis_is_built_asked_and_looked_after(
    run: Run, docs: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    pytest.importorskip("redis")
    address = redis_server.address()
    done = run("index", "build", str(docs), "-o", address, "--id", "id", "--payload", "url", "--shingle", "word:2")
    assert (done.code, f"3 items in {address}" in done.err) == (0, True), done.err
    assert "2 of 3 items match" in run("index", "query", address, TEXTS["a"]).out
    more = tmp_path / "more.csv"
    more.write_text("id,text\n7,one more text of some length\n")
    assert "1 item added, 4 in" in run("index", "add", address, str(more), "--id", "id").err
    assert "1 removed, 3 left" in run("index", "remove", address, "7").err
    assert run("index", "stats", address, "--json").json["items"] == 3
    assert "sound" in run("index", "verify", address).err
    assert "0.0 MB freed" in run("index", "compact", address).err
    assert run("index", "backup", address, str(tmp_path / "copy.idx")).code == 0
    assert "3 removed, 0 left" in run("index", "expire", address, "--older-than", "0s").err
    with Index.open(tmp_path / "copy.idx") as copy:
        assert list(copy) == list(TEXTS)


def test_an_address_that_redis_refuses_is_one_line(run: Run, redis_server: RedisServer) -> None:
    pytest.importorskip("redis")
    server = f"redis://127.0.0.1:{redis_server.port}"
    for place, words in (
        ("/99?name=x", "Redis has no database of this number (DB index is out of range)"),
        ("/0?name=x&foo=1", "there is no parameter foo; there are name, retry, and those of redis-py"),
        ("/0?name=x&protocol=9", "protocol must be either 2 or 3"),
    ):
        done = run("index", "query", server + place, "a text")
        assert done.err == f"lookalike: {server}{place}: {words}\n"


def test_a_redis_that_is_not_there_is_one_line(run: Run) -> None:
    pytest.importorskip("redis")
    done = run("index", "query", "redis://:sesame@127.0.0.1:1/0?name=seen&retry=0", "a text")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.err.startswith("lookalike: redis://127.0.0.1:1/0?name=seen&retry=0 cannot be reached: ")
    assert "sesame" not in done.err
