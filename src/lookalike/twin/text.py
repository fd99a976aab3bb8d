"""Sections 2, 3 and 4 of `docs/hash-spec.md` with the running Python's `unicodedata` for the frozen tables.

Where that is not Unicode 15.1, the two agree on every code point that both know: compare on texts for which
`is_known` holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import groupby

from lookalike.twin.hashing import MASK, PUBLIC, G, Key, hash_bytes, mix

OPTIONS = frozenset({"lower", "accents", "digits", "punctuation", "whitespace"})

WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")

# The default-ignorable code points as DerivedCoreProperties.txt lists them.
IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

# Whole blocks; `classify` takes only the letters and letter numbers of them.
UNSPACED = re.compile(
    "[\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u1950-\u19df\u1a20-\u1aaf\uaa80-\uaadf"  # Tai Le, New Tai Lue, Tai Tham, Tai Viet
    "\U00011700-\U0001174f"  # Ahom
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\U00016fe3"  # signs and numbers of Han and kana
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001afff\U0001b000-\U0001b16f"  # Hiragana, Katakana
    "\u3100-\u312f\u31a0-\u31bf"  # Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ee5f"  # Han
    "\U0002f800-\U0002fa1f\U00030000-\U000323af]"
)

# Circled, parenthesised and squared letters with the property Alphabetic.
ALPHABETIC_SYMBOLS = re.compile("[\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]")


def is_known(text: str) -> bool:
    """Whether this Python's Unicode knows every code point of the text."""
    return all(unicodedata.category(char) != "Cn" for char in text)


@cache
def classify(point: int) -> str:
    char = chr(point)
    category = unicodedata.category(char)
    if IGNORED.match(char):
        return "IGNORED"
    if WHITE_SPACE.match(char):
        return "SPACE"
    if category == "Nd":
        return "DIGIT"
    if category in ("Mn", "Mc", "Me"):
        return "MARK"
    if category[0] == "L" or category == "Nl":
        return "LONE" if UNSPACED.match(char) else "WORD"
    if category == "Pc" or ALPHABETIC_SYMBOLS.match(char):
        return "WORD"
    return "OTHER"


def is_a(name: str, char: str) -> bool:
    return classify(ord(char)) == name


def is_accent(char: str) -> bool:
    return unicodedata.category(char) == "Mn" and (
        10 <= unicodedata.combining(char) <= 36 or unicodedata.combining(char) >= 200
    )


def normalise(text: bytes, options: frozenset[str]) -> str:
    assert options <= OPTIONS
    result = text.decode("utf-8", "replace")
    result = "".join(char for char in result if not is_a("IGNORED", char))
    result = unicodedata.normalize("NFD", result)
    if "accents" in options:
        result = "".join(char for char in result if not is_accent(char))
    if "lower" in options:
        result = result.casefold()
    result = unicodedata.normalize("NFC", result)
    if "digits" in options:
        result = replace_runs("DIGIT", "0", result)
    if "punctuation" in options:
        result = "".join(" " if is_a("OTHER", char) else char for char in result)
    if "whitespace" in options:
        result = replace_runs("SPACE", " ", result).strip(" ")
    return result


def replace_runs(name: str, replacement: str, text: str) -> str:
    """Put `replacement` for each maximal run of code points of the class."""
    runs = groupby(text, lambda char: is_a(name, char))
    return "".join(replacement if inside else "".join(run) for inside, run in runs)


def tokens(text: bytes, kind: str, options: frozenset[str]) -> list[str]:
    normalised = normalise(text, options)
    return list(normalised) if kind == "char" else words(normalised)


def words(text: str) -> list[str]:
    result: list[str] = []
    inside = False
    for char in text:
        name = classify(ord(char))
        if name in ("SPACE", "OTHER"):
            inside = False
            continue
        starts = not inside or name == "LONE" or (name != "MARK" and is_a("LONE", result[-1][0]))
        if starts:
            result.append(char)
        else:
            result[-1] += char
        inside = True
    return result


def hash_run(run: Sequence[str], kind: str, key: Key = PUBLIC) -> int:
    """The hash of one shingle."""
    if kind == "char":
        return hash_bytes("".join(run).encode(), key=key)
    m = len(run)
    total = sum(hash_bytes(token.encode(), key=key) * key.token ** (m - i) for i, token in enumerate(run, start=1))
    return mix((total + m * G) & MASK)


def shingle_hashes(tokens: Sequence[str], kind: str, k: int, key: Key = PUBLIC) -> list[int]:
    """The hashes of all shingles in the order of the text, repeated ones too."""
    m = min(k, len(tokens))
    return [hash_run(tokens[i : i + m], kind, key) or G for i in range(len(tokens) - m + 1)] if m else []


def bag_elements(hashes: Sequence[int]) -> set[int]:
    """A bag as a set: the j-th further occurrence of x is an element of its own."""
    counts = Counter(hashes)
    return {mix((x + j * G) & MASK) if j else x for x, count in counts.items() for j in range(count)}


def shingles(text: bytes, kind: str, k: int, options: frozenset[str], bag: bool = False, key: Key = PUBLIC) -> set[int]:
    hashes = shingle_hashes(tokens(text, kind, options), kind, k, key)
    return bag_elements(hashes) if bag else set(hashes)
