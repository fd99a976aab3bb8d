"""An index in memory, a folder and Redis, fresh and opened again: the same answers, and those of plain comparison."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike import Index, InputError, Match, Near, OptionError, OutputError
from lookalike.index import log_sizes
from tests.redis_server import RedisServer

Reopen = Callable[[Index], Index]
TEXTS = {
    "cat": "the cat sat on the mat and looked at the dog that slept near the door of the house",
    "cat2": "The cat sat on the mat, and looked at the dog that slept near the door of the house!",
    "fox": "a quick brown fox jumps over the lazy dog while the sun goes down behind the hills",
    "short": "hello",
    "empty": "",
    "marks": "!!!",
}


@pytest.fixture(params=["memory", "folder", "folder, reopened", "redis", "redis, reopened"])
def where(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(where: str, tmp_path: Path, request: pytest.FixtureRequest) -> str | Path:
    if where.startswith("redis"):
        server: RedisServer = request.getfixturevalue("redis_server")
        return server.address()
    return ":memory:" if where == "memory" else tmp_path / "seen.idx"


@pytest.fixture
def again(where: str, place: Path, small: None) -> Reopen:
    """Close an index and open it, where that is what is tested."""

    def reopen(index: Index) -> Index:
        if not where.endswith("reopened"):
            return index
        index.close()
        return Index.open(place)

    return reopen


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, volumes and what is left in the log are so small that everything happens with a hundred items."""
    monkeypatch.setattr(log_sizes, "FIRST_TABLE", 16)
    monkeypatch.setattr(log_sizes, "LAST_TABLE", 64)
    monkeypatch.setattr(log_sizes, "FIRST_VOLUME", 1 << 12)
    monkeypatch.setattr(log_sizes, "LAST_VOLUME", 1 << 14)
    monkeypatch.setattr(log_sizes, "LEFT_IN_LOG", 5)


def records_of(address: str) -> list[bytes]:
    """All records of an index in Redis."""
    import redis

    asked = urlsplit(address)
    with redis.Redis(port=asked.port or 0) as client:
        names = client.scan_iter(match=f"lookalike:{{{asked.query.removeprefix('name=')}}}:r*")
        return [record for name in names for record in client.hvals(name)]


