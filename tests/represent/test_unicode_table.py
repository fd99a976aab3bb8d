"""The frozen tables against the running Python's `unicodedata`, and the bounds that the kernels rely on."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from importlib import resources

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.represent import unicode as table
from lookalike.twin import text as twin

pytestmark = pytest.mark.no_cover

Form = Callable[[str], str]

SURROGATES = range(0xD800, 0xE000)
HANGUL = range(0xAC00, 0xD7A4)
CLASSES = ["OTHER", "SPACE", "WORD", "DIGIT", "MARK", "LONE", "IGNORED"]

# What both Unicode 15.1 and this Python know. A newer Python knows more, and cannot say what is new to it.
NEWER = tuple(map(int, unicodedata.unidata_version.split("."))) > (15, 1, 0)
KNOWN = [] if NEWER else [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
needs_known = pytest.mark.skipif(NEWER, reason="this Python's Unicode is newer than the tables")

tables = table.tables()


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def fold(text: str) -> str:
    return nfc(nfd(text).casefold())


def lookup(column: npt.NDArray[np.generic], point: int) -> int:
    return int(column[int(tables.index[point >> 7]) * 128 + (point & 127)])


def expand(offset: int) -> str:
    length = int(tables.expansion[offset])
    return "".join(map(chr, tables.expansion[offset + 1 : offset + 1 + length].tolist()))


def targets(column: npt.NDArray[np.uint32], point: int) -> str:
    """What a quick mapping makes of one code point."""
    entry = lookup(column, point)
    assert not entry & table.SLOW
    if entry & table.MULTI:
        return expand(entry & table.POINT_MASK)
    return chr((point + entry) & table.POINT_MASK)


def second_of_a_composite() -> set[int]:
    """The code points that NFC may join with the one before."""
    jamo = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    parts = [unicodedata.decomposition(chr(c)).split() for c in KNOWN if nfc(chr(c)) == chr(c)]
    return jamo | {int(pair[1], 16) for pair in parts if len(pair) == 2 and not pair[0].startswith("<")}


def test_the_tables_are_of_the_declared_version_and_ready_for_kernels() -> None:
    file = resources.files("lookalike.represent").joinpath("unicode.npz")
    with file.open("rb") as stream, np.load(stream) as arrays:
        assert str(arrays["version"]) == table.UNICODE_VERSION == "15.1.0"
    assert table.tables() is tables
    assert tables.index.shape == (0x110000 >> 7,)
    assert all(array.flags.c_contiguous for array in tables)
    assert [array.dtype.name for array in tables] == [
        "uint16", "uint32", "uint32", "uint8", "uint8", "uint8", "uint16", "uint16",
        "uint32", "uint64", "uint32",
    ]  # fmt: skip
    size = (int(tables.index.max()) + 1) * 128
    assert {len(array) for array in tables[1:8]} == {size}


@needs_known
def test_classes_are_those_of_the_twin() -> None:
    wrong = [c for c in KNOWN if CLASSES[lookup(tables.cls, c)] != twin.classify(c)]
    assert wrong == []


def test_surrogates_and_unassigned_code_points_are_other() -> None:
    assert {lookup(tables.cls, c) for c in SURROGATES} == {table.OTHER}
    assert lookup(tables.cls, 0x0378) == table.OTHER
    assert lookup(tables.cls, 0x10FFFF) == table.OTHER
    assert lookup(tables.cls, 0x2065) == table.IGNORED


@needs_known
def test_combining_classes_and_what_accents_removes() -> None:
    assert [c for c in KNOWN if lookup(tables.ccc, c) != unicodedata.combining(chr(c))] == []
    assert [c for c in KNOWN if lookup(tables.strip, c) != twin.is_accent(chr(c))] == []


@pytest.mark.parametrize(
    ("combining_class", "points"),
    [
        (10, "\u05b0"), (25, "\u05c2"), (26, "\ufb1e"),       # Hebrew points
        (27, "\u064b"), (30, "\u064e"), (35, "\u0670"),       # Arabic vowel signs
        (36, "\u0711"),                                         # Syriac
        (202, "\u0327"), (220, "\u0323"), (230, "\u0301"), (233, "\u0362"), (240, "\u0345"),
        (216, "\u031b"), (218, "\u302a"),
    ],
)  # fmt: skip
def test_accents_removes_points_vowel_signs_and_diacritics(combining_class: int, points: str) -> None:
    for char in points:
        assert lookup(tables.ccc, ord(char)) == combining_class
        assert lookup(tables.strip, ord(char)) == 1


@pytest.mark.parametrize(
    ("combining_class", "points"),
    [
        (0, "\u0902\u0e31\u0d41"),      # Indic and Thai signs without a class
        (1, "\u0334\u0338\u20d2"),      # overlays
        (7, "\u093c"),                  # nukta
        (8, "\u3099\u309a"),            # kana voicing
        (9, "\u094d\u0e3a\u1039"),      # virama
        (84, "\u0c55"), (91, "\u0c56"),  # Telugu
        (103, "\u0e38\u0e39"), (107, "\u0e48\u0e4b"),   # Thai
        (118, "\u0eb8"), (122, "\u0ec8"),                # Lao
        (129, "\u0f71"), (130, "\u0f72"), (132, "\u0f74"),  # Tibetan
    ],
)  # fmt: skip
def test_accents_leaves_what_makes_another_letter(combining_class: int, points: str) -> None:
    for char in points:
        assert lookup(tables.ccc, ord(char)) == combining_class
        assert lookup(tables.strip, ord(char)) == 0


@needs_known
def test_decompositions_are_full_and_zero_where_nothing_changes() -> None:
    for c in KNOWN:
        offset = lookup(tables.decompose, c)
        if c in HANGUL:
            assert offset == 0
        else:
            assert (expand(offset) if offset else chr(c)) == nfd(chr(c))
            assert (offset == 0) == (nfd(chr(c)) == chr(c))


@needs_known
def test_case_foldings_are_full_and_zero_where_nothing_changes() -> None:
    for c in KNOWN:
        offset = lookup(tables.casefold, c)
        assert (expand(offset) if offset else chr(c)) == chr(c).casefold()
        assert (offset == 0) == (chr(c).casefold() == chr(c))


@needs_known
def test_pairs_are_the_primary_composites_in_order() -> None:
    expected = {}
    for c in KNOWN:
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and nfc(chr(c)) == chr(c):
            expected[int(parts[0], 16) << 21 | int(parts[1], 16)] = c
    assert dict(zip(tables.pair.tolist(), tables.composed.tolist(), strict=True)) == expected
    assert (np.diff(tables.pair) > 0).all()


@needs_known
@pytest.mark.parametrize(("name", "form"), [("fold", fold), ("keep", nfc)])
def test_quick_mappings_give_the_normal_form_and_its_class(name: str, form: Form) -> None:
    column = getattr(tables, name)
    for c in KNOWN:
        entry = lookup(column, c)
        if entry & table.SLOW:
            assert entry == table.SLOW
            continue
        expected = chr(c) if lookup(tables.cls, c) == table.IGNORED else form(chr(c))
        assert targets(column, c) == expected
        single = len(expected) == 1
        assert bool(entry & table.MULTI) == (not single)
        assert entry >> table.CLASS_SHIFT & 7 == (lookup(tables.cls, ord(expected)) if single else 0)


@needs_known
@pytest.mark.parametrize(("name", "form"), [("fold", fold), ("keep", nfc)])
def test_slow_are_exactly_those_that_may_meet_their_neighbours(name: str, form: Form) -> None:
    meets = second_of_a_composite()
    for c in KNOWN:
        concerned = [c, *map(ord, form(chr(c)))]
        slow = any(unicodedata.combining(chr(code)) or code in meets for code in concerned)
        if lookup(tables.cls, c) == table.IGNORED:
            slow = False
        assert bool(lookup(getattr(tables, name), c) & table.SLOW) == slow


def is_quick(char: str) -> bool:
    entries = lookup(tables.fold, ord(char)) | lookup(tables.keep, ord(char))
    return not entries & table.SLOW and lookup(tables.cls, ord(char)) != table.IGNORED


# Code points that change, or meet their neighbours, more often than most.
LIVELY = (
    "Aa1 \u00e9\u00c9\u00df\u1e9e\u0130\u0131\u0149\u01d6\u01f0\u1ea4\u00c5\u212a\u24b6\ufb03"
    "\u03a3\u03c2\u0390\u1fb3\u1fbc\u1ff7\uac00\uac01\ud7a3\u1100\u1161\u11a8"
    "\u0915\u093e\u093c\u0958\u09c7\u09be\u0e01\u0e33\u0e48\u0f43\u0f71\u0f73\u05e9\u05c1\ufb2a"
    "\u0300\u0304\u0308\u0323\u0344\u0345"
)
chars = st.one_of(st.sampled_from(LIVELY), st.characters(exclude_categories=["Cs", "Cn"]))


@needs_known
@given(st.text(chars.filter(is_quick)))
def test_the_normal_form_of_quick_code_points_is_their_targets_one_after_another(text: str) -> None:
    assert "".join(targets(tables.fold, ord(char)) for char in text) == fold(text)
    assert "".join(targets(tables.keep, ord(char)) for char in text) == nfc(text)


@needs_known
def test_every_two_quick_code_points_of_interest_stay_apart() -> None:
    """The claim above, for all pairs of first and last parts of composites."""
    firsts = {int(pair) >> 21 for pair in tables.pair}
    candidates = [chr(c) for c in sorted({*firsts, *tables.composed.tolist()}) if is_quick(chr(c))]
    lively = [char for char in LIVELY if is_quick(char)]
    for first in candidates:
        for second in lively:
            assert nfc(first + second) == nfc(first) + nfc(second)
            assert fold(first + second) == fold(first) + fold(second)
            assert fold(second + first) == fold(second) + fold(first)


@needs_known
@given(st.text(chars))
def test_what_is_decomposed_stays_decomposed_under_case_folding(text: str) -> None:
    folded = nfd(text).casefold()
    assert nfd(folded) == folded


@needs_known
def test_no_folding_brings_marks_or_composites_into_decomposed_text() -> None:
    """The claim above for all: only U+0345, the last in canonical order, changes its class by folding."""
    for c in KNOWN:
        if nfd(chr(c)) == chr(c):
            folded = chr(c).casefold()
            assert nfd(folded) == folded
            moved = [unicodedata.combining(char) for char in folded] != [unicodedata.combining(chr(c))]
            assert not moved or c == 0x345 or not any(map(unicodedata.combining, chr(c) + folded))
    assert [c for c in KNOWN if unicodedata.combining(chr(c)) >= 240] == [0x345]


def utf8(text: str) -> int:
    return len(text.encode())


@needs_known
def test_normal_forms_have_at_most_three_bytes_for_one() -> None:
    """Composing never lengthens, so the bound on single code points holds for whole texts."""
    assert max(utf8(fold(chr(c))) / utf8(chr(c)) for c in KNOWN) == 3
    assert max(utf8(nfc(chr(c))) / utf8(chr(c)) for c in KNOWN) == 3
    assert max(utf8(nfd(chr(c))) / utf8(chr(c)) for c in KNOWN) == 3
    assert max(utf8(nfd(chr(c)).casefold()) / utf8(chr(c)) for c in KNOWN) == 3
    for pair, composite in zip(tables.pair.tolist(), tables.composed.tolist(), strict=True):
        assert utf8(chr(composite)) <= utf8(chr(pair >> 21)) + utf8(chr(pair & table.POINT_MASK))


@needs_known
def test_decomposed_text_has_at_most_three_code_points_for_two_bytes() -> None:
    assert max(len(nfd(chr(c))) / utf8(chr(c)) for c in KNOWN) == 1.5
    assert max(len(nfd(chr(c)).casefold()) / utf8(chr(c)) for c in KNOWN) == 1.5
    assert max(len(nfd(chr(c)).casefold()) for c in KNOWN) == 4


@needs_known
def test_normal_forms_have_at_most_one_code_point_for_a_byte() -> None:
    assert max(len(fold(chr(c))) / utf8(chr(c)) for c in KNOWN) == 1
    assert max(len(nfc(chr(c))) / utf8(chr(c)) for c in KNOWN) == 1


@needs_known
@given(st.text(chars), st.booleans())
def test_normal_forms_of_texts_have_at_most_one_code_point_for_a_byte(text: str, accents: bool) -> None:
    """A mark can push a composite apart (U+01D6 U+0323 becomes three), but it costs two bytes itself."""
    decomposed = nfd(text)
    if accents:
        decomposed = "".join(char for char in decomposed if not twin.is_accent(char))
    for form in (decomposed, decomposed.casefold()):
        assert len(nfc(form)) <= utf8(text)
        assert utf8(nfc(form)) <= 3 * utf8(text)
