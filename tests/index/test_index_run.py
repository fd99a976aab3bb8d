"""A batch run against an index: the answers of a run against its items, those of plain Python, and what is added."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike
from lookalike import Index, InputError, OptionError, OutputError
from lookalike.config import make_config
from lookalike.engines.local.pipeline import find
from lookalike.engines.local.result_tables import clusters_table, pairs_table, removed_table
from lookalike.engines.local.store.work_folder import Work
from lookalike.index import index_search, log_sizes
from lookalike.index.log_store import LogStore
from lookalike.index.storing import Storing
from lookalike.io import open_source
from tests.index.test_index import MEASURES
from tests.near_copies import near_copies
from tests.reference import sets
from tests.stored_records import log_of

some = settings(max_examples=40, deadline=None, derandomize=True)
few = settings(max_examples=15, deadline=None, derandomize=True)

WORDS = [f"w{i}" for i in range(8)]
# Of each form: one item, and the options that say what is alike. So few bands that some pairs are missed.
elements = st.frozensets(st.integers(0, 9), min_size=1, max_size=7)
FORMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "text": (
        st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join),
        {"shingle": "word:1", "threshold": 0.5, "bands": 3, "rows": 2},
    ),
    "sets": (elements, {"threshold": 0.5, "bands": 3, "rows": 2}),
    "bags": (
        st.dictionaries(st.sampled_from(WORDS), st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=6),
        {"measure": "weighted-jaccard", "threshold": 0.5, "bands": 3, "rows": 2},
    ),
    "vectors": (
        st.lists(st.sampled_from([0.5, 1.0, 3.0, -1.0]), min_size=4, max_size=4),
        {"measure": "cosine", "threshold": 0.8, "bands": 3, "rows": 4},
    ),
    "bits": (
        st.lists(st.booleans(), min_size=12, max_size=12),
        {"measure": "hamming", "threshold": 0.75, "bands": 3, "rows": 5},
    ),
    "identical": (st.lists(st.sampled_from(WORDS[:3]), max_size=2).map(" ".join), {"exact": True}),
}


def items_of(form: str, items: list[Any]) -> Any:
    if form in ("vectors", "bits"):
        return np.array(items, np.bool_ if form == "bits" else np.float32)
    return items


def both(form: str) -> Any:
    return st.lists(FORMS[form][0], min_size=1, max_size=14)


def decided(result: lookalike.Dedup) -> tuple[list[Any], list[bool]]:
    rows = result.removed.to_pylist()
    # Without references there is no column that tells them.
    return [row | {"against": row.get("against", False)} for row in rows], result.kept.tolist()


@pytest.mark.parametrize("form", FORMS)
def test_an_index_gives_what_its_items_give(form: str) -> None:
    """Bands decide alike: what one run misses, the other does."""

    @some
    @given(both(form), both(form), st.sampled_from(["first", "last", "longest"]))
    def check(old: list[Any], new: list[Any], keep: str) -> None:
        options, known, own = FORMS[form][1], items_of(form, old), items_of(form, new)
        with Index.build(":memory:", known, **options) as index:
            found = decided(lookalike.dedup(own, against=index, audit=0, keep=keep))
            # Vectors and bits have a plan of their own for each collection, unless it is given.
            assert found == decided(lookalike.dedup(own, against=known, audit=0, keep=keep, **options))

    check()


@some
@given(both("sets"), both("sets"), st.booleans())
def test_with_the_audit_it_is_what_plain_comparison_gives(
    old: list[frozenset[int]], new: list[frozenset[int]], crowded: bool
) -> None:
    """All of a few items are audited. `crowded` has every bucket be one of too many candidates."""
    everything = [*old, *new]
    edges = {
        (i, j): float(sets.jaccard(everything[i], everything[j]))
        for i, j in itertools.combinations(range(len(everything)), 2)
        if j >= len(old) and sets.jaccard(everything[i], everything[j]) >= 0.5
    }
    truth = sets.representative(len(everything), edges, range(len(everything)))
    with pytest.MonkeyPatch.context() as patch:
        if crowded:
            patch.setattr(index_search, "_LIKELIEST", 1)
            patch.setattr(index_search, "TAKEN", 2)
        with Index.build(":memory:", old, threshold=0.5, bands=3, rows=2) as index:
            result = lookalike.dedup(new, against=index)
    rows, _ = decided(result)
    numbered = {row["id"] + len(old): row["kept"] + (0 if row["against"] else len(old)) for row in rows}
    assert numbered == {item: keeper for item, (keeper, _) in truth.items()}
    assert [row["similarity"] for row in rows] == pytest.approx([float(truth[i][1]) for i in sorted(truth)])


@few
@given(both("sets"), both("sets"))
def test_the_best_match_is_found_however_many_share_a_bucket(
    old: list[frozenset[int]], new: list[frozenset[int]]
) -> None:
    with Index.build(":memory:", old, threshold=0.5, bands=3, rows=2) as index:
        whole = decided(lookalike.dedup(new, against=index, audit=0))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(index_search, "_LIKELIEST", 1)
            assert decided(lookalike.dedup(new, against=index, audit=0)) == whole


@pytest.mark.parametrize("form", ["text", "sets", "bags", "vectors", "bits"])
def test_an_index_and_a_batch_run_on_the_same_items_give_the_same_pairs(form: str) -> None:
    @few
    @given(both(form))
    def check(items: list[Any]) -> None:
        options, given = FORMS[form][1], items_of(form, items)
        pairs = lookalike.pairs(given, audit=0, **options)
        with Index.build(":memory:", given, **options) as index:
            answers = index.query_many(given, examine=None)
        found = {
            (item, match.id): match.similarity for item, answer in enumerate(answers) for match in answer
            if item < match.id
        }  # fmt: skip
        assert found == {(a, b): similarity for a, b, similarity in pairs}

    check()


@pytest.mark.parametrize(
    ("measure", "options", "make"), MEASURES, ids=lambda each: str(getattr(each, "__name__", each))
)
def test_every_measure_removes_what_a_run_against_the_items_removes(
    measure: str, options: dict[str, Any], make: Callable[[int], list[Any]]
) -> None:
    """All items are audited, so that neither of the two misses anything."""
    items = make(150)
    old, new = (as_given(each) for each in (items[:70], items[70:]))
    with Index.build(":memory:", old, measure=None if options.get("exact") else measure, **options) as index:
        found = lookalike.dedup(new, against=index)
    truth = lookalike.dedup(new, against=old, measure=None if options.get("exact") else measure, **options)
    assert options.get("exact") or any(row["against"] for row in decided(truth)[0])
    assert decided(found)[1] == decided(truth)[1]
    score = "distance" if "max_distance" in options else "similarity"
    for row, expected in zip(decided(found)[0], decided(truth)[0], strict=True):
        assert row.pop(score) == pytest.approx(expected.pop(score), rel=1e-12)
        assert row == expected


def as_given(items: list[Any]) -> Any:
    return np.array(items) if isinstance(items[0], np.ndarray) else items


TEXTS = near_copies(1, families=40, words=60)
OPTIONS: dict[str, Any] = {"shingle": "word:3", "threshold": 0.7, "bands": 20, "rows": 5}


def table_of(numbers: range) -> pa.Table:
    return pa.table({"id": [f"d{i}" for i in numbers], "text": [TEXTS[i] for i in numbers], "n": list(numbers)})


OLD, NEW = table_of(range(0, 240, 2)), table_of(range(1, 240, 2))


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    pq.write_table(NEW, tmp_path / "new.parquet", row_group_size=30)
    return tmp_path / "new.parquet"


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    with Index.build(tmp_path / "seen.idx", OLD, id="id", **OPTIONS):
        return tmp_path / "seen.idx"


def test_what_is_kept_is_added_with_its_payload_and_seen_the_next_day(seen: Path) -> None:
    first = lookalike.dedup(NEW, against=seen, id="id", add=True, payload=["n"])
    kept = first.table["id"].to_pylist()
    assert 0 < len(kept) < len(NEW)
    with Index.open(seen, readonly=True) as index:
        assert set(index) == {*OLD["id"].to_pylist(), *kept}
        assert index.get(kept[0]) == {"n": int(kept[0][1:])}
        assert index.verify().sound
    told = first.report["known"]
    assert (told["items"], told["kept"], told["added"]) == (len(OLD), len(kept), len(kept))
    assert told["new"] == told["removed"] + told["removed_among_new"] + told["kept"]
    again = lookalike.dedup(NEW, against=seen, id="id")
    assert again.table.num_rows == 0
    assert again.report["known"]["added"] is None


def test_the_second_index_of_a_series_is_that_of_all_items(tmp_path: Path) -> None:
    """What is kept day by day is what is kept of everything at once: the first of those that are alike."""
    table = pa.concat_tables([OLD, NEW])
    whole = lookalike.dedup(table, id="id", audit=0, **OPTIONS).table["id"].to_pylist()
    index = Index.create(tmp_path / "seen.idx", **OPTIONS)
    kept = [
        lookalike.dedup(day, against=index, id="id", add=True, audit=0).table["id"].to_pylist() for day in (OLD, NEW)
    ]
    assert kept[0] + kept[1] == whole
    assert list(index) == whole
    index.close()


def test_nothing_is_added_where_anything_goes_wrong(seen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = Storing.store_new, itertools.count()

    def break_off(self: Storing, *given: Any, **options: Any) -> None:
        real(self, *given, **options)
        if next(calls) == 1:
            raise KeyboardInterrupt

    big = pa.table({"id": NEW["id"], "text": NEW["text"]})
    source = open_source(big, batch_bytes=1 << 12)
    with Index.open(seen) as index:
        monkeypatch.setattr(Storing, "store_new", break_off)
        with pytest.raises(KeyboardInterrupt):
            lookalike.dedup(source, against=index, id="id", add=True, threads=1)
        monkeypatch.undo()
        assert next(calls) >= 2
        assert set(index) == set(OLD["id"].to_pylist())
        lookalike.dedup(NEW, against=index, id="id", add=True)
        assert index.verify().sound


def test_what_is_added_as_one_is_there_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the folder is what a crash leaves. Tables and volumes are so small that a bundle has many of them."""
    for name, value in {
        "FIRST_TABLE": 16,
        "LAST_TABLE": 64,
        "FIRST_VOLUME": 1 << 12,
        "LAST_VOLUME": 1 << 14,
    }.items():
        monkeypatch.setattr(log_sizes, name, value)

    def crashed(name: str) -> set[str | int]:
        """What is there after a crash at this moment; a copy is only of one moment if nothing is merged meanwhile."""
        log_of(index).settle()
        shutil.copytree(tmp_path / "seen.idx", tmp_path / name)
        with Index.open(tmp_path / name) as left:
            assert left.verify().sound
            assert len(left) == len(list(left))
            return set(left)

    index = Index.create(tmp_path / "seen.idx", **OPTIONS)
    index.add_many(enumerate(TEXTS[:50]))
    with index.as_one("a"):
        index.add_many((number, TEXTS[number]) for number in range(50, 120))
        assert crashed("within") == set(range(50))
        index.add_many((number, TEXTS[number]) for number in range(120, 150))
    assert crashed("after") == set(range(150))
    with index.as_one("a"):
        index.add(150, TEXTS[150])
        assert crashed("again") == set(range(150))
    assert len(index.known("a")) == 50
    assert len(index.known("b")) == 151
    with pytest.raises(InputError, match="exists already"), index.as_one("b"):
        index.add_many((number, TEXTS[number]) for number in (160, 161))
        index.add(0, TEXTS[0])
    assert set(index) == crashed("refused") == set(range(151))
    index.compact()
    assert len(index.known("a")) == 151
    index.close()


