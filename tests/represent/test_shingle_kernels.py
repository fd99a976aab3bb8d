"""The shingle kernels against their twin: any bytes, any options, any Arrow type, and the golden vectors."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.represent import text_sets as texts_module
from lookalike.represent.text_sets import shingle_texts, spans_of
from lookalike.shingle import NORMALIZATIONS, Shingle, parse_shingle
from lookalike.twin import hashing
from lookalike.twin import text as twin
from lookalike.types import Sets
from tools.make_golden_vectors import TEXTS

pytestmark = pytest.mark.no_cover

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "vectors.json").read_text(encoding="ascii")
)

# A newer Python's twin knows code points that the frozen tables do not.
NEWER = tuple(map(int, unicodedata.unidata_version.split("."))) > (15, 1, 0)
needs_known = pytest.mark.skipif(NEWER, reason="this Python's Unicode is newer than the tables")

some = settings(max_examples=60, deadline=None, derandomize=True)
many = settings(max_examples=250, deadline=None, derandomize=True)

LOWER = frozenset({"lower"})
EVERY_OPTION_SET = [
    frozenset(names) for size in range(6) for names in combinations(NORMALIZATIONS, size)
]  # fmt: skip

# Code points that change, vanish, or meet their neighbours more often than most.
LIVELY = (
    "AaZz09_ \n.-'\u00e9\u00c9\u00df\u1e9e\u0130\u0131\u0149\u01d6\u01f0\u1ea4\u00c5\u212a\u24b6\ufb03"
    "\u03a3\u03c3\u03c2\u0390\u1fb3\u1fbc\u1ff7\uac00\uac01\ud7a3\u1100\u1161\u11a8\u0663\uff11\u00bd"
    "\u0915\u093e\u093c\u094d\u0958\u09c7\u09be\u0e01\u0e33\u0e31\u0e48\u0f43\u0f71\u0f72\u0f73\u05e9\u05c1"
    "\ufb2a\u0643\u064e\u4e2d\u6587\u304b\u3099\u30ab\uff76\u3000\u00a0\u2adc\u037e\ufffd\0\x1c"
    "\u0300\u0301\u0304\u0308\u0316\u0323\u0327\u0338\u0344\u0345\u200b\u200d\u00ad\ufe0f\u3164"
    "\U0001f469\U0001f4bb\U00020000\U0001d7d8"
)
ILL_FORMED = [b"\xff", b"\x80", b"\xc3", b"\xc0\xaf", b"\xe4", b"\xe4\xb8", b"\xed\xa0\x80", b"\xf0\x9f\x98",
              b"\xf4\x90\x80\x80", b"\xf5", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf"]  # fmt: skip

chars = st.one_of(st.sampled_from(LIVELY), st.characters(exclude_categories=["Cs", "Cn"]))
words = st.sampled_from(
    ["seven", "grey ", "Herons. ", "in the ", "eightbyt", "\u4e2d\u6587", "caf\u00e9 ", " 2024-01 "]
)
texts = st.lists(st.one_of(words, chars), max_size=40).map("".join)
encoded = st.one_of(chars, words).map(str.encode)
ill_formed = st.lists(st.one_of(encoded, st.sampled_from(ILL_FORMED)), max_size=20).map(b"".join)
raws = st.one_of(texts.map(str.encode), ill_formed, st.binary(max_size=40)).filter(
    lambda raw: twin.is_known(raw.decode("utf-8", "replace"))
)
option_sets = st.sampled_from(EVERY_OPTION_SET)
shingles = st.builds(
    Shingle, st.sampled_from(["word", "char"]), st.integers(1, 9), st.booleans(), normalize=option_sets
)


def elements(sets: Sets) -> list[set[int]]:
    """The elements of each row, which the kernel has to give once each."""
    listed = [sets.values[start:end].tolist() for start, end in pairwise(sets.offsets.tolist())]
    assert all(len(set(row)) == len(row) for row in listed)
    return [set(row) for row in listed]


def is_invalid(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def check(array: pa.Array, rows: Sequence[bytes | None], shingle: Shingle) -> None:
    """Everything that the kernel says of `array`, whose rows are `rows`, is what the twin says."""
    filled = [row or b"" for row in rows]
    tokens = [twin.tokens(row, shingle.kind, shingle.normalize) for row in filled]
    hashes = [twin.shingle_hashes(row, shingle.kind, shingle.k) for row in tokens]
    expected = [twin.bag_elements(row) if shingle.bag else set(row) for row in hashes]
    sets = shingle_texts(array, shingle)
    assert elements(sets) == expected
    assert [tuple(row) for row in sets.fingerprints.tolist()] == [
        hashing.fingerprint(row, raw) for row, raw in zip(expected, filled, strict=True)
    ]
    assert sets.invalid == sum(map(is_invalid, filled))
    assert sets.short == sum(0 < len(row) < shingle.k for row in tokens)


def random_rows(rng: random.Random, rows: int, pieces: int) -> list[bytes]:
    """Rows of up to `pieces` pieces, longer than hypothesis makes them; some in ASCII, some ill-formed."""
    lines = []
    for _ in range(rows):
        source = rng.choice(
            [
                LIVELY,
                LIVELY,
                "abcXYZ_12  ,.",
                "abc \u4e2d\u6587\u0e01\u0e31\u00e9 1",
                "ae \u0301\u0323\u0327\u0316q",
            ]
        )
        line = [rng.choice(source).encode() for _ in range(rng.randrange(pieces))]
        if rng.random() < 0.2:
            line.insert(rng.randrange(len(line) + 1), rng.choice(ILL_FORMED))
        lines.append(b"".join(line))
    return [line if twin.is_known(line.decode("utf-8", "replace")) else b"" for line in lines]


def check_rows(rows: Sequence[bytes | None], shingle: Shingle) -> None:
    check(pa.array(rows, pa.binary()), rows, shingle)


def sets_of(rows: Iterable[str | bytes], shingle: Shingle) -> list[set[int]]:
    raw = [row.encode() if isinstance(row, str) else row for row in rows]
    return elements(shingle_texts(pa.array(raw, pa.binary()), shingle))


@needs_known
@many
@given(st.lists(st.one_of(st.none(), raws), max_size=8), shingles)
def test_any_bytes_with_any_options_are_shingled_as_by_the_twin(rows: list[bytes | None], shingle: Shingle) -> None:
    check_rows(rows, shingle)


@pytest.mark.parametrize("seed", range(12))
def test_long_random_rows_are_shingled_as_by_the_twin(seed: int) -> None:
    rng = random.Random(seed)
    rows = random_rows(rng, 150, 150)
    for kind in ("word", "char"):
        normalize = rng.choice(EVERY_OPTION_SET) | (LOWER if seed % 2 else frozenset())
        check_rows(rows, Shingle(kind, rng.randint(1, 9), rng.random() < 0.3, normalize))


@pytest.mark.parametrize("kind", ["word", "char"])
@pytest.mark.parametrize("normalize", EVERY_OPTION_SET, ids=lambda each: ",".join(sorted(each)))
def test_every_option_set_on_every_golden_text(kind: str, normalize: frozenset[str]) -> None:
    rows = [text.encode() if isinstance(text, str) else text for text in TEXTS.values()]
    k = 1 + EVERY_OPTION_SET.index(normalize) % 9
    check_rows(rows, Shingle(kind, k, bag=k % 2 == 0, normalize=normalize))


ARROW_TYPES = [
    pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view(),
    pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string()),
    pa.dictionary(pa.int32(), pa.binary()),
]  # fmt: skip


@needs_known
@pytest.mark.parametrize("kind", ARROW_TYPES, ids=str)
@settings(some, max_examples=25)
@given(st.data())
def test_every_arrow_type_is_read_whole_and_sliced(kind: pa.DataType, data: st.DataObject) -> None:
    rows = [None if row is None else row.encode() for row in data.draw(st.lists(st.one_of(st.none(), texts)))]
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    array = pa.array(rows, pa.binary()).cast(getattr(kind, "value_type", kind))
    array = array.dictionary_encode() if pa.types.is_dictionary(kind) else array
    check(array[start:stop], rows[start:stop], Shingle("word", 2, normalize=LOWER))


def test_bytes_behind_a_null_are_not_read() -> None:
    buffers = [b"\x05", np.array([0, 3, 6, 9], np.int32), b"one\xff\xfftwo."]
    array = pa.Array.from_buffers(pa.string(), 3, list(map(pa.py_buffer, buffers)))
    check(array, [b"one", None, b"wo."], Shingle("word", 2, normalize=LOWER))


def test_a_column_of_nothing_but_nulls_has_no_type_and_no_text() -> None:
    check(pa.nulls(3), [None] * 3, Shingle())


def test_a_column_that_is_not_text_is_refused_by_its_type() -> None:
    with pytest.raises(InputError, match="holds int64, not text"):
        shingle_texts(pa.array([1, 2]), Shingle())


@needs_known
@some
@given(raws, st.lists(st.integers(0, 200), max_size=6), shingles)
def test_rows_that_cut_the_buffer_anywhere_do_not_see_each_other(raw: bytes, cuts: list[int], shingle: Shingle) -> None:
    """Even where a cut parts the bytes of one character between the end of one row and the next."""
    offsets = sorted({0, len(raw), *(min(cut, len(raw)) for cut in cuts)})
    rows = [raw[start:end] for start, end in pairwise(offsets)]
    if not all(twin.is_known(row.decode("utf-8", "replace")) for row in rows):
        return
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32).tobytes()), pa.py_buffer(raw)]
    check(pa.Array.from_buffers(pa.string(), len(rows), buffers), rows, shingle)


@pytest.mark.parametrize("char", ["\u00e9", "\u4e2d", "\U0001f469", "\U00020000"])
def test_a_character_cut_off_at_the_very_end_of_the_buffer(char: str) -> None:
    for lead in ("", "x", "seven grey heron", "seven grey herons ", "e\u0301"):
        whole = (lead + char).encode()
        for size in range(len(lead.encode()), len(whole) + 1):
            raw = whole[:size]
            array = pa.Array.from_buffers(
                pa.string(), 1, [None, pa.py_buffer(np.array([0, size], np.int32)), pa.py_buffer(whole)]
            )
            exact = pa.Array.from_buffers(
                pa.string(), 1, [None, pa.py_buffer(np.array([0, size], np.int32)), pa.py_buffer(raw)]
            )
            for shingle in (Shingle("word", 1, normalize=LOWER), Shingle("char", 2, normalize=frozenset())):
                check(array, [raw], shingle)
                check(exact, [raw], shingle)


def ascii_rows() -> list[str]:
    """Every length from 0 to 200, with words, separators and capitals falling differently on the borders."""
    line = "Seven grey herons, stood in the SHALLOW water_2 of donaudampfschifffahrtsgesellschaft; ok " * 3
    return [row for n in range(201) for row in ("x" * n, " " * n, line[:n], line[n : 2 * n], "a " * (n // 2))]


def mixed_rows() -> list[str]:
    """A character of another kind at each place around the borders of 16 and 64 bytes."""
    line = "abc defgh ij klmnopqrstu v wxyz " * 7
    return [
        line[:at] + char + line[at:size]
        for char in ("\u00e9", "\u4e2d", "\u0e01", "\u200b", "\u00df", ".")
        for size in (15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 128, 192)
        for at in {0, 1, 14, 15, 16, 17, 31, 32, 47, 48, 62, 63, 64, 65, 127, 128, size - 1, size}
        if at <= size
    ]


@pytest.mark.parametrize("shingle", ["word:1", "word:3", "char:1", "char:4", "word:2:bag"])
def test_rows_of_every_length_around_the_block_borders(shingle: str) -> None:
    check_rows([row.encode() for row in ascii_rows()], parse_shingle(shingle))


@pytest.mark.parametrize("names", ["none", "lower"])
def test_every_ascii_character_in_every_place_of_a_block(names: str) -> None:
    row = bytes(range(128))
    rows = [row[turn:] + row[:turn] for turn in range(17)] + [b"a" * 7 + bytes([c]) + b"a" * 8 for c in row]
    check_rows(rows, parse_shingle("word:1", normalize=names))


def test_characters_at_every_place_around_the_block_borders() -> None:
    check_rows([row.encode() for row in mixed_rows()], parse_shingle("word:1"))


def test_unspaced_letters_before_and_after_a_block_of_ascii() -> None:
    tail = "sixteen letters_" + "and more of it"
    rows = ["\u4e2d" * n + tail[at:] for n in (1, 2, 21) for at in range(20)]
    rows += ["\u4e2d" + between + tail for between in (" ", ".", "\u0e31", "\u200b", "\u200b\u0301")]
    rows += [tail + "\u4e2d" + tail]
    check_rows([row.encode() for row in rows], parse_shingle("word:1", normalize="none"))


@pytest.mark.parametrize("shingle", ["word:1", "word:5", "word:16", "word:17", "word:40"])
def test_long_shingles_and_rows_of_more_words_than_are_hashed_together(shingle: str) -> None:
    words = ["a", "bb", "eightchr", "ninechars", "sixteen_letters_", "seventeen_letters"]
    sizes = (15, 16, 17, 39, 40, 1023, 1041, 2100)
    rows = [" ".join(words[(i * i + i // 7) % 6] for i in range(size)) for size in sizes]
    # One word in every second byte: more of them than are mostly read off at a time.
    rows += ["a " * 200, "a b" * 22 + "longer_words_again " * 9]
    check_rows([row.encode() for row in rows], parse_shingle(shingle))


def test_a_word_of_a_megabyte() -> None:
    size = 1 << 20
    plain, composed = b"x" * size, "\u00e9".encode() * (size // 2)
    rows = [plain, ("e\u0301" * (size // 2)).encode(), composed]
    once, twice = (hashing.hash_bytes(word) for word in (plain, composed))
    by_word = sets_of(rows, parse_shingle("word:1"))
    assert by_word == [{hashing.mix((h + hashing.G) & hashing.MASK)} for h in (once, twice, twice)]
    by_char = sets_of(rows, parse_shingle("char:9"))
    assert by_char == [{hashing.hash_bytes(b"x" * 9)}] + [{hashing.hash_bytes("\u00e9".encode() * 9)}] * 2


def test_small_rows_after_a_large_one_do_not_see_its_leavings() -> None:
    rows = [b"Q" * 5000, b"", b"a", "\u4e2d\u6587".encode(), b"a b", None, b"x" * 63, b"x" * 64, b"x" * 65]
    for shingle in ("word:1", "word:2:bag", "char:3"):
        check_rows(rows, parse_shingle(shingle))


def test_the_golden_vectors_are_met_in_every_detail() -> None:
    raw = [bytes.fromhex(text["hex"]) if "hex" in text else text["text"].encode() for text in GOLDEN["texts"]]
    array = pa.array(raw, pa.binary())
    for names in GOLDEN["texts"][0]["sets"]:
        for shingle in GOLDEN["texts"][0]["sets"][names]:
            sets = shingle_texts(array, parse_shingle(shingle, normalize=names.split()))
            prints = ["".join(f"{half:016x}" for half in row) for row in sets.fingerprints.tolist()]
            said = [f"{size}:{print_}" for size, print_ in zip(sets.sizes.tolist(), prints, strict=True)]
            assert said == [text["sets"][names][shingle] for text in GOLDEN["texts"]]


def test_the_golden_elements_are_met_one_by_one() -> None:
    for text in GOLDEN["texts"]:
        raw = bytes.fromhex(text["hex"]) if "hex" in text else text["text"].encode()
        for shingle, detail in text["default"].items():
            if "elements" in detail:
                (found,) = sets_of([raw], parse_shingle(shingle))
                assert " ".join(f"{x:016x}" for x in sorted(found)) == detail["elements"]


def test_the_golden_normalised_texts_are_met() -> None:
    """One shingle of more characters than there are is the hash of the whole normalised text."""
    for text in GOLDEN["texts"]:
        raw = bytes.fromhex(text["hex"]) if "hex" in text else text["text"].encode()
        for names, normalised in text["normalised"].items():
            (found,) = sets_of([raw], Shingle("char", 10**6, normalize=frozenset(names.split())))
            assert found == ({hashing.hash_bytes(normalised.encode())} if normalised else set())


ALIKE: dict[str, tuple[str | bytes, str | bytes]] = {
    "NFC and NFD": ("\u00e9l\u00e8ve \u1e69", "e\u0301le\u0300ve s\u0323\u0307"),
    "marks in another order": ("q\u0307\u0323", "q\u0323\u0307"),
    "sharp s": ("Stra\u00dfe gro\u1e9e", "STRASSE GROSS"),
    "dotted capital I": ("\u0130stanbul", "i\u0307stanbul"),
    "final sigma": ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
    "iota below and beside": ("\u1fb3", "\u03b1\u03b9"),
    "ligature": ("\ufb03ce", "FFICE"),
    "Kelvin and Angstrom": ("\u212a \u212b", "k \u00e5"),
    "zero width": ("se\u200bven g\u2060rey her\ufeffons\u200d", "seven grey herons"),
    "soft hyphen": ("wa\u00adter", "water"),
    "a zero-width joiner between a letter and its mark": ("e\u200d\u0301", "\u00e9"),
    "emoji with and without its variation selector": ("x\u2764\ufe0fy", "x\u2764y"),
    "emoji joined and apart": ("\U0001f469\u200d\U0001f4bb", "\U0001f469\U0001f4bb"),
    "Hangul syllables and jamo": ("\ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"),
    "jamo around a filler": ("\u1112\u3164\u1161\u11ab", "\ud55c"),
    "nukta": ("\u0958", "\u0915\u093c"),
    "kana voicing": ("\u304c", "\u304b\u3099"),
    "Tibetan": ("\u0f73", "\u0f72\u0f71"),
    "Greek question mark": ("a\u037eb", "a;b"),
    "lone surrogates": (b"a\xed\xa0\x80b", "a\ufffd\ufffd\ufffdb"),
    "surrogates of one character": ("\U0001f600".encode("utf-16", "surrogatepass"), b"\xff\xfe=\xd8\0\xde"),
    "cut character": (b"caf\xc3", "caf\ufffd"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("kind", ["word", "char"])
def test_texts_that_are_alike_have_the_same_shingles(name: str, kind: str) -> None:
    first, second = ALIKE[name]
    for k in (1, 2, 3):
        one, other = sets_of([first, second], Shingle(kind, k, normalize=LOWER))
        assert one == other
        assert one or kind == "word"


NAMED = {
    "combining marks": "e\u0301\u0323 \u01d6\u0323 a\u0316\u0301 a\u0307\u0323 \u0344 \u0301 =\u0338 \u2adc",
    "marks of one class block each other": "e\u0316\u0323 e\u0301\u0300 a\u0308\u0301 \u0226\u0304",
    "composition over another mark": "a\u0328\u0301 o\u031b\u0323 \u1ea1\u0302",
    "emoji": "ok \U0001f469\u200d\U0001f4bb\ufe0f \u2764\ufe0f\U0001f1e9\U0001f1ea 1\ufe0f\u20e3 x",
    "Arabic with harakat": "\u0643\u064e\u062a\u064e\u0628\u064e \u0648\u064e\u0644\u064e\u062f\u064f\u0651",
    "Hebrew with points": "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd \ufb2a \u200fabc\u200e",
    "Thai": "\u0e19\u0e49\u0e33\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48\u0e43\u0e2a 100 \u0e25\u0e38\u0e48",
    "Chinese": "\u6211\u7528Python3\u5199\u4ee3\u7801\uff0c\u5f88\u5feb\u3002 ABC\u4e2d12\u6587_x",
    "Hangul jamo": "\u1112\u1161\u11ab \u1100\u1161 \u1161\u11a8 \uac00\u11a8 \uac01\u11a8 \uac00\u1161",
    "Hindi": "\u0915\u094d\u092f\u093e \u095b\u092e\u0940\u0928 \u0915\u093c \u09c7\u09be \u09c7\u09d7",
    "digits": "a12 3\u0663 4\u200b5 6,7 \uff11\uff12 x1y \u00b2 \u00bd 9",
    "white space": "\u3000 a\u00a0\u2003b \t\n c\x1cd\u0085e\u2028 ",
    "nul and controls": "a\0b\0\0 \x7f\x1b[0m",
    "foldings": "\u0149 \u01f0 \u0390 \u1fb7 \u1ffc \u0587 \u1e96 \u13a0\uab70 \ufb13 \u1e9e \u03f4",
}


@pytest.mark.parametrize("name", NAMED)
def test_named_texts_under_every_option_set(name: str) -> None:
    for normalize in EVERY_OPTION_SET:
        for kind, k in (("word", 1), ("char", 2)):
            check_rows([NAMED[name].encode()], Shingle(kind, k, normalize=normalize))


def test_words_of_unspaced_scripts_keep_their_marks_and_end_before_other_letters() -> None:
    joined, apart = "\u0e17\u0e35\u0e48\u4e2d\u0301ab12\u6587", "\u0e17\u0e35\u0e48 \u4e2d\u0301 ab12 \u6587"
    for k in (1, 2):
        one, other = sets_of([joined, apart], Shingle("word", k, normalize=frozenset()))
        assert one == other
        assert len(one) == 5 - k


def test_accents_go_and_vowel_signs_and_tones_stay() -> None:
    accents = Shingle("char", 10**6, normalize=frozenset({"accents"}))
    pairs = {
        "\u00c5ngstr\u00f6m \u1ea4": "Angstrom A",
        "\u05e9\u05c1\u05b8\u05dc": "\u05e9\u05dc",
        "\u0643\u064e\u062a\u0670": "\u0643\u062a",
        "\u0712\u0711": "\u0712",
    }
    stays = [
        "\u0e17\u0e35\u0e48\u0e19\u0e38",
        "\u0ea5\u0ec8",
        "\u0f40\u0f71\u0f72",
        "\u0c15\u0c56",
        "\u0915\u094d",
        "a\u0338",
    ]
    for text, bare in [*pairs.items(), *((text, text) for text in stays)]:
        (found,) = sets_of([text], accents)
        assert found == {hashing.hash_bytes(bare.encode())}


def test_invalid_and_short_rows_are_counted() -> None:
    rows = [
        b"one two three",
        b"one two",
        b"",
        None,
        b"\xff",
        b"one \xc3",
        b"ok \xef\xbf\xbd fine too",
        b"e\xcc\x81 \xff\xff",
    ]
    sets = shingle_texts(pa.array(rows, pa.binary()), Shingle("word", 3, normalize=LOWER))
    assert sets.invalid == 3
    assert sets.short == 3
    assert shingle_texts(pa.array([], pa.string()), Shingle()).invalid == 0


def test_a_batch_without_rows_or_without_text() -> None:
    assert len(shingle_texts(pa.array([], pa.string()), Shingle())) == 0
    check(pa.array([None, None], pa.string()), [None, None], Shingle())
    check(pa.nulls(3, pa.large_string()), [None] * 3, Shingle("char", 2))


def test_a_row_longer_than_positions_can_count_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "LONGEST_ROW", 10)
    assert len(shingle_texts(pa.array(["x" * 10]), Shingle())) == 1
    with pytest.raises(InputError, match="a text of 11 bytes is too long: the limit is 10 bytes"):
        shingle_texts(pa.array(["x" * 11]), Shingle())


def test_bags_number_their_repeats() -> None:
    text = "tick tock " * 300 + "end"
    check_rows([text.encode(), b"a a a"], parse_shingle("word:1:bag"))
    check_rows([text.encode(), b"aaaa"], parse_shingle("char:2:bag"))


TOKENIZERS: dict[str, Callable[[str], Iterable[str]]] = {
    "split": str.split,
    "characters": list,
    "pattern": re.compile(r"\w+").findall,
    "generator": lambda text: (part for part in text.split(" ") if part != "grey"),
    "empty tokens": lambda text: text.split("e"),
    "none": lambda text: [],
}


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(some, max_examples=30)
@given(rows=st.lists(st.one_of(st.none(), texts, raws), max_size=6), k=st.integers(1, 9), bag=st.booleans())
def test_a_callable_s_tokens_are_taken_as_they_are(
    name: str, rows: list[str | bytes | None], k: int, bag: bool
) -> None:
    raw = [b"" if row is None else row.encode() if isinstance(row, str) else row for row in rows]
    tokens = [list(TOKENIZERS[name](row.decode("utf-8", "replace"))) for row in raw]
    hashes = [twin.shingle_hashes(row, "word", k) for row in tokens]
    expected = [twin.bag_elements(row) if bag else set(row) for row in hashes]
    sets = shingle_texts(pa.array(raw, pa.binary()), Shingle("word", k, bag, tokens=TOKENIZERS[name]))
    assert elements(sets) == expected
    assert [tuple(row) for row in sets.fingerprints.tolist()] == [
        hashing.fingerprint(row, text) for row, text in zip(expected, raw, strict=True)
    ]
    assert sets.invalid == sum(map(is_invalid, raw))
    assert sets.short == sum(0 < len(row) < k for row in tokens)


def test_a_callable_sees_replacement_characters_but_only_invalid_rows_are_counted() -> None:
    rows = [b"\xff", b"\xef\xbf\xbd", b"\xef\xbf\xbd \xff", b"ok"]
    sets = shingle_texts(pa.array(rows, pa.binary())[1:], Shingle("word", 1, tokens=str.split))
    assert sets.invalid == 1
    assert sets.sizes.tolist() == [1, 1, 1]


def test_a_callable_may_give_lone_surrogates() -> None:
    sets = shingle_texts(pa.array(["x"]), Shingle("word", 1, tokens=lambda text: ["\ud800"]))
    expected = hashing.mix((hashing.hash_bytes(b"\xed\xa0\x80") + hashing.G) & hashing.MASK)
    assert elements(sets) == [{expected}]


def is_shingle_of(part: bytes, found: int, shingle: Shingle) -> bool:
    """Whether `part` gives `found`: for words alone, for characters also amid others, which keep its white space.

    U+0345 is let off. It folds to a letter, a word of its own behind an unspaced one, and where it changed places
    with marks that stay with the word before, the bytes of the two cannot be told apart.
    """
    alone = twin.shingle_hashes(twin.tokens(part, shingle.kind, shingle.normalize), shingle.kind, shingle.k)
    if shingle.kind == "word":
        return alone == [found] or "\u0345" in part.decode("utf-8", "replace")
    inside = twin.tokens(b"\xe4\xb8\xad" + part + b"\xe4\xb8\xad", "char", shingle.normalize)
    return found in alone or found in twin.shingle_hashes(inside, "char", shingle.k)


def check_spans(raw: bytes, shingle: Shingle) -> None:
    hashes, spans = spans_of(raw, shingle)
    tokens = twin.tokens(raw, shingle.kind, shingle.normalize)
    assert [h or hashing.G for h in hashes.tolist()] == twin.shingle_hashes(tokens, shingle.kind, shingle.k)
    for found, (start, end) in zip(hashes.tolist(), spans.tolist(), strict=True):
        assert 0 <= start < end <= len(raw)
        assert is_shingle_of(raw[start:end], found, shingle)


@needs_known
@many
@given(raws, shingles)
def test_the_text_of_each_span_gives_its_shingle(raw: bytes, shingle: Shingle) -> None:
    check_spans(raw, shingle)


@pytest.mark.parametrize("seed", range(6))
def test_the_text_of_each_span_of_long_random_rows_gives_its_shingle(seed: int) -> None:
    rng = random.Random(seed)
    for raw in random_rows(rng, 30, 50):
        shingle = Shingle(rng.choice(["word", "char"]), rng.randint(1, 4), normalize=rng.choice(EVERY_OPTION_SET))
        check_spans(raw, shingle)


@pytest.mark.parametrize("name", NAMED)
def test_the_text_of_each_span_of_named_texts_gives_its_shingle(name: str) -> None:
    raw = NAMED[name].encode()
    for normalize in EVERY_OPTION_SET[::3]:
        for shingle in (Shingle("word", 2, normalize=normalize), Shingle("char", 1, normalize=normalize)):
            check_spans(raw, shingle)


def spanned(text: str, shingle: Shingle) -> list[str]:
    raw = text.encode()
    return [raw[start:end].decode() for start, end in spans_of(text, shingle)[1].tolist()]


def test_spans_are_of_the_text_as_it_was_given() -> None:
    words = Shingle("word", 2, normalize=LOWER)
    assert spanned("Seven, grey HERONS!", words) == ["Seven, grey", "grey HERONS"]
    assert spanned("  Stra\u00dfe  e\u0301t\u0065\u0301 .", words) == ["Stra\u00dfe  e\u0301te\u0301"]
    assert spanned("\u4e2d\u6587ab", replace(words, k=1)) == ["\u4e2d", "\u6587", "ab"]
    assert spanned("one", words) == ["one"]
    assert spanned("", words) == spanned(" .", words) == []
    digits = frozenset({"digits"})
    assert spanned("no 2024-01", replace(words, k=1, normalize=digits)) == ["no", "2024", "01"]
    chars = Shingle("char", 2, normalize=frozenset({"lower", "whitespace"}))
    assert spanned(" a \n b ", chars) == ["a \n ", " \n b"]
    assert spanned("a\u00df", chars) == ["a\u00df", "\u00df"]


def test_marks_that_change_places_or_compose_over_others_share_their_bytes() -> None:
    char = Shingle("char", 1, normalize=frozenset())
    assert spanned("q\u0307\u0323x", char) == ["q", "\u0307\u0323", "\u0307\u0323", "x"]
    assert spanned("a\u0307\u0323x", char) == ["a\u0307\u0323", "a\u0307\u0323", "x"]
    assert spanned("a\u0316\u0301x", char) == ["a\u0316\u0301", "a\u0316\u0301", "x"]


def test_a_text_with_lone_surrogates_has_spans() -> None:
    hashes, spans = spans_of("a \ud800 b", Shingle("word", 1, normalize=LOWER))
    assert len(hashes) == 2
    assert spans.tolist() == [[0, 1], [6, 7]]


def test_long_runs_of_marks_are_ordered_as_short_ones_are() -> None:
    options = frozenset[str]()
    for length in (31, 32, 33, 34, 500):
        text = "a" + ("\u0301\u0323\u0327\u0345" * length)[:length] + " b"
        sets = shingle_texts(pa.array([text]), Shingle("word", 2, normalize=options))
        assert elements(sets) == [twin.shingles(text.encode(), "word", 2, options)]


def test_a_hostile_run_of_marks_does_not_take_forever() -> None:
    # Sorted by insertion this would take minutes, as it does in Python's own normalisation.
    mixed = "a" + "\u0301\u0323" * 200_000 + " b"
    ordered = "a" + "\u0323" * 200_000 + "\u0301" * 200_000 + " b"
    sets = shingle_texts(pa.array([mixed, ordered]), Shingle("word", 2, normalize=LOWER))
    assert sets.fingerprints[0].tolist() == sets.fingerprints[1].tolist()
