"""Write the frozen Unicode tables of the hash specification: `src/lookalike/represent/unicode.npz`.

Run it with a Python whose `unicodedata` is Unicode 15.1 (CPython 3.13) and which has numpy:

    python tools/make_unicode_table.py [output.npz]

The same Python and zlib write the same bytes each time. Layout and meaning of the arrays stand in
`lookalike.represent.unicode`, which reads them; here stands how they are derived:

* the classes, from general categories and from the ranges listed below;
* Default_Ignorable_Code_Point, by the formula of DerivedCoreProperties.txt;
* the primary composites: canonical pairs that NFC puts together again;
* NFC_Quick_Check=Maybe: the second of a primary composite, and the Hangul vowels and trailing consonants.
"""

from __future__ import annotations

import io
import sys
import unicodedata
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

VERSION = "15.1.0"
OUTPUT = Path(__file__).resolve().parents[1] / "src" / "lookalike" / "represent" / "unicode.npz"

CODE_POINTS = 0x110000
BLOCK = 128
POINT_MASK = (1 << 21) - 1
CLASS_SHIFT = 21
SLOW = 1 << 24
MULTI = 1 << 25
OTHER, SPACE, WORD, DIGIT, MARK, LONE, IGNORED = range(7)

Ranges = Sequence[tuple[int, int]]

WHITE_SPACE: Ranges = [
    (0x0009, 0x000D), (0x0020, 0x0020), (0x0085, 0x0085), (0x00A0, 0x00A0), (0x1680, 0x1680),
    (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
]  # fmt: skip

# Default_Ignorable_Code_Point = Cf + these - those that are seen.
INVISIBLE: Ranges = [
    (0x034F, 0x034F),    # combining grapheme joiner
    (0x115F, 0x1160),    # Hangul fillers
    (0x17B4, 0x17B5),    # Khmer inherent vowels
    (0x180B, 0x180D),    # Mongolian variation selectors
    (0x180F, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),    # Hangul fillers
    (0xFFA0, 0xFFA0),
    (0xFE00, 0xFE0F),    # variation selectors
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),  # tags, variation selectors, and the rest of their plane's first page
]  # fmt: skip
VISIBLE_FORMAT: Ranges = [
    (0xFFF9, 0xFFFB),    # interlinear annotation
    (0x13430, 0x1343F),  # Egyptian hieroglyph joiners
    (0x0600, 0x0605),    # prepended concatenation marks, from here on
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
]  # fmt: skip

# Letters and letter numbers in these ranges are LONE: scripts that are written without spaces.
UNSPACED: Ranges = [
    (0x0E00, 0x0E7F),    # Thai
    (0x0E80, 0x0EFF),    # Lao
    (0x1000, 0x109F),    # Myanmar
    (0x1780, 0x17FF),    # Khmer
    (0x1950, 0x197F),    # Tai Le
    (0x1980, 0x19DF),    # New Tai Lue
    (0x1A20, 0x1AAF),    # Tai Tham
    (0x3005, 0x3007),    # Han: iteration mark, closing mark, zero
    (0x3021, 0x3029),    # Hangzhou numerals
    (0x3031, 0x3035),    # kana repeat marks
    (0x3038, 0x303C),    # Hangzhou numerals, vertical iteration mark, masu mark
    (0x3040, 0x309F),    # Hiragana
    (0x30A0, 0x30FF),    # Katakana
    (0x3100, 0x312F),    # Bopomofo
    (0x31A0, 0x31BF),    # Bopomofo Extended
    (0x31F0, 0x31FF),    # Katakana Phonetic Extensions
    (0x3400, 0x4DBF),    # Han extension A
    (0x4E00, 0x9FFF),    # Han
    (0xA9E0, 0xA9FF),    # Myanmar Extended-B
    (0xAA60, 0xAA7F),    # Myanmar Extended-A
    (0xAA80, 0xAADF),    # Tai Viet
    (0xF900, 0xFAFF),    # Han compatibility ideographs
    (0xFF66, 0xFF9F),    # half-width Katakana
    (0x11700, 0x1174F),  # Ahom
    (0x16FE3, 0x16FE3),  # old Chinese iteration mark
    (0x1AFF0, 0x1AFFF),  # Kana Extended-B
    (0x1B000, 0x1B0FF),  # Kana Supplement
    (0x1B100, 0x1B12F),  # Kana Extended-A
    (0x1B130, 0x1B16F),  # Small Kana Extension
    (0x20000, 0x2A6DF),  # Han extensions B
    (0x2A700, 0x2B73F),  # C
    (0x2B740, 0x2B81F),  # D
    (0x2B820, 0x2CEAF),  # E
    (0x2CEB0, 0x2EBEF),  # F
    (0x2EBF0, 0x2EE5F),  # I
    (0x2F800, 0x2FA1F),  # Han compatibility supplement
    (0x30000, 0x3134F),  # Han extensions G
    (0x31350, 0x323AF),  # H
]  # fmt: skip