def test_a_changed_item_under_an_id_that_is_there_is_refused_before_anything_is_written(seen: Path) -> None:
    changed = pa.table({"id": ["d0", "new"], "text": ["something else altogether that nobody knows", "and one more"]})
    with pytest.raises(InputError, match=r"the id 'd0' is in .* already, and another item has it there"):
        lookalike.dedup(changed, against=seen, id="id", add=True)
    # One that is removed is not added: the page is as it was.
    same = pa.table({"id": ["d0"], "text": [TEXTS[0]]})
    assert lookalike.dedup(same, against=seen, id="id", add=True).removed["kept"].to_pylist() == ["d0"]


def test_a_changed_item_takes_the_place_of_the_one_with_its_id(seen: Path) -> None:
    """Of three pages one is new, one has changed altogether, and one is as it was."""
    other = "something else altogether that nobody knows"
    pages = pa.table(
        {"id": ["d0", "new", "d2"], "text": [other, "and one more of some words", TEXTS[2]], "n": [1, 2, 3]}
    )
    with Index.open(seen) as index:
        before = len(index)
        result = lookalike.dedup(pages, against=index, id="id", add=True, replace=True, payload=["n"])
        assert result.removed["id"].to_pylist() == ["d2"]
        known = result.report["known"]
        assert (known["kept"], known["added"], known["replaced"]) == (2, 2, 1)
        assert known["statement"].endswith("2 kept, 2 added, 1 of them in place of items with the same id")
        assert len(index) == len(list(index)) == before + 1
        assert [match.id for match in index.query(other)] == ["d0"]
        assert index.get("d0") == {"n": 1}
        assert "d0" not in [match.id for match in index.query(TEXTS[0])]
        assert index.verify().sound
    with Index.open(seen) as index:
        assert len(index) == len(list(index)) == before + 1
        assert [match.id for match in index.query(other)] == ["d0"]


