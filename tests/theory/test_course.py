"""Every figure of the lectures that is a formula or a computation by hand.

The lectures round on the way, so a value may differ from the printed one by one unit in its last
digit.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import InputError, OptionError
from lookalike.theory import (
    band_probability,
    bit_matrix,
    bits_jaccard,
    candidate_probability,
    char_shingle_bag,
    char_shingles,
    column_similarity,
    false_negatives,
    false_positives,
    hamming_to_cosine,
    minhash_of_order,
    minhash_of_permutations,
    minhash_row_indexes,
    missed_probability,
    projection_cost,
    set_jaccard,
    signature_bytes,
    signature_similarity,
    steepest,
    universal_hash,
)

MATRIX = bit_matrix("1010 1001 0101 0101 0101 1010 1010")
PERMUTATIONS = [(2, 3, 7, 6, 1, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 2, 6, 1, 5)]


def printed_as(value: float, printed: str) -> bool:
    """Whether `value` is the printed number, give or take one unit in its last digit."""
    unit = 10.0 ** -len(printed.partition(".")[2])
    return abs(float(value) - float(printed)) <= unit * (1 + 1e-9)


def test_the_two_shingles_of_abcab_as_a_set_and_as_a_bag() -> None:
    assert char_shingles("abcab", 2) == {"ab", "bc", "ca"}
    assert char_shingle_bag("abcab", 2) == ["ab", "bc", "ca", "ab"]


def test_three_shared_of_eight_elements_are_three_eighths() -> None:
    a, b = {1, 2, 3, 4, 5}, {3, 4, 5, 6, 7, 8}
    assert (len(a & b), len(a | b)) == (3, 8)
    assert set_jaccard(a, b) == Fraction(3, 8)
    assert 1 - set_jaccard(a, b) == Fraction(5, 8)


def test_10111_and_10011_are_three_quarters_alike() -> None:
    assert bits_jaccard("10111", "10011") == Fraction(3, 4)
    assert 1 - bits_jaccard("10111", "10011") == Fraction(1, 4)


def test_three_permutations_give_the_signatures_of_the_slide() -> None:
    assert minhash_of_permutations(MATRIX, PERMUTATIONS) == [[2, 1, 2, 1], [2, 1, 4, 1], [1, 2, 1, 2]]


def test_the_same_signatures_stored_as_row_indexes() -> None:
    assert minhash_row_indexes(MATRIX, PERMUTATIONS) == [[1, 5, 1, 5], [2, 3, 1, 3], [6, 4, 6, 4]]


def test_two_columns_share_three_of_six_rows() -> None:
    matrix = bit_matrix("1110 1101 0101 0001 1001 1110 1010")
    assert column_similarity(matrix, 1, 2) == Fraction(3, 6)


@pytest.mark.parametrize(
    ("pair", "columns", "signatures"),
    [((1, 3), ".75", ".67"), ((2, 4), ".75", "1.00"), ((1, 2), "0", "0"), ((3, 4), "0", "0")],
)
def test_signatures_are_about_as_alike_as_their_columns(pair: tuple[int, int], columns: str, signatures: str) -> None:
    sketch = minhash_of_permutations(MATRIX, PERMUTATIONS)
    assert float(column_similarity(MATRIX, *pair)) == float(columns)
    assert float(signature_similarity(sketch, *pair)) == pytest.approx(float(signatures), abs=0.005)


def test_the_first_row_in_order_is_the_min_hash() -> None:
    a, b = {"e1", "e3", "e7"}, {"e3", "e5", "e7"}
    order = ["e6", "e2", "e5", "e3", "e7", "e4", "e1"]
    assert minhash_of_order(a, order) == "e3"
    assert minhash_of_order(b, order) == "e5"
    assert set_jaccard(a, b) == Fraction(2, 4)


@pytest.mark.parametrize(
    ("s", "printed"),
    [
        (0.2, ".006"),
        (0.3, ".047"),
        (0.4, ".186"),
        (0.5, ".470"),
        (0.6, ".802"),
        (0.7, ".975"),
        (0.8, ".9996"),
    ],
)
def test_twenty_bands_of_five_share_a_bucket_as_printed(s: float, printed: str) -> None:
    assert printed_as(candidate_probability(s, 20, 5), printed)


def test_twenty_bands_of_five_at_eight_tenths() -> None:
    assert printed_as(band_probability(0.8, 5), ".328")
    assert printed_as(missed_probability(0.8, 20, 5), ".00035")
    assert printed_as(100 * candidate_probability(0.8, 20, 5), "99.965")


def test_twenty_bands_of_five_at_three_tenths() -> None:
    assert printed_as(band_probability(0.3, 5), ".00243")
    assert printed_as(100 * candidate_probability(0.3, 20, 5), "4.74")


def test_ten_sets_of_six_at_eight_and_four_tenths() -> None:
    assert printed_as(band_probability(0.8, 6), ".262")
    assert printed_as(band_probability(0.4, 6), ".0041")
    assert printed_as(missed_probability(0.8, 10, 6), ".0478")
    assert printed_as(missed_probability(0.4, 10, 6), ".9598")


@pytest.mark.parametrize(
    ("s", "printed"),
    [
        (0.2, ".0006"),
        (0.3, ".0073"),
        (0.4, ".040"),
        (0.5, ".146"),
        (0.6, ".380"),
        (0.7, ".714"),
        (0.8, ".952"),
        (0.9, ".999"),
    ],
)
def test_ten_sets_of_six_share_a_bucket_as_printed(s: float, printed: str) -> None:
    assert printed_as(candidate_probability(s, 10, 6), printed)


@pytest.mark.parametrize(("bands", "rows"), [(15, 5), (10, 10)])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_fewer_bands_or_more_rows_trade_false_positives_for_false_negatives(
    bands: int, rows: int, threshold: float
) -> None:
    assert false_positives(threshold, bands, rows) < false_positives(threshold, 20, 5)
    assert false_negatives(threshold, bands, rows) > false_negatives(threshold, 20, 5)


def test_the_threshold_of_bands_and_rows_is_a_root_of_one_over_the_bands() -> None:
    assert steepest(20, 5) == pytest.approx(20 ** (-1 / 5))
    assert steepest(16, 4) == 0.5


def test_a_hundred_thousand_documents_take_forty_megabytes_of_signatures() -> None:
    assert signature_bytes(100_000, 100) == 40_000_000
    assert signature_bytes(100_000, 100, slot_bytes=8) == 80_000_000


@pytest.mark.parametrize("s", [0.0, 0.3, 0.7, 0.95])
def test_sets_of_projection_bits_keep_a_pair_with_the_formula_of_the_slide(s: float) -> None:
    one = 1 - math.acos(s) / math.pi
    assert band_probability(s, 8, "cosine") == pytest.approx(one**8)
    assert candidate_probability(s, 12, 8, "cosine") == pytest.approx(1 - (1 - one**8) ** 12)


def test_projections_cost_less_than_all_pairs_by_buckets_over_tables() -> None:
    items, bits, tables = 1_000_000, 16, 20
    assert projection_cost(items, bits, tables) == tables * 2**bits * (items / 2**bits) ** 2
    assert items**2 / projection_cost(items, bits, tables) == pytest.approx(2**bits / tables)


def test_differing_bits_stand_for_an_angle() -> None:
    assert hamming_to_cosine(0, 64) == 1.0
    assert hamming_to_cosine(32, 64) == pytest.approx(0.0, abs=1e-15)
    assert hamming_to_cosine(64, 64) == -1.0
    assert hamming_to_cosine(256 / 3, 256) == pytest.approx(0.5)


# Beyond the table


@given(text=st.text(max_size=30), k=st.integers(1, 10))
def test_a_text_has_one_shingle_for_each_place_where_k_characters_begin(text: str, k: int) -> None:
    bag = char_shingle_bag(text, k)
    assert char_shingles(text, k) == set(bag)
    if len(text) >= k:
        assert bag == [text[i : i + k] for i in range(len(text) - k + 1)]
    else:
        assert bag == ([text] if text else [])


def test_all_permutations_together_agree_as_often_as_the_columns_are_alike() -> None:
    # Over all 5! permutations the share of agreements is the Jaccard similarity exactly, not about.
    matrix = bit_matrix("11 10 01 11 00")
    everything = list(itertools.permutations(range(1, 6)))
    sketch = minhash_of_permutations(matrix, everything)
    assert signature_similarity(sketch, 1, 2) == column_similarity(matrix, 1, 2) == Fraction(2, 4)


def test_a_universal_hash_follows_its_formula() -> None:
    h = universal_hash(3, 5, 101, 10)
    assert [h(x) for x in (0, 1, 40, 100)] == [((3 * x + 5) % 101) % 10 for x in (0, 1, 40, 100)]


def test_universal_hashes_collide_at_most_about_once_in_n() -> None:
    # All members for p = 31, n = 7 and every pair of different keys: at most 1/n, counted, not sampled.
    p, n = 31, 7
    hashes = [universal_hash(a, b, p, n) for a in range(1, p) for b in range(p)]
    table = np.array([[h(x) for x in range(p)] for h in hashes])
    for x in range(1, p):
        assert np.mean(table[:, 0] == table[:, x]) <= 1 / n


def test_a_hash_without_a_multiplier_or_past_its_prime_is_refused() -> None:
    with pytest.raises(OptionError, match="a=0: a whole number of at least 1"):
        universal_hash(0, 5, 101, 10)
    with pytest.raises(OptionError, match="both must be below p=101"):
        universal_hash(101, 5, 101, 10)


def test_what_has_no_answer_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="column 2 has no 1"):
        minhash_of_permutations(bit_matrix("10 10"), [(1, 2)])
    with pytest.raises(InputError, match="is not a permutation of 1 to 2"):
        minhash_of_permutations(bit_matrix("11 10"), [(1, 3)])
    with pytest.raises(InputError, match="the matrix has no rows"):
        minhash_row_indexes([], [])
    with pytest.raises(InputError, match="column 0: columns 1 to 2 are there"):
        column_similarity(bit_matrix("11 10"), 0, 1)
    with pytest.raises(InputError, match="row 2 has 1 columns, row 1 has 2"):
        bit_matrix("11 1")
    with pytest.raises(InputError, match="only 0 and 1 are bits"):
        bits_jaccard("12", "10")
    with pytest.raises(InputError, match="as many are needed"):
        bits_jaccard("101", "10")
    with pytest.raises(InputError, match="0/0"):
        set_jaccard(set[int](), set[int]())
    with pytest.raises(InputError, match="no element of the order"):
        minhash_of_order({"x"}, ["y"])
    with pytest.raises(OptionError, match="hamming=65: a distance of 0 to bits=64"):
        hamming_to_cosine(65, 64)
