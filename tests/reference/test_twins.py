"""The twins on cases made by hand, and against the golden vectors."""

from __future__ import annotations

import json
import unicodedata
from fractions import Fraction
from pathlib import Path

import pytest

from lookalike.twin import hashing
from lookalike.twin.text import bag_elements, classify, normalise, shingles, tokens
from tests.reference import buckets, collection, sets
from tools.make_golden_vectors import TEXTS, as_json, vectors

NONE: frozenset[str] = frozenset()
LOWER = frozenset({"lower"})
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "vectors.json"


def words(text: str, options: frozenset[str] = LOWER) -> list[str]:
    return tokens(text.encode(), "word", options)


def normal(text: str, *options: str) -> str:
    return normalise(text.encode(), frozenset(options))


def test_mix_is_the_finaliser_of_splitmix64() -> None:
    """The first outputs of the published generator with the seed 0, which adds G before each."""
    outputs = [hashing.mix(i * hashing.G & hashing.MASK) for i in (1, 2, 3)]
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_hash_bytes_knows_the_length_beyond_the_padding() -> None:
    assert hashing.hash_bytes(b"a") != hashing.hash_bytes(b"a\0")
    length, lane, last = hashing.PUBLIC[:3]
    assert hashing.hash_bytes(b"") == hashing.fold(hashing.fold(length, lane), last)
    short = 3 * length % 2**64 ^ 0x6261
    assert hashing.hash_bytes(b"ab") == hashing.fold(hashing.fold(short, lane), last)
    first_lane = hashing.fold(10 * length % 2**64 ^ 0x6867666564636261, lane)
    assert hashing.hash_bytes(b"abcdefghi") == hashing.fold(hashing.fold(first_lane ^ 0x69, lane), last)


def test_integers_are_hashed_as_two_s_complement() -> None:
    assert hashing.hash_int(-1) == hashing.hash_int(2**64 - 1)
    assert hashing.hash_element(-1) == hashing.hash_int(-1)
    assert hashing.hash_int(hashing.PUBLIC.integer) == 0
    assert hashing.hash_element(hashing.PUBLIC.integer) == hashing.G
    assert hashing.hash_element("é") == hashing.hash_bytes(b"\xc3\xa9") == hashing.hash_element(b"\xc3\xa9")


def test_a_fingerprint_is_of_the_set_or_of_the_bytes_without_one() -> None:
    assert hashing.fingerprint({1, 2}, b"x") == hashing.fingerprint({2, 1}, b"y")
    assert hashing.fingerprint(set(), b"x") != hashing.fingerprint(set(), b"y")
    assert hashing.fingerprint(set(), b"x")[0] == hashing.hash_bytes(b"x", hashing.C1)


def test_slots_are_minima_and_depend_on_the_seed() -> None:
    a, b = {1 << 32, 2 << 32}, {3 << 32}
    both = [min(pair) for pair in zip(hashing.signature(a, 8, 0), hashing.signature(b, 8, 0), strict=True)]
    assert hashing.signature(a | b, 8, 0) == both
    assert hashing.signature(a, 8, 0) != hashing.signature(a, 8, 1)
    assert hashing.signature(a, 8, 0) == hashing.signature(a, 16, 0)[:8]
    assert all(factor % 2 for factor, _ in hashing.minhash_constants(64, 7))


def test_a_band_key_of_an_odd_number_of_slots_is_padded_with_zero() -> None:
    assert hashing.band_keys([1, 2, 3], 1, 3) == hashing.band_keys([1, 2, 3, 0], 1, 4)
    assert len(set(hashing.band_keys([5, 5, 5, 5], 4, 1))) == 4


@pytest.mark.parametrize(
    ("char", "name"),
    [
        ("a", "WORD"), ("_", "WORD"), ("Ⅷ", "WORD"), ("ⓐ", "WORD"), ("가", "WORD"), ("क", "WORD"),
        ("7", "DIGIT"), ("٣", "DIGIT"), ("½", "OTHER"), ("²", "OTHER"),
        ("\u0301", "MARK"), ("\u093e", "MARK"), ("\u20dd", "MARK"),
        ("中", "LONE"), ("〇", "LONE"), ("〸", "LONE"), ("々", "LONE"),
        ("ー", "LONE"), ("ｶ", "LONE"), ("ก", "LONE"),
        ("\u3000", "SPACE"), ("\u00a0", "SPACE"), ("\n", "SPACE"), ("\x1c", "OTHER"), ("\0", "OTHER"),
        ("\u200b", "IGNORED"), ("\u00ad", "IGNORED"), ("\ufe0f", "IGNORED"), ("\u3164", "IGNORED"),
        ("\u0600", "OTHER"), ("\ufffd", "OTHER"), ("\ue000", "OTHER"), ("☃", "OTHER"),
    ],
)  # fmt: skip
def test_classes(char: str, name: str) -> None:
    assert classify(ord(char)) == name


