"""The four verbs on everything that people hold items in, and what they say about what they cannot take."""

from __future__ import annotations

import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.wording.progress import Progress, Stage

TEXTS = ["the cat sat on the mat", "a dog barked", "The cat sat on the mat!", "the cat sat on a mat"]
OPTIONS: dict[str, Any] = {"shingle": "word:2", "threshold": 0.3, "bands": 200, "rows": 1}
PAIRS = [(0, 2, 1.0), (0, 3, 3 / 7), (2, 3, 3 / 7)]
NAMES = ["w", "x", "y", "z"]
VERBS = (lookalike.pairs, lookalike.clusters, lookalike.dedup)


def table() -> pa.Table:
    return pa.table({"name": NAMES, "text": TEXTS})


IN_MEMORY: dict[str, Any] = {
    "list of strings": lambda: TEXTS,
    "tuple of bytes": lambda: tuple(text.encode() for text in TEXTS),
    "generator": lambda: (text for text in TEXTS),
    "numpy array": lambda: np.array(TEXTS, dtype=object),
    "Arrow table": table,
    "Arrow record batch": lambda: table().to_batches()[0],
    "Arrow array": lambda: pa.array(TEXTS),
    "Arrow dictionary array": lambda: pa.array(TEXTS).dictionary_encode(),
    "Arrow string view": lambda: pa.table({"text": pa.array(TEXTS).cast(pa.string_view())}),
    "Arrow reader": lambda: table().to_reader(max_chunksize=2),
    "pandas frame": lambda: pd.DataFrame({"name": NAMES, "text": TEXTS}),
    "pandas series": lambda: pd.Series(TEXTS),
    "polars frame": lambda: pl.DataFrame({"name": NAMES, "text": TEXTS}),
    "polars lazy frame": lambda: pl.LazyFrame({"name": NAMES, "text": TEXTS}),
    "polars series": lambda: pl.Series(TEXTS),
    "Hugging Face dataset": lambda: datasets.Dataset.from_dict({"name": NAMES, "text": TEXTS}),
}


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_items_in_memory_of_every_kind_have_the_same_pairs(kind: str) -> None:
    assert list(lookalike.pairs(IN_MEMORY[kind](), **OPTIONS)) == PAIRS


SETS: dict[str, Any] = {
    "list of sets": lambda: [{1, 2, 3}, {7}, {1, 2, 3}, {1, 2}],
    "list of frozensets of strings": lambda: [frozenset("abc"), frozenset("z"), frozenset("cba"), frozenset("ab")],
    "list of lists with repeats": lambda: [[1, 2, 3, 3], [7], [3, 2, 1], [2, 2, 1]],
    "list of arrays": lambda: [np.array([1, 2, 3]), np.array([7]), np.array([3, 2, 1]), np.array([1, 2])],
    "Arrow list array": lambda: pa.array([[1, 2, 3], [7], [3, 2, 1], [1, 2]]),
    "polars frame": lambda: pl.DataFrame({"tags": [["a", "b", "c"], ["z"], ["c", "b", "a"], ["a", "b"]]}),
    "pandas frame": lambda: pd.DataFrame({"tags": [[1, 2, 3], [7], [3, 2, 1], [1, 2]]}),
    "Hugging Face dataset": lambda: datasets.Dataset.from_dict({"tags": [[1, 2, 3], [7], [3, 2, 1], [1, 2]]}),
}


@pytest.mark.parametrize("kind", SETS)
def test_sets_of_every_kind_have_the_same_pairs(kind: str) -> None:
    pairs = lookalike.pairs(SETS[kind](), threshold=0.6, bands=200, rows=1)
    assert list(pairs) == [(0, 2, 1.0), (0, 3, 2 / 3), (2, 3, 2 / 3)]


@pytest.mark.parametrize("ids", [NAMES, [40, 30, 20, 10]])
def test_the_keys_of_a_dict_are_its_ids(ids: list[Any]) -> None:
    result = lookalike.pairs(dict(zip(ids, TEXTS, strict=True)), **OPTIONS)
    assert {frozenset((a, b)) for a, b, _ in result} == {frozenset((ids[a], ids[b])) for a, b, _ in PAIRS}
    assert all(a < b for a, b, _ in result)
    kept = lookalike.dedup(dict(zip(ids, TEXTS, strict=True)), **OPTIONS).table
    assert kept.to_pydict() == {"id": [ids[0], ids[1]], "text": TEXTS[:2]}


def test_the_index_of_a_series_is_its_ids() -> None:
    result = lookalike.pairs(pd.Series(TEXTS, index=NAMES), **OPTIONS)
    assert [(a, b) for a, b, _ in result] == [("w", "y"), ("w", "z"), ("y", "z")]


@pytest.mark.parametrize("kind", ["Arrow table", "pandas frame", "polars frame", "Hugging Face dataset"])
def test_an_id_column_names_the_items(kind: str) -> None:
    result = lookalike.pairs(IN_MEMORY[kind](), id="name", column="text", **OPTIONS)
    assert [(a, b) for a, b, _ in result] == [("w", "y"), ("w", "z"), ("y", "z")]
    kept = lookalike.dedup(IN_MEMORY[kind](), id="name", column="text", **OPTIONS)
    assert kept.table.to_pydict() == {"name": ["w", "x"], "text": TEXTS[:2]}


