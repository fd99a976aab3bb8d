"""The recipe of the batch benchmarks holds what it promises: shares, distances, similarities, truth."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.collection import (
    SCHEMA,
    Recipe,
    Rows,
    families,
    is_copy,
    jaccard,
    read_texts,
    recipe_of,
    strangers,
    truth,
    write,
    write_truth,
)
from benchmarks.contenders import python_shingles


def make(folder: Path, recipe: Recipe, files: int = 1, row_group: int = 500) -> Path:
    folder.mkdir()
    write(recipe, [folder / f"part-{number}.parquet" for number in range(files)], row_group)
    return folder


def shingle_sets(path: Path) -> list[set[str]]:
    shingles = python_shingles(False)
    return [set(shingles(text)) for _, texts in read_texts(path) for text in texts.to_pylist()]


def test_random_numbers_are_those_of_splitmix64_by_row() -> None:
    def twin(key: int, draw: int) -> float:
        state = (key + draw * 0x9E3779B97F4A7C15) % 2**64
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
        return ((state ^ state >> 31) >> 11) * 2.0**-53

    rows = Rows(5, 1, np.array([-3, 0, 7, 2**40]))
    keys = rows.keys.tolist()
    assert rows.random((4, 3)).tolist() == [[twin(key, draw) for draw in (1, 2, 3)] for key in keys]
    assert rows.random(4).tolist() == [twin(key, 4) for key in keys]
    assert Rows(5, 1, np.array([7])).keys[0] == keys[2]
    assert Rows(6, 1, np.array([7])).keys[0] != keys[2]


def test_a_collection_is_the_same_however_it_is_cut(tmp_path: Path) -> None:
    recipe = Recipe(2_500, bytes=300, seed=3)
    one = make(tmp_path / "one", recipe, row_group=2_100)
    many = make(tmp_path / "many", recipe, files=3, row_group=370)
    tables = [pa.concat_tables(map(pq.read_table, sorted(folder.iterdir()))) for folder in (one, many)]
    assert tables[0].equals(tables[1])
    assert tables[0].schema.equals(SCHEMA)
    assert tables[0]["id"].to_pylist() == list(range(2_500))
    assert [pq.ParquetFile(part).num_row_groups for part in sorted(many.iterdir())] == [3, 3, 3]
    assert recipe_of(one) == recipe_of(many) == recipe
    assert not tables[0]["text"].equals(
        pq.read_table(make(tmp_path / "other", Recipe(2_500, bytes=300, seed=4)))["text"]
    )


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3])
def test_shares_are_those_of_the_recipe_and_copies_lie_far_from_each_other(share: float) -> None:
    family = families(Recipe(100_000, template_share=share))
    copy = is_copy(family)
    assert (family < 0).sum() == share * 100_000
    assert (copy & (family >= 0)).sum() == 30_000
    order = np.argsort(family, kind="stable")
    related = (np.diff(family[order]) == 0) & (family[order][1:] >= 0)
    # 0.0344 is the least distance of i·φ from a whole number for i <= 20; the jitter takes at most 0.01 of it.
    assert np.diff(order)[related].min() > 0.02 * 100_000
    assert 15 < np.bincount(family[family >= 0]).max() <= 21
    # The golden section spreads the first n numbers so evenly that a part of the file holds its share of the families
    # within a few documents; the jitter adds the square root of those near its edges.
    in_family = np.isin(family, family[copy])
    shares = in_family.reshape(50, 2_000).mean(axis=1)
    assert shares[1:-1].max() - shares[1:-1].min() < 0.05


def test_similarities_of_copies_are_spread_over_half_to_one(tmp_path: Path) -> None:
    path = make(tmp_path / "collection", Recipe(4_000, seed=1))
    family = families(recipe_of(path)).tolist()
    original: dict[int, set[str]] = {}
    found = []
    for number, shingles in zip(family, shingle_sets(path), strict=True):
        if number >= 0 and number in original:
            found.append(jaccard(original[number], shingles))
        original.setdefault(number, shingles)
    similarity = np.array(found)
    assert len(similarity) == 1_200
    # A tenth is identical: binomial, 5 standard errors.
    identical = int((similarity == 1).sum())
    assert abs(identical - 120) < 5 * (1_200 * 0.1 * 0.9) ** 0.5
    # Of the others a fifth lies in each tenth. Rounding moves a similarity up by less than 2/n a shingle, n > 220: 5
    # shingles at a time where words are scattered, a third of all, so 0.045 of the width 0.1 for these, and 0.01 for
    # the others: 0.22 of what a tenth holds. Beyond that 5 standard errors.
    counts = np.histogram(similarity[similarity < 1], bins=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0])[0]
    expected = (1_200 - identical) / 5
    assert np.all(np.abs(counts - expected) < 0.22 * expected + 5 * (expected * 0.8) ** 0.5)
    # A hyphenated word is two, and costs one shingle more than counted on: some copies fall just below.
    assert (similarity < 0.5).sum() < 0.01 * len(similarity)
    assert similarity.min() > 0.45


def test_documents_of_a_template_have_the_similarity_asked_for(tmp_path: Path) -> None:
    path = make(tmp_path / "collection", Recipe(1_000))
    family = families(recipe_of(path))
    sets = shingle_sets(path)
    for template, asked in enumerate((0.6, 0.9, 0.6, 0.9, 0.6)):
        members = np.flatnonzero(family == -1 - template)
        assert len(members) == 10
        found = [jaccard(sets[a], sets[b]) for a, b in combinations(members, 2)]
        # n > 220: rounding k down by a shingle, or a hyphen or two in the passage, moves it by 2/n each.
        assert max(abs(similarity - asked) for similarity in found) < 0.03


def test_documents_of_a_template_are_different_even_if_short_and_alike(tmp_path: Path) -> None:
    path = make(tmp_path / "collection", Recipe(1_000, bytes=500, template_share=0.3, template_similarities=(0.9,)))
    family = families(recipe_of(path))
    sets = [frozenset(shingles) for shingles in shingle_sets(path)]
    members = [sets[document] for document in np.flatnonzero(family == -1)]
    # Three words at least are a document's own. Two draws by the law of text.py are the same word with a chance of 1%,
    # so of 44,850 pairs 0.045 are expected to be the same, and 4 or more have a chance below 1e-6.
    assert len(members) == 300
    assert len(set(members)) > 296


def test_text_has_the_length_asked_for_and_packs_like_prose(tmp_path: Path) -> None:
    for size in (2_000, 500):
        path = make(tmp_path / str(size), Recipe(4_000, bytes=size), row_group=4_000)
        table = pq.read_table(path)
        # Lengths are uniform within a sixth of the mean: the mean of 4,000 is off by 0.1 / sqrt(4,000) = 0.2%; the
        # bytes of a word, which topics and copies share, by somewhat more.
        assert sum(len(text.encode()) for text in table["text"].to_pylist()) / 4_000 == pytest.approx(size, rel=0.03)
        assert 2.5 < table.nbytes / (path / "part-0.parquet").stat().st_size < 3.5


def test_truth_is_what_all_pairs_of_plain_sets_give(tmp_path: Path) -> None:
    path = make(tmp_path / "collection", Recipe(900, bytes=500, seed=2), files=2)
    family = families(recipe_of(path))
    sets = shingle_sets(path)
    expected, foreign, highest = {}, 0, 0.0
    for a, b in combinations(range(900), 2):
        similarity = jaccard(sets[a], sets[b])
        if family[a] != family[b]:
            foreign += similarity > 0
            highest = max(highest, similarity)
        if similarity >= 0.5 and min(family[a], family[b]) >= 0:
            expected[a, b] = similarity
    found = pa.concat_tables(truth(path)).to_pydict()
    pairs = list(zip(found["a"], found["b"], strict=True))
    assert len(pairs) > 270
    assert dict(zip(pairs, found["similarity"], strict=True)) == expected
    assert len(pairs) == len(expected)
    assert strangers(path) == (foreign, highest)
    assert highest < 0.1

    counts = write_truth(path, tmp_path / "truth.parquet")
    assert counts == (len(expected), sum(similarity >= 0.8 for similarity in expected.values()))
    assert pq.read_table(tmp_path / "truth.parquet").num_rows == len(expected)


def test_a_file_that_is_no_collection_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(SystemExit, match=r"other\.parquet was not written by benchmarks\.collection"):
        recipe_of(tmp_path / "other.parquet")