def test_equal_looking_and_equally_meant_texts_normalise_alike() -> None:
    assert normal("Straße", "lower") == normal("STRASSE", "lower") == "strasse"
    assert normal("ς", "lower") == normal("Σ", "lower") == "σ"
    assert normal("İ", "lower") == normal("i\u0307", "lower")
    assert normal("e\u0301") == normal("\u00e9") == "\u00e9"
    assert normal("\u1112\u1161\u11ab") == "한"
    assert normal("her\u200bons\ufeff") == "herons"


def test_accents_go_and_what_makes_another_letter_stays() -> None:
    assert normal("Ångström élève", "accents") == "Angstrom eleve"
    assert normal("\u05e9\u05c1\u05b8\u05dc", "accents") == "\u05e9\u05dc"
    assert normal("\u0643\u064e\u062a", "accents") == "\u0643\u062a"
    assert normal("\u0915\u093c\u094d", "accents") == "\u0915\u093c\u094d"
    assert normal("か\u3099", "accents") == "が"
    assert normal("\u0e17\u0e35\u0e48\u0e19\u0e38", "accents") == "\u0e17\u0e35\u0e48\u0e19\u0e38"
    assert normal("\u0ea5\u0ec8 \u0f40\u0f71\u0f72", "accents") == "\u0ea5\u0ec8 \u0f40\u0f71\u0f72"
    assert normal("a\u0338", "accents") == "a\u0338"


def test_digits_punctuation_and_whitespace_in_this_order() -> None:
    assert normal("a12 3٣", "digits") == "a0 0"
    assert normal("a.b--c", "punctuation") == "a b  c"
    assert normal(" a\u3000\n b\t", "whitespace") == "a b"
    assert normal("(1) -- 22!", "digits", "punctuation", "whitespace") == "0 0"
    assert normal("...", "punctuation", "whitespace") == ""


def test_ill_formed_parts_become_replacement_characters() -> None:
    assert normalise(b"a\xff\xe4\xb8b", NONE) == "a\ufffd\ufffdb"
    assert normalise(b"\xed\xa0\x80", NONE) == "\ufffd" * 3


def test_words() -> None:
    assert words("Don't stop") == ["don", "t", "stop"]
    assert words("snake_case x1 1x") == ["snake_case", "x1", "1x"]
    assert words("") == words(" .. ") == []


def test_letters_of_unspaced_scripts_are_words_of_their_own() -> None:
    assert words("中文ab") == ["中", "文", "ab"]
    assert words("ab中12文") == ["ab", "中", "12", "文"]
    assert words("カナ") == ["カ", "ナ"]
    assert words("한국 어") == ["한국", "어"]


def test_marks_stay_with_their_letter() -> None:
    assert words("\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48") == ["\u0e17\u0e35\u0e48", "\u0e19\u0e35\u0e48"]
    assert words("中\u0301a") == ["中\u0301", "a"]
    assert words(" \u0301a") == ["\u0301a"]
    assert words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_char_tokens_are_code_points() -> None:
    assert tokens("e\u0301 中".encode(), "char", NONE) == ["é", " ", "中"]


def test_shingles_are_the_runs_of_k_tokens_or_one_of_all() -> None:
    assert len(shingles(b"a b c d", "word", 3, NONE)) == 2
    assert len(shingles(b"a b", "word", 3, NONE)) == 1
    assert shingles(b"", "word", 3, NONE) == set()
    assert shingles(b"abc", "char", 2, NONE) == {hashing.hash_bytes(b"ab"), hashing.hash_bytes(b"bc")}
    assert shingles(b"a b", "word", 2, NONE) != shingles(b"b a", "word", 2, NONE)


def test_a_word_shingle_is_a_polynomial_of_its_tokens() -> None:
    a, b = hashing.hash_bytes(b"a"), hashing.hash_bytes(b"b")
    expected = hashing.mix((a * hashing.PUBLIC.token + b + 2 * hashing.G) & hashing.MASK)
    assert shingles(b"a b", "word", 2, NONE) == {expected}


def test_bags_have_the_similarity_of_minimum_over_maximum() -> None:
    one, other = bag_elements([7, 7, 7, 8]), bag_elements([7, 7, 9])
    assert len(one) == 4
    assert sets.jaccard(one, other) == Fraction(2, 5)
    assert len(shingles(b"a a a", "word", 1, NONE, bag=True)) == 3