# The symbols (So) that are Alphabetic: circled, parenthesised and squared Latin letters.
ALPHABETIC_SYMBOLS: Ranges = [(0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]

# The combining classes that `accents` removes. Below are overlays (1), nukta (7), kana voicing (8) and virama
# (9); between, the vowel signs and tones of Telugu, Thai, Lao and Tibetan: without them it is another letter.
ACCENT_CLASSES: Ranges = [
    (10, 36),    # Hebrew points, Arabic and Syriac vowel signs
    (200, 255),  # diacritics above and below
]  # fmt: skip

HANGUL_MAYBE: Ranges = [(0x1161, 0x1175), (0x11A8, 0x11C2)]
HANGUL_SYLLABLES: Ranges = [(0xAC00, 0xD7A3)]


def within(point: int, ranges: Ranges) -> bool:
    return any(first <= point <= last for first, last in ranges)


def classify(point: int) -> int:
    category = unicodedata.category(chr(point))
    if within(point, INVISIBLE) or (category == "Cf" and not within(point, VISIBLE_FORMAT)):
        return IGNORED
    if within(point, WHITE_SPACE):
        return SPACE
    if category == "Nd":
        return DIGIT
    if category[0] == "M":
        return MARK
    if category[0] == "L" or category == "Nl":
        return LONE if within(point, UNSPACED) else WORD
    if category == "Pc" or within(point, ALPHABETIC_SYMBOLS):
        return WORD
    return OTHER


def primary_composites() -> dict[tuple[int, int], int]:
    """(first, second) -> composite, for every pair that NFC composes, but for Hangul."""
    pairs = {}
    for point in range(CODE_POINTS):
        mapping = unicodedata.decomposition(chr(point))
        if not mapping or mapping.startswith("<"):
            continue
        parts = [int(part, 16) for part in mapping.split()]
        if len(parts) == 2 and unicodedata.normalize("NFC", chr(point)) == chr(point):
            pairs[parts[0], parts[1]] = point
    return pairs


def maybe_composes_with_previous(pairs: Iterable[tuple[int, int]]) -> frozenset[int]:
    """NFC_Quick_Check=Maybe."""
    hangul = [point for first, last in HANGUL_MAYBE for point in range(first, last + 1)]
    return frozenset([*hangul, *(second for _, second in pairs)])


class Expansion:
    """Sequences of code points: at an offset the length, then that many code points. Offset 0 means none."""

    def __init__(self) -> None:
        self.values = [0]
        self._offsets: dict[str, int] = {}

    def add(self, text: str) -> int:
        if text not in self._offsets:
            self._offsets[text] = len(self.values)
            self.values += [len(text), *map(ord, text)]
        return self._offsets[text]


def make_columns() -> dict[str, np.ndarray]:
    """Every table, with one entry per code point, and the tables that are not per code point."""
    pairs = primary_composites()
    maybe = maybe_composes_with_previous(pairs)
    expansion = Expansion()
    cls = np.array([classify(point) for point in range(CODE_POINTS)], np.uint8)
    ccc = np.array([unicodedata.combining(chr(point)) for point in range(CODE_POINTS)], np.uint8)
    fold = np.zeros(CODE_POINTS, np.uint32)
    keep = np.zeros(CODE_POINTS, np.uint32)
    strip = np.zeros(CODE_POINTS, np.uint8)
    decompose = np.zeros(CODE_POINTS, np.uint16)
    casefold = np.zeros(CODE_POINTS, np.uint16)

    def quick(point: int, target: str) -> int:
        if cls[point] == IGNORED:
            return IGNORED << CLASS_SHIFT
        if any(ccc[code] or code in maybe for code in (point, *map(ord, target))):
            return SLOW
        if len(target) > 1:
            return MULTI | expansion.add(target)
        return (ord(target) - point) & POINT_MASK | int(cls[ord(target)]) << CLASS_SHIFT

    for point in range(CODE_POINTS):
        char = chr(point)
        decomposed = unicodedata.normalize("NFD", char)
        folded = unicodedata.normalize("NFC", decomposed.casefold())
        fold[point] = quick(point, folded)
        keep[point] = quick(point, unicodedata.normalize("NFC", char))
        strip[point] = unicodedata.category(char) == "Mn" and within(int(ccc[point]), ACCENT_CLASSES)
        if decomposed != char and not within(point, HANGUL_SYLLABLES):
            decompose[point] = expansion.add(decomposed)
        if char.casefold() != char:
            casefold[point] = expansion.add(char.casefold())
    if len(expansion.values) > 1 << 16:
        raise SystemExit("the expansions no longer fit 16-bit offsets: widen `decompose` and `casefold`")

    ordered = sorted(pairs.items())
    return {
        "fold": fold,
        "keep": keep,
        "cls": cls,
        "ccc": ccc,
        "strip": strip,
        "decompose": decompose,
        "casefold": casefold,
        "expansion": np.array(expansion.values, np.uint32),
        "pair": np.array([first << 21 | second for (first, second), _ in ordered], np.uint64),
        "composed": np.array([composite for _, composite in ordered], np.uint32),
    }


def share_blocks(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Store each distinct block of 128 code points once, for all tables together, and `index` to find it."""
    per_point = [name for name, column in columns.items() if len(column) == CODE_POINTS]
    numbers: dict[bytes, int] = {}
    index, starts = [], []
    for start in range(0, CODE_POINTS, BLOCK):
        content = b"".join(columns[name][start : start + BLOCK].tobytes() for name in per_point)
        if content not in numbers:
            numbers[content] = len(numbers)
            starts.append(start)
        index.append(numbers[content])
    shared = {name: np.concatenate([columns[name][s : s + BLOCK] for s in starts]) for name in per_point}
    return {"index": np.array(index, np.uint16), **columns, **shared}


def write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """An .npz like numpy's, but packed harder and without anything of the machine or the day in it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(entry, buffer.getvalue(), compresslevel=9)


def main() -> None:
    if unicodedata.unidata_version != VERSION:
        raise SystemExit(
            f"the tables are those of Unicode {VERSION}, but Python {sys.version.split()[0]} has Unicode "
            f"{unicodedata.unidata_version}: run this with CPython 3.13"
        )
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    arrays = share_blocks(make_columns())
    write(path, {**arrays, "version": np.array(VERSION)})
    for name, array in arrays.items():
        print(f"{name:10} {array.dtype.name:7} {len(array)}")
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