def test_nothing_to_replace_is_told_as_that(seen: Path) -> None:
    known = lookalike.dedup(NEW, against=seen, id="id", add=True, replace=True, audit=0).report["known"]
    assert known["replaced"] == 0
    assert known["statement"].endswith("0 of them in place of items with the same id")


def test_what_is_replaced_as_one_is_replaced_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the folder is what a crash leaves; what the bundle replaces is in segments and in the table."""
    for name, value in {"FIRST_TABLE": 16, "LAST_TABLE": 64, "FIRST_VOLUME": 1 << 12, "LAST_VOLUME": 1 << 14}.items():
        monkeypatch.setattr(log_sizes, name, value)

    def crashed(name: str, *, readonly: bool = False) -> dict[Any, Any]:
        """The payload of each item that is there after a crash at this moment."""
        log_of(index).settle()
        shutil.copytree(tmp_path / "seen.idx", tmp_path / name)
        with Index.open(tmp_path / name, readonly=readonly) as left:
            assert left.verify().sound
            ids = list(left)
            assert readonly or len(left) == len(ids) == len(set(ids))
            return {each: left.get(each) for each in ids}

    index = Index.create(tmp_path / "seen.idx", **OPTIONS)
    index.add_many((number, TEXTS[number], "old") for number in range(120))
    old = dict.fromkeys(range(120), "old")
    # The last ones are replaced twice.
    new = old | dict.fromkeys(range(40, 130), "new") | {110: "newer", 129: "newer"}
    steps: list[dict[Any, Any]] = []

    def before_removing(self: LogStore, places: Any) -> int:
        if self is log_of(index):
            steps.append(crashed("removing"))
            steps.append(crashed("removing, to read", readonly=True))
        return real(self, places)

    with index.as_one("a"):
        for number in range(40, 130):
            index.replace(number, TEXTS[number + 20], "new")
            if number == 90:
                assert crashed("within") == old
        index.replace(110, TEXTS[3], "newer")
        index.replace(129, TEXTS[5], "newer")
        assert index.get(110) == "newer"
        assert crashed("at the end") == old
        # From here on it is whole, and what it replaces goes.
        real = LogStore._mark_removed
        monkeypatch.setattr(LogStore, "_mark_removed", before_removing)
    monkeypatch.setattr(LogStore, "_mark_removed", real)
    assert steps == [new, new]
    assert crashed("after") == new
    assert {each: index.get(each) for each in index} == new
    assert len(index) == len(new)
    with pytest.raises(KeyboardInterrupt), index.as_one("b"):
        index.replace(3, TEXTS[150], "not to be")
        raise KeyboardInterrupt
    assert {each: index.get(each) for each in index} == new
    # Outside of a bundle it is at once, as ever.
    index.replace(3, TEXTS[150], "by itself")
    assert crashed("by itself") == new | {3: "by itself"}
    index.compact()
    assert crashed("compacted") == new | {3: "by itself"}
    index.close()


def test_one_who_adds_has_the_index_from_the_beginning_and_readers_go_on(
    seen: Path, crawl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def beside(*_: Any) -> None:
        monkeypatch.undo()
        with pytest.raises(OutputError, match="another process"):
            lookalike.dedup(crawl, against=seen, id="id", add=True)
        tried.append(len(lookalike.dedup(crawl, against=seen, id="id").removed))

    monkeypatch.setattr("lookalike.index.index_run.IndexRun.check", beside)
    lookalike.dedup(crawl, against=seen, id="id", add=True)
    assert len(tried) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 0.6}, r"seen.idx was made for Jaccard >= 0.7, and threshold=0.6 was given"),
        ({"max_distance": 0.6}, r"made for Jaccard >= 0.7: max_distance does not go with it"),
        ({"shingle": "word:5"}, r"was made with shingle='word:3', and 'word:5' was given"),
        ({"normalize": "none"}, r"was made with normalize=.*, and \[\] was given"),
        ({"seed": 5}, r"was made with seed=0, and 5 was given"),
        ({"bands": 5, "rows": 5}, r"was made with bands=20, and 5 was given"),
        ({"measure": "containment"}, r"was made with measure='jaccard', and 'containment' was given"),
        ({"recall": 0.5}, r"was made with recall=0.99, and 0.5 was given"),
        ({"exact": True}, r"was made with exact=False, and True was given"),
        ({"verify": "text"}, r"was made with verify='exact', and 'text' was given"),
        ({"group_by": "n"}, r"group_by does not go with an index"),
        ({"max_share": 0.5}, r"max_share does not go with an index"),
        ({"unit": "line"}, r"unit=line does not go with an index"),
        ({"cluster": "components"}, r"cluster=components does not go with an index"),
        ({"payload": ["n"]}, r"payload needs add"),
        ({"replace": True}, r"replace needs add"),
        ({"add": True, "id": None}, r"the items have no ids to tell them from those of"),
        ({"add": True, "payload": ["m"]}, r"there is no column 'm' to keep as payload"),
    ],
)
def test_options_that_are_not_those_of_the_index_are_refused(seen: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises((OptionError, InputError), match=words):
        lookalike.dedup(NEW, against=seen, **{"id": "id", "column": "text"} | options)


@pytest.mark.parametrize("measure", ["weighted-jaccard", "cosine"])
def test_a_run_weighs_texts_as_the_index_does(measure: str) -> None:
    texts = near_copies(40)
    options: dict[str, Any] = {"measure": measure, "threshold": 0.6, "shingle": "word:1"}
    truth = lookalike.dedup(texts[20:], against=texts[:20], weights="count", **options)
    with Index.build(None, texts[:20], **options) as index:
        for run in (
            lookalike.dedup(texts[20:], against=index),
            lookalike.dedup(texts[20:], against=index, weights="count"),
        ):
            assert run.kept.tolist() == truth.kept.tolist()
        with pytest.raises(OptionError, match="made with weights='count', and 'tf-idf' was given"):
            lookalike.dedup(texts[20:], against=index, weights="tf-idf")
    with Index.create(**options) as empty:
        with pytest.raises(OptionError, match="weights=bm25 go by how many documents"):
            lookalike.dedup(texts, against=empty, add=True, weights="bm25")
        lookalike.dedup(texts, against=empty, add=True)
        assert empty.recipe is not None
        assert empty.recipe.weights == "count"
    with Index.create(measure="cosine") as empty:
        lookalike.dedup(np.eye(4, dtype=np.float32), against=empty, add=True)
        assert len(empty) == 4


def test_what_is_no_index_is_refused_where_one_is_needed(seen: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="add puts what is kept into an index, and no index is given"):
        lookalike.dedup(NEW, add=True)
    with pytest.raises(OptionError, match="against takes one index and nothing else"):
        lookalike.dedup(NEW, against=[seen, seen])
    with Index.open(seen, readonly=True) as index, pytest.raises(OptionError, match="opened read-only"):
        lookalike.dedup(NEW, against=index, id="id", add=True)
    with Index.create() as empty, pytest.raises(InputError, match="no items yet: there is nothing to compare with"):
        lookalike.dedup(NEW, against=empty, id="id")
    with pytest.raises(InputError, match="the index is one of text, and the items are sets"):
        lookalike.dedup([{1, 2}, {3}], against=seen)


def test_options_that_are_given_as_the_index_has_them_are_taken(seen: Path) -> None:
    plain = decided(lookalike.dedup(NEW, against=seen, id="id"))
    given = {"shingle": "word:3", "threshold": 0.7, "bands": 20, "rows": 5, "seed": 0, "measure": "jaccard"}
    assert decided(lookalike.dedup(NEW, against=str(seen), id="id", **given)) == plain  # type: ignore[arg-type]
    higher = lookalike.dedup(NEW, against=seen, id="id", threshold=0.9)
    truth = lookalike.dedup(NEW, against=OLD, id="id", **OPTIONS | {"threshold": 0.9})
    assert decided(higher) == decided(truth)


def test_an_index_of_sketches_gives_what_sketches_give() -> None:
    with Index.build(":memory:", OLD, id="id", verify="sketch", **OPTIONS) as index:
        for threshold in (0.7, 0.8):
            found = lookalike.dedup(NEW, against=index, id="id", threshold=threshold)
            options = OPTIONS | {"threshold": threshold}
            truth = lookalike.dedup(NEW, against=OLD, id="id", verify="sketch", **options)
            assert decided(found) == decided(truth)
    assert "was not measured" in found.report["known"]["recall_statement"]


def test_the_audit_tells_the_recall_of_the_index_and_mends_what_it_sees() -> None:
    """Two bands of five rows find a part of the pairs; of all items the audit finds the rest."""
    with Index.build(":memory:", OLD, id="id", **OPTIONS | {"bands": 2}) as index:
        blind = lookalike.dedup(NEW, against=index, id="id", audit=0)
        seeing = lookalike.dedup(NEW, against=index, id="id")
    audit = seeing.report["known"]["audit"]
    every = lookalike.pairs(pa.concat_tables([OLD, NEW]), id="id", shingle="word:3", threshold=0.7)
    old = set(OLD["id"].to_pylist())
    assert audit["pairs"] == sum((a in old) != (b in old) for a, b, _ in every)
    assert audit["recall"] == audit["low"] == audit["high"] == audit["found"] / audit["pairs"] < 1
    assert seeing.report["removed_against"] > blind.report["removed_against"]
    assert "audit" not in blind.report["known"]
    assert "was not measured" in blind.report["known"]["recall_statement"]


def test_the_report_and_its_page_say_what_was_compared_with_what(seen: Path, tmp_path: Path) -> None:
    result = lookalike.dedup(NEW, against=seen, id="id", add=True)
    result.save(tmp_path / "run")
    told = result.report["known"]
    assert told["statement"] == (
        f"120 new items: {told['removed']} seen before and removed (compared with {seen}, 120 items), "
        f"{told['removed_among_new']} removed as duplicates of each other, {told['kept']} kept, {told['added']} added"
    )
    assert "among the new items" in result.report["certificate"]["statement"]
    run = lookalike.Run.open(tmp_path / "run")
    assert run.report["known"] == told
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Seen before, in" in page
    assert "120 sampled new items compared with all of" in page
    assert pq.read_table(tmp_path / "run" / "removed.parquet") == result.removed


def test_items_that_cannot_be_compared_are_kept_and_not_added() -> None:
    rng = np.random.default_rng(0)
    vectors = [row.tolist() for row in rng.normal(size=(30, 8)).astype(np.float32)]
    with Index.build(":memory:", np.array(vectors), threshold=0.9, bands=4, rows=4) as index:
        new = [vectors[0], None, [float("nan")] * 8, *rng.normal(size=(5, 8)).tolist()]
        table = pa.table({"id": [f"v{i}" for i in range(8)], "vector": pa.array(new, pa.list_(pa.float32(), 8))})
        result = lookalike.dedup(table, against=index, id="id", add=True, skip_bad=True)
        assert result.kept.tolist() == [False, *[True] * 7]
        assert result.report["known"]["added"] == 5
        assert len(index) == 35


def test_a_text_that_is_null_is_added_as_the_empty_one_it_was_taken_for(seen: Path) -> None:
    table = pa.table({"id": ["x", "y"], "text": pa.array([None, "a b c d e"], pa.string())})
    result = lookalike.dedup(table, against=seen, id="id", add=True)
    assert result.report["known"]["added"] == 2
    again = lookalike.dedup(pa.table({"id": ["z"], "text": [""]}), against=seen, id="id")
    assert again.removed["kept"].to_pylist() == ["x"]


def broken_off(source: Any, most: int) -> Any:
    """A source that ends the run after so many pieces."""
    real: Callable[..., Any] = source.pieces

    def pieces(*given: Any, **options: Any) -> Any:
        for number, piece in enumerate(real(*given, **options)):
            if number == most:
                raise KeyboardInterrupt
            yield piece

    source.pieces = pieces
    return source


def test_a_run_that_is_broken_off_goes_on_with_what_it_had_looked_up(
    crawl: Path, seen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lookalike.engines.local.store import sketches

    monkeypatch.setattr(sketches, "_CHUNK_BYTES", 1 << 12)
    config = make_config(measure="jaccard", id="id", threads=1, **OPTIONS)

    def told(run: Any) -> list[Any]:
        tables = [table(run).to_pylist() for table in (pairs_table, removed_table, clusters_table)]
        return [*tables, run.sketched.known_audit.rows.tolist(), run.matched.known_pairs]

    with Index.open(seen, readonly=True) as index:
        whole = told(find(open_source(crawl), config, known=index.known()))
        for time, most in enumerate((1, 3)):
            work = Work(tmp_path / "work")
            work.begin({}, resume=time > 0)
            with pytest.raises(KeyboardInterrupt):
                find(broken_off(open_source(crawl), most), config, known=index.known(), work=work)
        assert list((tmp_path / "work").glob("sketch-*.bin"))
        for _ in range(2):
            work = Work(tmp_path / "work")
            work.begin({}, resume=True)
            assert told(find(open_source(crawl), config, known=index.known(), work=work)) == whole
        assert work.finished("found") is not None
