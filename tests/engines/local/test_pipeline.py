"""The whole way of the data against plain Python: every pair, every similarity, every count."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence, Set
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike
from lookalike.config import make_config
from lookalike.engines.local.pipeline import find
from lookalike.engines.local.result_tables import pairs_table
from lookalike.engines.local.store.work_folder import Work
from lookalike.io import open_source
from lookalike.runs.results import Dedup
from lookalike.twin import hashing, text
from tests.near_copies import near_copies
from tests.reference import sets

pytestmark = pytest.mark.no_cover

# A pair at the lowest threshold used here, 0.2, shares none of 200 one-row bands with probability 0.8^200 = 4e-20.
SURE: dict[str, Any] = {"bands": 200, "rows": 1}

Pairs = dict[tuple[int, int], float]


def brute_force(items: Sequence[Set[int]], raw: Sequence[bytes], threshold: float) -> Pairs:
    """All pairs by plain sets; items without elements match where their bytes are the same."""
    pairs = {pair: float(similarity) for pair, similarity in sets.all_pairs(items, threshold).items()}
    for i, j in combinations(range(len(items)), 2):
        if not items[i] and not items[j] and raw[i] == raw[j]:
            pairs[i, j] = 1.0
    return pairs


def found(items: Any, **options: Any) -> Pairs:
    result = lookalike.pairs(items, **options)
    pairs = {(a, b): similarity for a, b, similarity in result}
    assert len(pairs) == len(result), "a pair was reported twice"
    assert list(pairs) == sorted(pairs), "pairs are not sorted"
    assert all(a < b for a, b in pairs)
    return pairs


small_sets = st.lists(st.sets(st.integers(-3, 12), max_size=8), min_size=1, max_size=14)


# The first example loads the kernels.
@settings(deadline=None)
@given(small_sets, st.sampled_from([0.2, 0.25, 0.5, 0.6, 0.75, 0.8, 1.0]))
def test_pairs_of_sets_are_those_of_brute_force(items: list[set[int]], threshold: float) -> None:
    hashed = [{hashing.hash_element(value) for value in item} for item in items]
    assert found(items, threshold=threshold, **SURE) == brute_force(hashed, [b""] * len(items), threshold)


@settings(deadline=None)
@given(
    st.lists(st.text(st.sampled_from("abAB .,é中文😀\n"), max_size=24), min_size=1, max_size=10),
    st.sampled_from([("word", 1), ("word", 2), ("char", 2), ("char", 3)]),
    st.booleans(),
    st.sampled_from([0.2, 0.5, 0.8, 1.0]),
)
def test_pairs_of_texts_are_those_of_brute_force(
    texts: list[str], shape: tuple[str, int], bag: bool, threshold: float
) -> None:
    kind, k = shape
    raw = [each.encode() for each in texts]
    lower = frozenset({"lower"})
    items = [text.shingles(each, kind, k, lower, bag) for each in raw]
    shingle = f"{kind}:{k}" + (":bag" if bag else "")
    pairs = found(texts, threshold=threshold, shingle=shingle, normalize="lower", **SURE)
    assert pairs == brute_force(items, raw, threshold)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shingle", ["word:1", "word:3", "char:5", "word:2:bag"])
def test_pairs_of_longer_texts_are_those_of_brute_force(shingle: str, seed: int) -> None:
    texts = near_copies(seed)
    kind, k, *bag = shingle.split(":")
    options = frozenset({"lower"} if kind == "word" else {"lower", "whitespace"})
    items = [text.shingles(each.encode(), kind, int(k), options, bool(bag)) for each in texts]
    for threshold in (0.3, 0.6, 0.9):
        pairs = found(texts, threshold=threshold, shingle=shingle, seed=seed, **SURE)
        assert pairs == brute_force(items, [b""] * len(texts), threshold), f"seed {seed}"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("bands", "rows"), [(3, 4), (10, 3), (16, 6)])
def test_whatever_a_small_plan_misses_what_it_reports_is_true(bands: int, rows: int, seed: int) -> None:
    texts = near_copies(seed, families=12)
    items = [text.shingles(each.encode(), "word", 2, frozenset({"lower"})) for each in texts]
    truth = brute_force(items, [b""] * len(texts), 0.4)
    pairs = found(texts, threshold=0.4, shingle="word:2", bands=bands, rows=rows, seed=seed)
    assert pairs.items() <= truth.items(), f"seed {seed}"
    assert all(pair in pairs for pair, similarity in truth.items() if similarity == 1.0)


def specified_candidates(items: Sequence[Set[int]], bands: int, rows: int, seed: int) -> dict[tuple[int, int], float]:
    """The pairs that share a band key, with the agreement of their slots, by the written specification."""
    slots = [hashing.signature(item, bands * rows, seed) if item else [] for item in items]
    keys = [hashing.band_keys(each, bands, rows) if each else [] for each in slots]
    candidates = {}
    for i, j in combinations(range(len(items)), 2):
        if any(a == b for a, b in zip(keys[i], keys[j], strict=False)):
            same = sum(a == b for a, b in zip(slots[i], slots[j], strict=True))
            candidates[i, j] = same / (bands * rows)
    return candidates


@pytest.mark.parametrize("seed", range(3))
def test_without_verification_pairs_are_the_candidates_of_the_specification(seed: int) -> None:
    texts = near_copies(seed, families=4, words=20)
    key = hashing.key_of(seed)
    items = [text.shingles(each.encode(), "word", 2, frozenset({"lower"}), key=key) for each in texts]
    candidates = specified_candidates(items, 6, 2, key.sketch)
    options: dict[str, Any] = {"shingle": "word:2", "bands": 6, "rows": 2, "seed": seed}
    pairs = found(texts, verify="none", **options)
    assert set(pairs) == set(candidates)
    identical = {pair for pair in candidates if items[pair[0]] == items[pair[1]]}
    assert {pair for pair, similarity in pairs.items() if similarity is not None} == identical
    assert 0 < len(identical) < len(pairs)

    estimated = {pair: share for pair, share in candidates.items() if share >= 0.5}
    assert found(texts, verify="sketch", threshold=0.5, **options) == estimated
    assert len(estimated) < len(candidates)


def test_identical_items_are_compared_once_and_come_out_as_pairs_of_all_of_them() -> None:
    result = lookalike.pairs([{1, 2, 3}, {9}, {1, 2, 3}, {1, 2}, {1, 2, 3}, {1, 2}], threshold=0.6, **SURE)
    assert list(result) == [
        (0, 2, 1.0), (0, 3, 2 / 3), (0, 4, 1.0), (0, 5, 2 / 3), (2, 3, 2 / 3), (2, 4, 1.0), (2, 5, 2 / 3),
        (3, 4, 2 / 3), (3, 5, 1.0), (4, 5, 2 / 3),
    ]  # fmt: skip
    report = result.report
    assert (report["candidates"], report["matches"], report["identical"], report["pairs"]) == (1, 1, 3, 10)


def test_a_thousand_copies_of_one_text_are_no_work_for_the_verifier() -> None:
    result = lookalike.dedup(["one text that everybody copies"] * 1000, max_pairs=10)
    assert (result.report["candidates"], result.report["kept"], result.report["pairs"]) == (0, 1, 499_500)


WORDS = "one two three four five six seven"


def test_the_report_counts_what_was_empty_short_null_broken_and_identical() -> None:
    texts = [WORDS, WORDS.upper(), "", None, "...", "?", "...", "one two", "one two!", b"\xff broken".decode("latin-1")]
    report = lookalike.pairs(texts).report
    counted = {name: report[name] for name in ("items", "rows", "null", "empty", "short", "identical", "pairs")}
    assert counted == {"items": 10, "rows": 10, "null": 1, "empty": 5, "short": 3, "identical": 4, "pairs": 4}
    assert report["invalid_utf8"] == 0
    assert report["precision"] == 1.0
    broken = pa.table({"text": pa.array([b"\xff one two", b"\xfe one two", WORDS.encode()], pa.binary())})
    assert lookalike.pairs(broken).report["invalid_utf8"] == 2


def test_items_without_shingles_are_alike_only_where_their_bytes_are() -> None:
    assert found(["...", "?!", "...", "", None, " "]) == {(0, 2): 1.0, (3, 4): 1.0}
    assert found([set(), {1}, set(), {1}]) == {(0, 2): 1.0, (1, 3): 1.0}
    for verify in ("sketch", "none"):
        assert found(["...", "?!", "...", "a"], verify=verify) == {(0, 2): 1.0}


def test_texts_shorter_than_a_shingle_are_one_shingle() -> None:
    assert found(["one two", "ONE, two!", "two one", "one two three"], shingle="word:5") == {(0, 1): 1.0}


def test_candidates_that_were_no_pairs_are_reported() -> None:
    report = lookalike.pairs(near_copies(0), threshold=0.9, shingle="word:1", **SURE).report
    assert report["candidates_rejected"] == report["candidates"] - report["matches"] > 0
    assert report["candidates_rejected_share"] == report["candidates_rejected"] / report["candidates"]
    assert report["recall_at_threshold"] == pytest.approx(1.0)
    assert (report["bands"], report["rows_per_band"]) == (200, 1)


def test_the_largest_bucket_leaves_out_items_that_are_compared_with_nothing() -> None:
    assert lookalike.pairs(["!", "?", ".", "-", WORDS], **SURE).report["largest_bucket"] == 1
    assert lookalike.pairs([{1, 2}, {1, 3}, {1, 4}, {5}], **SURE).report["largest_bucket"] == 3


ROWS = [{"id": f"item{i:03}", "text": each, "score": i % 7} for i, each in enumerate(near_copies(11, families=10))]


def everything(
    rows: list[dict[str, Any]], *, batch_rows: int = 1000, memory: int = 1 << 30, **options: Any
) -> list[Any]:
    """Pairs, clusters, removed items with their keepers, and kept rows of one run."""
    source = open_source(pa.Table.from_pylist(rows), batch_rows=batch_rows)
    config = make_config(id="id", shingle="word:2", threshold=0.5, **options)
    run = find(source, dataclasses.replace(config, memory=memory))
    assert run.matched.spilled > 0 or memory > 4000
    result = Dedup(run)
    return [
        pairs_table(run).to_pylist(), result.clusters.to_pylist(), result.removed.to_pylist(), result.table.to_pylist()
    ]  # fmt: skip


@pytest.mark.parametrize("keep", ["first", "longest", "max:score"])
def test_batches_threads_and_memory_change_nothing(keep: str) -> None:
    """4 kB of memory, enough for the longest text: all is spilled, and compared in many parts."""
    whole = everything(ROWS, threads=1, keep=keep)
    assert len(whole[0]) > 20
    assert len(whole[2]) > 10
    for batch_rows in (1, 7, 1000):
        for threads in (1, 2, 8):
            assert everything(ROWS, batch_rows=batch_rows, threads=threads, keep=keep) == whole
    assert everything(ROWS, batch_rows=7, threads=1, keep=keep, memory=4000) == whole
    assert everything(ROWS, batch_rows=1000, threads=8, keep=keep, memory=4000) == whole
    assert everything(ROWS, batch_rows=10, threads=2, keep=keep, memory=20_000) == whole


@pytest.mark.parametrize("verify", ["sketch", "none"])
def test_memory_changes_nothing_without_exact_verification(verify: str) -> None:
    whole = everything(ROWS, threads=1, verify=verify)
    assert len(whole[0]) > 20
    assert everything(ROWS, batch_rows=7, threads=2, verify=verify, memory=20_000) == whole


@pytest.mark.parametrize("unit", ["line", "paragraph"])
def test_batches_change_nothing_for_smaller_units(unit: str) -> None:
    gap = "\n" if unit == "line" else "\n\n"
    rows = [{"id": i, "text": gap.join(near_copies(i % 3, families=2))} for i in range(6)]
    whole = everything(rows, threads=1, unit=unit)
    assert whole[2]
    assert everything(rows, batch_rows=1, threads=8, unit=unit) == whole
    assert everything(rows, batch_rows=2, threads=2, unit=unit, memory=4000) == whole


@pytest.mark.parametrize("keep", ["longest", "shortest", "min:score"])
@pytest.mark.parametrize("cluster", ["representative", "components"])
def test_the_order_of_the_rows_changes_nothing_where_ids_are_given(keep: str, cluster: str) -> None:
    pairs, _, removed, kept = everything(ROWS, keep=keep, cluster=cluster)
    for seed in range(3):
        shuffled = random.Random(seed).sample(ROWS, len(ROWS))
        other = everything(shuffled, batch_rows=7, threads=2, keep=keep, cluster=cluster)
        assert other[0] == pairs, f"seed {seed}"
        assert sorted(other[2], key=str) == sorted(removed, key=str)
        assert sorted(other[3], key=str) == sorted(kept, key=str)


def test_seeds_differ_in_what_they_miss_and_agree_in_what_is_true() -> None:
    texts = near_copies(5, families=15)
    items = [text.shingles(each.encode(), "word", 2, frozenset({"lower"})) for each in texts]
    truth = brute_force(items, [b""] * len(texts), 0.4)
    runs = [found(texts, threshold=0.4, shingle="word:2", bands=4, rows=3, seed=seed, audit=0) for seed in range(4)]
    assert all(run.items() <= truth.items() for run in runs)
    assert len({frozenset(run) for run in runs}) > 1
    again = found(texts, threshold=0.4, shingle="word:2", bands=4, rows=3, seed=2, audit=0)
    assert again == runs[2]


def test_the_plan_of_a_run_is_the_planner_s() -> None:
    items = [{i, i + 1} for i in range(3000)]
    planned = find(open_source(items), make_config(threshold=0.7, recall=0.95)).plan
    assert planned is not None
    chosen = lookalike.plan(0.7, 0.95)
    assert (planned.bands, planned.rows) == (chosen.bands, chosen.rows)
    assert find(open_source(["a"]), make_config(exact=True)).plan is None


def test_no_items_are_an_error_that_names_the_file(tmp_path: Any) -> None:
    with pytest.raises(lookalike.InputError, match=r"^there are no items$"):
        lookalike.pairs([])
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(lookalike.LookalikeError, match=r"empty\.jsonl|column"):
        lookalike.pairs(tmp_path / "empty.jsonl", column="text")


def test_long_and_short_items_share_a_batch() -> None:
    long = " ".join(str(i) for i in range(50_000))
    assert found([long, "short text", long + " end", "short text"], threshold=0.9).keys() == {(0, 2), (1, 3)}


def test_lengths_are_bytes_of_text_and_elements_of_sets() -> None:
    """They are what `keep` goes by; sizes are those of the sets that are compared."""
    sketches = find(open_source(["é", "", None, "abc"]), make_config(keep="longest")).sketched.sketches
    assert sketches.column("lengths").tolist() == [2, 0, 0, 3]
    assert sketches.column("sizes").tolist() == [1, 0, 0, 1]
    sketches = find(open_source([{1, 2}, set(), {3}]), make_config(keep="shortest")).sketched.sketches
    assert sketches.column("lengths").tolist() == sketches.column("sizes").tolist() == [2, 0, 1]


def test_the_folder_that_a_run_spills_to_is_gone_when_it_ends(tmp_path: Path) -> None:
    work = Work(spill_to=tmp_path)
    run = find(open_source(near_copies(1)), dataclasses.replace(make_config(), memory=4000), work=work)
    assert run.matched.spilled > 0
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_gone_when_a_run_fails_too(tmp_path: Path) -> None:
    class Failing:
        """A source whose second pass breaks off."""

        def __init__(self) -> None:
            self._source = open_source(near_copies(1), batch_rows=10)
            self._passes = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(self._source, name)

        def pieces(self, *arguments: Any, **options: Any) -> Any:
            self._passes += 1
            for number, piece in enumerate(self._source.pieces(*arguments, **options)):
                if self._passes == 2 and number == 2:
                    raise lookalike.InputError("broke off")
                yield piece

    config = dataclasses.replace(make_config(threshold=0.3, shingle="word:1"), memory=4000)
    with pytest.raises(lookalike.InputError, match="broke off"):
        find(Failing(), config, work=Work(spill_to=tmp_path))
    assert list(tmp_path.iterdir()) == []