def test_paths_globs_and_folders_are_read(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "docs.parquet")
    for place in (tmp_path / "docs.parquet", str(tmp_path / "d*.parquet"), tmp_path, [tmp_path / "docs.parquet"]):
        assert list(lookalike.pairs(place, column="text", **OPTIONS)) == PAIRS
    (tmp_path / "texts").mkdir()
    for name, text in zip(NAMES, TEXTS, strict=True):
        (tmp_path / "texts" / f"{name}.txt").write_text(text)
    pairs = lookalike.pairs(tmp_path / "texts", **OPTIONS)
    assert [(Path(a).stem, Path(b).stem) for a, b, _ in pairs] == [("w", "y"), ("w", "z"), ("y", "z")]


def test_a_list_of_strings_is_a_list_of_texts_even_if_they_look_like_paths(tmp_path: Path) -> None:
    assert len(lookalike.pairs([str(tmp_path), str(tmp_path)])) == 1


def test_limit_and_format_belong_to_reading(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("same line\nother\nsame line\n")
    assert [(a, b) for a, b, _ in lookalike.pairs(tmp_path / "x.txt", format="lines")] == [(0, 2)]
    assert len(lookalike.pairs(tmp_path / "x.txt", format="lines", limit=2)) == 0
    assert lookalike.pairs(TEXTS, limit=2).report["items"] == 2


def test_several_columns_are_one_item() -> None:
    frame = pd.DataFrame({"title": ["a b", "a b", "a b"], "body": ["c d e", "c d e", "x y z"], "n": [1, 2, 3]})
    assert [(a, b) for a, b, _ in lookalike.pairs(frame, column=["title", "body"])] == [(0, 1)]
    assert len(lookalike.pairs(frame, column="title")) == 3


def test_a_tokens_callable_replaces_the_words() -> None:
    texts = ["a-b c-d", "A-b c-d", "c-d a-b"]
    by_space = lookalike.pairs(texts, tokens=str.split, shingle="word:1", bands=50, rows=1)
    assert list(by_space) == [(0, 2, 1.0)]
    assert lookalike.pairs(texts, tokens=str.split, shingle="word:3").report["short"] == 3


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        ([], {}, "there are no items"),
        ([], {"measure": "hamming"}, "there are no items"),
        ([], {"sets": "items"}, "there are no items"),
        ([1, 2], {}, "item 0 is a int; strings, bytes, sets of integers or strings, vectors"),
        (5, {}, "a int is not a collection of items"),
        (["a", {1}], {}, "item 1 is a set, but item 0 is a str"),
        ([{1.5}], {}, "item 0 holds 1.5; sets must hold integers or strings"),
        (b"bytes", {}, "a bytes is not a collection of items"),
        ({"a": "x", 5: "y"}, {}, "ids of a dict must all be integers or all be strings, not 5"),
        (["a"], {"column": "body"}, "there is no column 'body'; the columns are text"),
        (["a"], {"id": "id"}, "there is no column 'id'; the columns are text"),
        (["a"], {"keep": "max:date"}, "no column 'date'; its columns are: text"),
        (pa.table({"text": [1.5]}), {"column": "text"}, "column 'text' holds double: an item must be text or a list"),
        (pa.table({"t": [[1.5]]}), {"measure": "jaccard", "column": "t"}, "must be text, a list of elements, a row"),
        (pa.table({"t": [[1.5], [1.5, 2.0]]}), {}, "item has 2 components, the others have 1; skip_bad=True (--skip"),
        (pa.table({"text": ["a", "b"], "i": [1, None]}), {"id": "i"}, "the id column 'i' is null at item 1"),
        (pa.table({"t": ["a", "b", "c"], "i": [7, 8, 7]}), {"id": "i", "column": "t"}, "repeated: item 0 and item 2"),
        (pa.table({"t": ["a"], "i": [1.5]}), {"id": "i"}, "the id column 'i' holds double: ids must be whole numbers"),
        ("nowhere.parquet", {}, "nowhere.parquet: no such file or folder"),
        ("nowhere*.parquet", {}, "nowhere*.parquet: no file matches this pattern"),
        ([Path("nowhere.jsonl")], {}, "nowhere.jsonl: no such file or folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_said_in_one_line(items: Any, options: dict[str, Any], message: str) -> None:
    verbs = (lookalike.clusters, lookalike.dedup) if "keep" in options else VERBS
    for verb in verbs:
        with pytest.raises(lookalike.InputError) as caught:
            verb(items, **options)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_null_or_repeated_id_in_files_is_named_with_both_places(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "x"}\n{"id": 2, "text": "y"}\n')
    (tmp_path / "b.jsonl").write_text('{"id": 3, "text": "x"}\n{"id": 2, "text": "y"}\n')
    with pytest.raises(lookalike.InputError) as caught:
        lookalike.pairs(tmp_path, id="id")
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    hint = "; without id (--id) rows are told apart by their numbers, and keep (--keep) chooses among them"
    assert str(caught.value) == f"id 2 in column 'id' is repeated: {a} row 1 and {b} row 1{hint}"
    b.write_text('{"id": 3, "text": "x"}\n{"id": null, "text": "y"}\n')
    with pytest.raises(lookalike.InputError, match=r"the id column 'id' is null at .*b\.jsonl row 1$"):
        lookalike.pairs(tmp_path, id="id")


def test_integer_and_text_ids_together_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "same"}\n')
    (tmp_path / "b.jsonl").write_text('{"id": "one", "text": "same"}\n')
    assert list(lookalike.pairs(tmp_path, id="id")) == [("1", "one", 1.0)]


@pytest.mark.parametrize(
    ("verb", "option"), [("pairs", "unit"), ("pairs", "keep"), ("pairs", "cluster"), ("clusters", "unit")]
)
def test_a_verb_refuses_the_options_that_mean_nothing_to_it(verb: str, option: str) -> None:
    with pytest.raises(lookalike.OptionError, match=f"^{verb} has no option '{option}'"):
        getattr(lookalike, verb)(TEXTS, **{option: "line"})


def test_help_shows_the_options_of_a_verb() -> None:
    options = signature(lookalike.pairs).parameters
    assert next(iter(options)) == "items"
    assert {"threshold", "recall", "shingle", "column", "skip_bad", "limit"} <= set(options)
    assert "keep" not in options
    assert "keep" in signature(lookalike.clusters).parameters
    assert "unit" in signature(lookalike.dedup).parameters


def test_an_option_that_does_not_exist_is_named_with_the_nearest_that_does() -> None:
    with pytest.raises(lookalike.OptionError, match=r"^pairs has no option 'treshold'; did you mean 'threshold'\?$"):
        lookalike.pairs(TEXTS, treshold=0.5)  # type: ignore[call-arg]
    with pytest.raises(lookalike.OptionError, match=r"^dedup has no option 'xyz'$"):
        lookalike.dedup(TEXTS, xyz=0.5)  # type: ignore[call-arg]


def test_plan_is_the_planner_s_with_a_sample_where_one_is_given() -> None:
    assert (lookalike.plan().bands, lookalike.plan().rows) == (16, 6)
    assert lookalike.plan(bands=20, rows=5).expected_recall == pytest.approx(0.9996439)
    assert lookalike.plan(items=1e9).items == 10**9
    assert lookalike.plan(0.5, sample=TEXTS, shingle="word:2").expected_recall >= 0.99
    for items in (0, -1, float("nan"), float("inf")):
        with pytest.raises(lookalike.OptionError, match=r"items is .*: it must be a number, 1 or more"):
            lookalike.plan(items=items)


def test_progress_is_told_stage_by_stage() -> None:
    told: dict[str, float] = {}

    class Told(Progress):
        def stage(self, name: str, total: float | None = None, unit: str = "items") -> Any:
            class Counted(Stage):
                def __enter__(self) -> Counted:
                    return self

                def __exit__(self, *_: object) -> None:
                    told.setdefault(name, 0)

                def advance(self, amount: float = 1) -> None:
                    told[name] = told.get(name, 0) + amount

            return Counted()

    lookalike.pairs(TEXTS, progress=Told(), **OPTIONS)
    assert list(told) == ["reading and sketching", "grouping", "reading what must be compared", "comparing candidates"]
    assert told["reading and sketching"] > 0
    assert told["grouping"] == OPTIONS["bands"]
    # The first text with the last one; its copy does not count.
    assert told["comparing candidates"] == 1


def test_public_names_are_few_sorted_and_there() -> None:
    assert lookalike.__all__ == sorted(lookalike.__all__)
    assert set(lookalike.__all__) <= set(dir(lookalike))
    assert all(getattr(lookalike, name) is not None for name in lookalike.__all__)
    assert not hasattr(lookalike, "nothing")
    with pytest.raises(AttributeError, match="module 'lookalike' has no attribute 'nothing'"):
        lookalike.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_what_a_verb_gives_back_can_be_named() -> None:
    assert isinstance(lookalike.pairs(TEXTS), lookalike.Pairs)
    assert isinstance(lookalike.clusters(TEXTS), lookalike.Clusters)
    assert isinstance(lookalike.dedup(TEXTS), lookalike.Dedup)
    assert isinstance(lookalike.neighbors(np.eye(3)), lookalike.Neighbors)
    assert isinstance(lookalike.plan(), lookalike.Plan)


def test_errors_are_of_one_family() -> None:
    for error in (lookalike.InputError, lookalike.OptionError, lookalike.OutputError):
        assert issubclass(error, lookalike.LookalikeError)
    assert lookalike.OptionError.exit_code == 2
    assert lookalike.InputError.exit_code == lookalike.OutputError.exit_code == 1


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, lookalike; print({'numba', 'numpy', 'pyarrow', 'scipy', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