def test_pairs_at_the_threshold_as_it_is_written_count() -> None:
    items = [{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {9}, set(), set()]
    assert sets.all_pairs(items, 0.8) == {(0, 1): Fraction(4, 5)}
    assert sets.all_pairs(items, 0.81) == {}
    assert sets.all_pairs(items, 0.0) == {(0, 1): Fraction(4, 5)}


def test_components_are_named_by_their_smallest_item() -> None:
    assert sets.components(6, [(4, 1), (1, 5), (2, 3)]) == [0, 1, 2, 2, 1, 1]


def test_a_removed_item_goes_to_its_best_kept_match() -> None:
    chain = {(0, 1): 0.9, (1, 2): 0.9}
    assert sets.representative(3, chain, [0, 1, 2]) == {1: (0, 0.9)}
    assert sets.representative(3, chain, [1, 0, 2]) == {0: (1, 0.9), 2: (1, 0.9)}
    fork = {(0, 2): 0.8, (1, 2): 0.9}
    assert sets.representative(3, fork, [0, 1, 2]) == {2: (1, 0.9)}
    tie = {(0, 2): 0.8, (1, 2): 0.8}
    assert sets.representative(3, tie, [1, 0, 2]) == {2: (1, 0.8)}


def test_buckets_are_what_shares_a_key_and_giant_ones_are_left_out() -> None:
    entries = [(9, 0, False), (5, 1, True), (9, 2, False), (5, 3, False), (7, 4, True), (7, 5, True), (1, 6, False)]
    found = buckets.group(entries, most=2)
    assert found.buckets == [buckets.Bucket([3], [1]), buckets.Bucket([0, 2], [])]
    assert (found.giant, found.giants, found.largest) == (set(), 0, 2)
    found = buckets.group(entries, most=1)
    assert found.buckets == [buckets.Bucket([3], [1])]
    assert (found.giant, found.giants, found.largest) == ({0, 2}, 1, 2)


def test_of_a_pair_in_a_bucket_the_smaller_item_is_no_probe() -> None:
    bands = [[buckets.Bucket([3], [1, 5])], [buckets.Bucket([0, 1], [])]]
    assert buckets.sharing(bands) == {(3, 5), (0, 1)}
    assert buckets.sharing(bands, {0, 1}) == {(3, 5)}
    assert buckets.shared_bands(bands, (3, 5)) == [0]
    assert buckets.shared_bands(bands, (1, 5)) == []


def test_the_rarest_elements_come_first_and_those_of_one_item_make_no_entry() -> None:
    """Of five elements at 0.8 a smaller item has ⌈8/9·5⌉ = 5 in common, a larger one 4: one or two are enough."""
    items = {0: {1, 2, 3, 4, 5}, 1: {2, 3, 4, 5, 6}}
    counts = buckets.count_elements(items.values(), 8)
    assert counts == [0, 1, 2, 2, 2, 2, 1, 0]
    lengths = [buckets.jaccard_lengths(5, 0.8)] * 2
    assert lengths == [(1, 2)] * 2
    assert buckets.prefix_entries(items, counts, lengths) == [(2, 0, True), (2, 1, True)]
    assert buckets.prefix_entries(items, [2] * 8, lengths) == [(1, 0, False), (2, 0, True), (2, 1, False), (3, 1, True)]
    assert buckets.containment_lengths(5, 0.8) == (2, 5)


def test_a_whole_collection_is_listed_but_for_what_is_only_compared_with() -> None:
    items = [{1, 2}, {1, 2, 3}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4}, set(), set()]
    half = Fraction(1, 2)
    everything = collection.all_matches(items[:5], 0.5)
    assert everything[0, 4] == everything[2, 4] == half
    assert len(everything) == 10
    # All but the pair of the two that are only compared with.
    against = collection.all_matches(items[:5], 0.5, references=2)
    assert against.keys() == everything.keys() - {(0, 1)}
    assert collection.all_matches(items, 0.5, groups="ababbcd").keys() == {(0, 2), (1, 3), (1, 4), (3, 4)}
    assert collection.identities(items) == [0, 1, 0, 1, 4, 5, 5]
    assert collection.identities(items, raw="abcdefg") == [0, 1, 0, 1, 4, 5, 6]


def test_copies_go_where_the_first_of_them_goes() -> None:
    """2 is a copy of 1, which is removed for 0 before 3 comes; 3, though more like them, has nothing to do with 2."""
    pairs = {(0, 1): Fraction(1, 2), (0, 2): Fraction(1, 2), (1, 2): Fraction(1), (1, 3): Fraction(3, 4)}
    assert collection.keepers([0, 1, 1, 3], pairs, [0, 1, 3, 2]) == {1: (0, Fraction(1, 2)), 2: (0, Fraction(1, 2))}
    assert collection.keepers([0, 1, 1, 3], pairs, [3, 2, 1, 0], references=1) == {
        1: (0, Fraction(1, 2)), 2: (0, Fraction(1, 2)),
    }  # fmt: skip


def test_the_golden_vectors_are_what_the_twins_say() -> None:
    assert as_json(vectors()) == GOLDEN.read_text(encoding="ascii")
    assert json.loads(GOLDEN.read_text(encoding="ascii"))["spec_version"] == 2


def test_the_golden_texts_keep_to_what_every_supported_python_knows() -> None:
    """Python 3.11, the oldest, has Unicode 14: this test there speaks for the others."""
    points = {char for text in TEXTS.values() if isinstance(text, str) for char in text}
    assert [char for char in points if unicodedata.category(char) == "Cn"] == []