def random_texts(count: int, seed: int = 0) -> list[str]:
    """Texts of which one in three is like another one."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(300)]
    texts: list[str] = []
    for number in range(count):
        if number % 3 == 2:
            old = texts[int(rng.integers(len(texts)))].split()
            for _ in range(int(rng.integers(0, 4))):
                old[int(rng.integers(len(old)))] = words[int(rng.integers(300))]
            texts.append(" ".join(old))
        else:
            texts.append(" ".join(rng.choice(words, 60)))
    return texts


def test_texts_are_found_by_what_they_say(place: Any, again: Reopen) -> None:
    index = Index.create(place, shingle="word:2")
    for name, text in TEXTS.items():
        index.add(name, text, {"length": len(text)})
    index = again(index)
    both = [Match(name, 1.0, {"length": len(TEXTS[name])}) for name in ("cat", "cat2")]
    assert index.query(TEXTS["cat"]) == both
    assert [match.id for match in index.query(TEXTS["short"])] == ["short"]
    assert [match.id for match in index.query("")] == ["empty"]
    assert [match.id for match in index.query("!!!")] == ["marks"]
    assert index.query("?!") == []
    assert len(index) == 6
    assert list(index) == list(TEXTS)
    assert "cat" in index
    assert "dog" not in index
    assert 3 not in index
    assert index.get("fox") == {"length": len(TEXTS["fox"])}
    index.close()


def test_ids_are_strings_or_integers_and_told_apart(place: Any, again: Reopen) -> None:
    index = Index.create(place, shingle="word:1")
    names: list[str | int] = [7, "7", -1, 2**63 - 1, "ünï", "a" * 1000, "\ud800"]
    for number, name in enumerate(names):
        index.add(name, f"text number {number} of all")
    index = again(index)
    assert list(index) == names
    assert [match.id for match in index.query("text number 1 of all", threshold=1.0)] == ["7"]
    for wrong in (1.5, None, b"x", True, 2**63, "", "a" * 1001, ("a",)):
        with pytest.raises(InputError, match="id"):
            index.add(wrong, "another text")  # type: ignore[arg-type]
    index.close()


def test_an_id_that_is_there_is_refused_and_can_be_replaced(place: Any, again: Reopen) -> None:
    index = Index.create(place, shingle="word:1")
    index.add("a", TEXTS["cat"])
    with pytest.raises(InputError, match="'a' exists already"):
        index.add("a", TEXTS["fox"])
    with pytest.raises(InputError, match="'b' is repeated"):
        index.add_many([("b", "one"), ("b", "two")])
    index.replace("a", TEXTS["fox"], "new")
    index.replace("c", TEXTS["short"])
    index = again(index)
    assert index.query(TEXTS["cat"]) == []
    assert index.query(TEXTS["fox"]) == [Match("a", 1.0, "new")]
    assert len(index) == 2
    index.remove("a")
    index.add("a", TEXTS["cat"])
    index = again(index)
    assert [match.id for match in index.query(TEXTS["cat"])] == ["a"]
    with pytest.raises(KeyError):
        index.remove("nobody")
    index.close()


def test_seen_gives_the_match_or_adds_the_item(place: Any, again: Reopen) -> None:
    index = Index.create(place, shingle="word:2")
    assert index.seen("a", TEXTS["cat"]) is None
    index = again(index)
    assert index.seen("b", TEXTS["cat2"]) == Match("a", 1.0)
    assert index.seen("c", TEXTS["empty"]) is None
    assert index.seen("d", TEXTS["empty"]) == Match("c", 1.0)
    assert list(index) == ["a", "c"]
    index.close()


def test_what_is_old_expires(place: Any, again: Reopen) -> None:
    index = Index.create(place, shingle="word:1")
    index.add_many((i, f"text {i}") for i in range(30))
    index = again(index)
    assert index.expire(timedelta(hours=1)) == 0
    assert index.expire(datetime.now(UTC) - timedelta(hours=1)) == 0
    middle = datetime.now(UTC) + timedelta(seconds=5)
    assert index.expire(middle) == 30
    assert len(index) == 0
    assert index.query("text 3") == []
    with pytest.raises(OptionError, match="older_than"):
        index.expire(-1)
    index.close()


def test_answers_are_those_of_all_comparisons_through_flushes_volumes_and_merges(place: Any, again: Reopen) -> None:
    texts = random_texts(400)
    index = Index.create(place, threshold=0.5, shingle="word:2", bands=40, rows=2)
    for begin in range(0, 400, 50):
        index.add_many((f"id{i}", texts[i]) for i in range(begin, begin + 50))
        index = again(index)
    removed = set(range(0, 400, 7))
    for i in removed:
        index.remove(f"id{i}")
    index = again(index)
    truth = lookalike.pairs(
        {f"id{i}": text for i, text in enumerate(texts)}, threshold=0.5, shingle="word:2", bands=40, rows=2
    )
    expected: dict[str, dict[str, float]] = {f"id{i}": {f"id{i}": 1.0} for i in range(400)}
    for row in truth.table.to_pylist():
        expected[row["a"]][row["b"]] = expected[row["b"]][row["a"]] = row["similarity"]
    gone = {f"id{i}" for i in removed}
    answers = index.query_many(texts)
    assert len(index) == 400 - len(removed)
    for i, (text, answer) in enumerate(zip(texts, answers, strict=True)):
        wanted = {name: score for name, score in expected[f"id{i}"].items() if name not in gone}
        assert {match.id: match.similarity for match in answer} == wanted
        assert [match.similarity for match in answer] == sorted((match.similarity for match in answer), reverse=True)
        assert answer.complete
        assert index.query(text) == answer
    index.close()


def test_a_higher_threshold_and_the_best_k(place: Any, again: Reopen) -> None:
    texts = random_texts(200, 3)
    index = Index.create(place, threshold=0.4, shingle="word:1")
    index.add_many(enumerate(texts))
    index = again(index)
    for text in texts[::17]:
        every = index.query(text)
        assert index.query(text, k=2) == every[:2]
        assert index.query(text, threshold=0.9) == [match for match in every if match.similarity >= 0.9]
    with pytest.raises(OptionError, match=r"0\.3.*Jaccard >= 0\.4"):
        index.query(texts[0], threshold=0.3)
    for wrong in ({"k": 0}, {"examine": 0}, {"k": 1.5}, {"k": -1}):
        with pytest.raises(OptionError, match="1 or more"):
            index.query(texts[0], **wrong)
    with pytest.raises(OptionError, match="1 at the most"):
        index.query(texts[0], threshold=1.5)
    index.close()


def vectors(count: int, dimensions: int = 24) -> list[Any]:
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(10, dimensions))
    near = centres[rng.integers(10, size=count)] + rng.normal(scale=0.15, size=(count, dimensions))
    return list(near.astype(np.float32))


def bit_strings(count: int) -> list[Any]:
    rng = np.random.default_rng(6)
    centres = rng.integers(0, 2, (8, 100)).astype(bool)
    return list(centres[rng.integers(8, size=count)] ^ (rng.random((count, 100)) < 0.03))


def sets(count: int) -> list[Any]:
    rng = np.random.default_rng(7)
    centres = [rng.integers(0, 10**6, 30) for _ in range(10)]
    return [set(rng.choice(centres[int(rng.integers(10))], 26, replace=False).tolist()) for _ in range(count)]


def bags(count: int) -> list[Any]:
    return [{f"e{x % 500}": 1.0 + x % 3 for x in each} for each in sets(count)]


MEASURES: list[tuple[str, dict[str, Any], Callable[[int], list[Any]]]] = [
    ("jaccard", {"threshold": 0.6}, sets),
    ("jaccard", {"threshold": 0.6, "exact": True}, sets),
    ("containment", {"threshold": 0.8}, sets),
    ("weighted-jaccard", {"threshold": 0.6}, bags),
    ("cosine", {"threshold": 0.8}, bags),
    ("cosine", {"threshold": 0.9}, vectors),
    ("euclidean", {"max_distance": 1.0}, vectors),
    ("manhattan", {"max_distance": 4.0}, vectors),
    ("lr:3", {"max_distance": 0.5}, vectors),
    ("hamming", {"threshold": 0.9}, bit_strings),
    ("jaccard", {"threshold": 0.7, "shingle": "char:4"}, random_texts),
    ("jaccard", {"threshold": 0.6, "shingle": "word:2:bag"}, random_texts),
    ("weighted-jaccard", {"threshold": 0.6, "shingle": "word:1", "weights": "count"}, random_texts),
    ("containment", {"threshold": 0.7, "shingle": "word:2"}, random_texts),
]


@pytest.mark.parametrize(
    ("measure", "options", "make"), MEASURES, ids=lambda each: str(getattr(each, "__name__", each))
)
def test_every_measure_answers_as_a_batch_run(
    measure: str, options: dict[str, Any], make: Callable[[int], list[Any]], place: Any, again: Reopen
) -> None:
    items = make(150)
    exact = options.get("exact", False)
    index = Index.create(place, measure=None if exact else measure, recall=0.999, **options)
    index.add_many(enumerate(items[:70]))
    index = again(index)
    for number, item in enumerate(items[70:], 70):
        index.add(number, item)
    index = again(index)
    recipe = index.recipe
    assert recipe is not None
    assert recipe.measure == ("identity" if exact else measure)
    plan: dict[str, Any] = {} if exact or not recipe.bands else {"bands": recipe.bands, "rows": recipe.rows}
    found = lookalike.pairs(dict(enumerate(items)), measure=None if exact else measure, recall=0.999, **plan, **options)
    column = "distance" if "max_distance" in options else "similarity"
    expected = {(row["a"], row["b"]): row[column] for row in found.table.to_pylist()}
    answers = index.query_many(items)
    pairs = {
        (a, match[0]): match[1] for a, answer in enumerate(answers) for match in answer if a < match[0]
    }  # fmt: skip
    if measure == "containment":
        expected = {tuple(sorted(pair)): score for pair, score in expected.items()}
    # The width of a plan for stable projections is chosen on a sample by a run, which an index has not.
    shared = set(pairs) & set(expected)
    assert len(shared) >= 0.98 * max(len(pairs), len(expected))
    if "max_distance" not in options:
        assert set(pairs) == set(expected)
    for pair in shared:
        assert pairs[pair] == pytest.approx(expected[pair], rel=1e-12)
    assert all(answer[0].id == a or answer[0][1] == answer[1][1] for a, answer in enumerate(answers))
    assert isinstance(answers[0][0], Near if "max_distance" in options else Match)
    index.close()


def test_sketches_alone_estimate(place: Any, again: Reopen) -> None:
    texts = random_texts(100)
    index = Index.create(place, threshold=0.7, shingle="word:1", verify="sketch", bands=64, rows=4)
    index.add_many(enumerate(texts))
    index = again(index)
    exact = Index.create(threshold=0.7, shingle="word:1", bands=64, rows=4)
    exact.add_many(enumerate(texts))
    for text in texts[::9]:
        estimates = {match.id: match.similarity for match in index.query(text)}
        for match in exact.query(text):
            # 256 slots, 5 standard errors.
            assert abs(estimates.get(match.id, 0.7) - match.similarity) <= 5 * np.sqrt(0.25 / 256)
        # A higher threshold is one of estimates, too.
        assert {match.id for match in index.query(text, threshold=0.9)} == {
            name for name, similarity in estimates.items() if similarity >= 0.9
        }
    assert "no items were compared" in str(index.verify())
    index.close()


def test_wrong_items_are_told_and_nothing_is_added(place: Any) -> None:
    index = Index.create(place, measure="cosine", threshold=0.9)
    index.add("a", [1.0, 2.0, 3.0])
    wrong = ([1.0, 2.0], [0.0, 0.0, 0.0], [1.0, float("nan"), 2.0], None, object(), "text")
    for item in wrong:
        with pytest.raises(InputError):
            index.add("b", item)
        with pytest.raises(InputError):
            index.query(item)
    for payload in (object(), float("nan"), {"a": float("inf")}):
        with pytest.raises(InputError, match="payload"):
            index.add("b", [1.0, 2.0, 4.0], payload=payload)
    with pytest.raises(InputError, match="item 0"):
        index.add_many(["b"])  # type: ignore[list-item]
    assert list(index) == ["a"]
    assert index.add_many([]) == 0
    index.close()


@pytest.mark.parametrize(
    ("measure", "first", "others"),
    [
        ("jaccard", {1, 2, 3}, ["text", b"bytes", [1.5, 2.5]]),
        ("jaccard", "a text", [{1, 2}, [1, 2], {"a": 1.0}, [True, False]]),
        ("weighted-jaccard", {"a": 1.0}, ["text", [True, False]]),
        ("cosine", [1.0, 2.0], [{"a": 1.0}, {"x", "y"}]),
        ("hamming", [True, False], [{1, 2}, {"a": 1.0}]),
        ("hamming", "ab", [[1.5, 2.5], {1, 2}]),
    ],
)
def test_items_of_another_kind_than_the_first_are_refused(measure: str, first: Any, others: list[Any]) -> None:
    index = Index.create(measure=measure, threshold=0.9)
    try:
        index.add("first", first)
    except (InputError, OptionError):
        return
    for other in others:
        with pytest.raises(InputError):
            index.query(other)
        with pytest.raises(InputError):
            index.add("other", other)
    assert list(index) == ["first"]


def test_options_that_an_index_can_not_keep_are_refused() -> None:
    for options in ({"weights": "tf-idf"}, {"verify": "none"}, {"nonsense": 1}, {"threshold": 2.0}, {"bands": 3}):
        with pytest.raises(OptionError):
            Index.create(**options)
    with pytest.raises(OptionError, match="verify=sketch"):
        Index.create(measure="hamming", verify="sketch").add("a", [True, False])


@pytest.mark.parametrize("measure", ["weighted-jaccard", "cosine"])
def test_text_weighs_by_count_where_nothing_is_said(measure: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"measure": measure, "threshold": 0.6, "shingle": "word:1"}
    texts = random_texts(30)
    truth = Index.build(None, texts, **options, weights="count")
    built = Index.build(tmp_path / "built.idx", texts, **options)
    grown = Index.create(None, **options)
    grown.add_many(enumerate(texts))
    for index in (built, grown):
        assert index.recipe is not None
        assert index.recipe.weights == "count"
        assert [index.query(text) for text in texts] == [truth.query(text) for text in texts]
    built.close()
    for weights in ("tf-idf", "bm25"):
        for ask in (Index.create, lambda **given: Index.open(tmp_path / "built.idx", **given)):
            with pytest.raises(OptionError, match=f"weights={weights} go by how many documents .*: use count"):
                ask(weights=weights, measure=measure)
    # Whether the items are text is not known before the first one.
    vectors_too = Index.create(**options | {"measure": "cosine", "shingle": None})
    vectors_too.add("v", [1.0, 2.0])
    assert [match.id for match in vectors_too.query([1.0, 2.0])] == ["v"]


def test_an_index_is_opened_with_the_options_it_was_made_with(tmp_path: Path) -> None:
    path = tmp_path / "seen.idx"
    Index.create(path, threshold=0.7, shingle="word:3", normalize=["lower", "accents"]).close()
    Index.open(path, threshold=0.7, shingle="word:3").close()
    with pytest.raises(OptionError, match=r"threshold=0\.7, and 0\.8"):
        Index.open(path, threshold=0.8)
    with pytest.raises(OptionError, match="shingle"):
        Index.open(path, shingle="word:5")
    with pytest.raises(InputError, match="no index"):
        Index.open(tmp_path)
    with pytest.raises(InputError, match="no index"):
        Index.open(tmp_path / "nowhere")


def test_a_secret_seed_is_not_kept_and_must_be_given(tmp_path: Path) -> None:
    path, seed = tmp_path / "seen.idx", 2**127 + 12345
    with Index.create(path, seed=seed, shingle="word:1") as index:
        index.add("a", TEXTS["cat"])
    kept = b"".join(file.read_bytes() for file in path.iterdir())
    assert str(seed).encode() not in kept
    with pytest.raises(InputError, match="secret seed"):
        Index.open(path)
    with pytest.raises(InputError, match="seed"):
        Index.open(path, seed=seed + 1)
    with Index.open(path, seed=seed) as index:
        assert [match.id for match in index.query(TEXTS["cat"])] == ["a"]


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="not empty"):
        Index.create(tmp_path)
    with pytest.raises(OutputError, match="is a file"):
        Index.create(tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    path = tmp_path / "seen.idx"
    Index.create(path).close()
    with pytest.raises(OutputError, match="already holds an index"):
        Index.create(path)


def test_files_of_others_in_the_folder_stay(tmp_path: Path, small: None) -> None:
    path = tmp_path / "seen.idx"
    with Index.create(path, shingle="word:1") as index:
        index.add("a", "one")
    for name in ("segment-999", "volume-77", "notes.txt"):
        (path / name).write_text("mine")
    with Index.open(path) as index:
        index.add_many((i, f"text {i}") for i in range(200))
        index.compact()
    assert all((path / name).read_text() == "mine" for name in ("segment-999", "volume-77", "notes.txt"))


def test_compacting_gives_back_room_and_changes_no_answer(place: Any, again: Reopen) -> None:
    texts = random_texts(300, 9)
    index = Index.create(place, threshold=0.5, shingle="word:1")
    index.add_many(enumerate(texts))
    with index.together():
        for i in range(0, 300, 2):
            index.remove(i)
    before = index.query_many(texts)
    if index.is_shared:
        # In Redis nothing is left to give back.
        assert index.stats()["record_bytes"] == sum(map(len, records_of(place)))
    else:
        taken = index.stats()["log_bytes"]
        assert index.compact() > 0.4 * taken
    assert index.query_many(texts) == before
    index = again(index)
    assert sorted(index) == list(range(1, 300, 2))
    assert index.query_many(texts) == before
    assert index.compact() == 0
    assert index.expire(datetime.now(UTC) + timedelta(days=1)) == 150
    index.compact()
    index = again(index)
    assert (len(index), list(index), index.query_many(texts[:3])) == (0, [], [[], [], []])
    index.add("new", texts[0])
    assert [match.id for match in index.query(texts[0])] == ["new"]
    index.close()


def test_a_backup_is_the_index_of_that_moment(tmp_path: Path, place: Any, small: None) -> None:
    texts = random_texts(150)
    with Index.create(place, shingle="word:1", threshold=0.5) as index:
        index.add_many((i, text, {"n": i}) for i, text in enumerate(texts[:100]))
        index.remove(3)
        index.backup(tmp_path / "b.idx")
        index.add_many(enumerate(texts[100:], 100))
        with pytest.raises(OutputError, match="not empty"):
            index.backup(tmp_path / "b.idx")
    with Index.open(tmp_path / "b.idx") as copy:
        assert sorted(copy) == [i for i in range(100) if i != 3]
        assert copy.query(texts[5])[0] == Match(5, 1.0, {"n": 5})
        assert copy.verify().sound
        copy.add(1000, texts[120])
        assert len(copy) == 100


def test_indexes_of_one_kind_are_merged(place: Any, again: Reopen) -> None:
    texts = random_texts(120)
    one, other = Index.create(place, shingle="word:1"), Index.create(shingle="word:1")
    assert one.merge(other) == 0
    other.add_many((i, text, f"p{i}") for i, text in enumerate(texts))
    assert one.merge(other) == 120
    one = again(one)
    assert list(one) == list(range(120))
    assert one.query(texts[7]) == other.query(texts[7])
    with pytest.raises(InputError, match="both indexes have the id 0"):
        one.merge(other)
    strange = Index.create(shingle="word:2")
    strange.add("x", "a b c")
    with pytest.raises(OptionError, match="different ways"):
        one.merge(strange)
    assert len(one) == 120
    one.close()


def test_the_recall_is_measured_on_what_is_stored(place: Any, again: Reopen) -> None:
    texts = random_texts(300, 4)
    index = Index.create(place, threshold=0.5, shingle="word:1", bands=2, rows=3)
    index.add_many(enumerate(texts))
    index = again(index)
    certificate = index.verify(300)
    truth = lookalike.pairs(texts, threshold=0.5, shingle="word:1", recall=0.999999)
    assert certificate.sound
    assert certificate.pairs == 2 * len(truth)
    found = sum(len(answer) - 1 for answer in index.query_many(texts, examine=None))
    assert certificate.found == found < certificate.pairs
    assert certificate.recall == pytest.approx(found / certificate.pairs)
    assert "recall 0." in str(certificate)
    part = index.verify(60, seed=3)
    assert (part.low or 0.0) <= (certificate.recall or 0.0) <= (part.high or 0.0)
    empty = Index.create().verify()
    assert (empty.items, empty.recall) == (0, None)
    index.close()


def test_collections_are_built_from_files(place: Any, again: Reopen, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = random_texts(200)
    rows = pa.table({"id": [f"d{i}" for i in range(200)], "text": texts, "url": [f"u{i}" for i in range(200)]})
    pq.write_table(rows, tmp_path / "in.parquet", row_group_size=30)
    index = Index.build(place, tmp_path / "in.parquet", id="id", payload=["url"], shingle="word:1", threshold=0.5)
    index = again(index)
    assert len(index) == 200
    assert index.query(texts[3], k=1) == [Match("d3", 1.0, {"url": "u3"})]
    assert index.add_collection(random_texts(20, 8)) == 20
    index = again(index)
    assert list(index)[-20:] == list(range(20))
    with pytest.raises(InputError, match="no column 'nope'"):
        index.add_collection(tmp_path / "in.parquet", payload=["nope"])
    with pytest.raises(InputError, match="'d0' exists already"):
        index.add_collection(tmp_path / "in.parquet", id="id")
    with pytest.raises(InputError, match="index is one of text"):
        index.add_collection(np.ones((3, 4)))
    index.close()


def test_a_collection_takes_the_place_of_items_with_its_ids(place: Any, again: Reopen) -> None:
    texts = random_texts(60)
    index = Index.create(place, threshold=0.7, shingle="word:2")
    index.add_many((f"d{i}", texts[i], {"n": 0}) for i in range(20))
    more = pa.table({"id": [f"d{i}" for i in range(10, 30)], "text": texts[30:50], "n": [1] * 20})
    with pytest.raises(InputError, match="exists already"):
        index.add_collection(more, id="id", column="text")
    assert len(index) == 20
    assert index.add_collection(more, id="id", column="text", payload=["n"], replace=True) == 20
    index = again(index)
    assert sorted(index) == sorted(f"d{i}" for i in range(30))
    assert [index.get(f"d{i}") for i in (0, 10, 29)] == [{"n": 0}, {"n": 1}, {"n": 1}]
    assert "d15" in [match.id for match in index.query(texts[35])]
    assert "d15" not in [match.id for match in index.query(texts[15])]


def test_what_is_added_as_one_inside_of_another_is_part_of_it() -> None:
    index = Index.create()
    index.add("a", "some text of five words")
    with pytest.raises(KeyError), index.as_one():
        index.add("b", "another text of five words")
        assert index.add_collection(random_texts(20)) == 20
        index.add("c", "a third text of five words")
        raise KeyError
    assert list(index) == ["a"]
    with index.as_one():
        index.add_collection(random_texts(20))
        index.replace(3, "a third text of five words")
    assert (len(index), len(list(index))) == (21, 21)


def test_stats_tell_what_there_is(place: Any, again: Reopen) -> None:
    index = Index.create(place, shingle="word:1")
    assert index.stats()["items"] == 0
    assert index.recipe is None
    index.add_many((i, f"some text number {i}") for i in range(100))
    index = again(index)
    stats = index.stats()
    assert (stats["items"], stats["measure"], stats["limit"]) == (100, "jaccard", "Jaccard >= 0.8")
    assert index.is_shared or stats["segments"] >= 1
    assert stats["bytes_per_item"] > 0
    index.close()


def test_a_template_in_many_items_is_not_gone_through_and_that_is_told() -> None:
    rng = np.random.default_rng(1)
    template = [f"t{i}" for i in range(60)]
    index = Index.create(threshold=0.9, shingle="word:1", bands=20, rows=2)
    index.add_many((i, " ".join([*template, *(f"x{int(n)}" for n in rng.integers(0, 10**6, 20))])) for i in range(3000))
    target = " ".join([*template, *(f"y{i}" for i in range(20))])
    index.add("target", target)
    answer = index.query(target, examine=100)
    assert [match.id for match in answer] == ["target"]
    # Signatures rule out what has only the template in common.
    assert answer.compared < 100
    assert answer.complete
    index.add_many((f"copy{i}", target) for i in range(300))
    capped = index.query(target, examine=100)
    assert (len(capped), capped.compared, capped.left_out) == (100, 100, 201)
    assert not capped.complete
    every = index.query(target, examine=None)
    assert len(every) == 301
    assert every.complete
    assert index.seen("one more", target) is not None


def test_queries_of_many_threads_do_not_get_in_one_another_s_way() -> None:
    from concurrent.futures import ThreadPoolExecutor

    texts = random_texts(200)
    index = Index.create(threshold=0.5, shingle="word:1")
    index.add_many(enumerate(texts))
    expected = [index.query(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(index.query, texts)) == expected


def test_two_generators_of_ids_share_nothing() -> None:
    index = Index.create(shingle="word:1")
    numbers: Iterator[int] = itertools.count()
    assert index.add_many((next(numbers), f"text {i}") for i in range(2500)) == 2500
    assert len(index) == 2500
    assert index.query_many([]) == []


@pytest.mark.parametrize("measure", ["containment", "lr:3"])
def test_a_few_items_of_a_measure_without_bands_are_read_again(tmp_path: Path, measure: str) -> None:
    """They are in no segment, so that their keys, which nothing looks up, are made again."""
    options: dict[str, Any] = {"threshold": 0.8} if measure == "containment" else {"max_distance": 0.5}
    item: Any = {1, 2, 3, 4} if measure == "containment" else [1.0, 2.0]
    with Index.create(tmp_path / "seen.idx", measure=measure, **options) as index:
        index.add("a", item)
    with Index.open(tmp_path / "seen.idx") as index:
        assert [match[0] for match in index.query(item)] == ["a"]


def test_of_many_matches_ids_and_payloads_are_those_of_each() -> None:
    text = "one two three four five six seven eight nine ten"
    with Index.create() as index:
        for number in range(40):
            name = number if number % 3 else f"id {number} ä"
            index.add(name, text, {"n": number} if number % 2 else None)
        answer = index.query(text)
        assert {match.id: match.payload for match in answer} == {
            number if number % 3 else f"id {number} ä": {"n": number} if number % 2 else None for number in range(40)
        }
        assert all(type(match) is type(answer[0]) and match.similarity == 1.0 for match in answer)
