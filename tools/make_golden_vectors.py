"""Write `tests/golden/vectors.json`: what the slow twins say, frozen, so that nothing drifts.

Run it in the repository's root:

    python -m tools.make_golden_vectors

Numbers are hexadecimal: 16 digits for 64 bits, 8 for a min-hash slot. `keys` has the words of the key of each seed,
and `under_seed_1` what that key makes of the same strings; everything else is of the seed 0. A text that is not UTF-8
is given as `hex`. For each text `normalised` has the text under each set of options. `sets` has, for each set of
options and each shingle, how many elements there are, a colon, and both halves of the fingerprint, which commits to
all of them. `default` has more, with the options that the kind of shingle has by default: the `elements`, sorted,
where they are few; the `slots` of K = 16 for the seeds 0 and 1; and the band `keys` of the first for b = 4, r = 4.
`bands` has the keys of other b and r for given slots. `bags` has weighted sets, element and the bits of its float32
weight, with their fingerprint, the `slots` of K = 16 darts for the seeds 0 and 1, and of two blocks of 1,024 sign
bits (seed 0) the first 128, every second weight by element being negative there. `vectors` has both halves of the
fingerprints of vectors.

The texts keep to Unicode 14, so that every supported Python writes the same file.
"""

from __future__ import annotations

import json
import struct
import unicodedata
from collections.abc import Set
from pathlib import Path
from typing import Any

from lookalike.twin import hashing
from lookalike.twin import text as twin
from tests.reference import vectors as sparse
from tests.reference import weighted
from tests.reference.vectors import vector_fingerprint

OUTPUT = Path(__file__).resolve().parents[1] / "tests" / "golden" / "vectors.json"

SPEC_VERSION = 2
KEY_SEEDS = (0, 1, 2**64, 2**128 - 1)
PLAIN = b"Seven grey herons stood in the shallow water"
K, SEEDS, B, R = 16, (0, 1), 4, 4
BANDS = [(16, 1), (8, 2), (5, 3), (3, 5), (2, 8)]
FEW = 6

SHINGLES = ["word:1", "word:3", "word:5", "char:5", "char:9", "word:1:bag"]
DEFAULTS = {"word": "lower", "char": "lower whitespace"}
OPTION_SETS = ["", "lower accents", "lower whitespace", "lower accents digits punctuation whitespace"]

TEXTS: dict[str, str | bytes] = {
    "empty": "",
    "one space": " ",
    "spaces of all kinds": "\t\u00a0\u2003 \u3000\r\n\u0085",
    "one letter": "Q",
    "one word": "lookalike",
    "plain": "Seven grey herons stood in the shallow water",
    "plain, shouted": "SEVEN GREY HERONS STOOD IN THE SHALLOW WATER",
    "plain, spaced": "  Seven   grey herons\tstood in\nthe shallow\u00a0water ",
    "plain, marked": "Seven (grey) herons stood -- in the shallow water!",
    "repeats": "tick tock tick tock tick tock tick",
    "apostrophe": "Don't stop, won't stop",
    "punctuation only": "?!... --- ;;; \u00ab\u00bb",
    "digits": "Invoice 2024-0117: 12,50 EUR, item x42",
    "digits of other scripts": "\u0663\u0664 and \u096a\u096b and \uff11\uff12",
    "underscores": "snake_case_name and __init__",
    "controls": "a\u0000b\u0001c\u007fd",
    "nul at the end of a lane": "seven\u0000\u0000\u0000",
    "eight bytes": "eightbyt",
    "long word": "donaudampfschifffahrtsgesellschaft " * 3,
    "German": "Die Straße ist groß, weiß Fußgänger Jörg",
    "German, shouted": "DIE STRASSE IST GROẞ, WEISS FUSSGÄNGER JÖRG",
    "Turkish": "İstanbul ISPARTA ılık iğde",
    "Greek sigmas": "ΟΔΥΣΣΕΥΣ ὁδός Σίσυφος ᾳ ᾼ ῷ",
    "composed": "\u00e9l\u00e8ve na\u00efve \u00c5ngstr\u00f6m",
    "decomposed": "e\u0301le\u0300ve nai\u0308ve A\u030angstro\u0308m",
    "singletons": "\u212bngstr\u00f6m 10 k\u2126 \u212a",
    "marks out of order": "q\u0307\u0323 q\u0323\u0307 \u01d6\u0323",
    "Vietnamese": "Tiếng Việt có sáu thanh điệu, đường phố",
    "Vietnamese, decomposed": unicodedata.normalize("NFD", "Tiếng Việt có sáu thanh điệu, đường phố"),
    "Hindi with nukta": "\u0915\u093c\u0932\u092e \u095b\u092e\u0940\u0928 \u0915\u094d\u092f\u093e",
    "Hangul syllables": "한국어 문장은 띄어 쓴다",
    "Hangul jamo": unicodedata.normalize("NFD", "한국어 문장은 띄어 쓴다"),
    "Thai": "\u0e19\u0e49\u0e33\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48\u0e43\u0e2a 100 \u0e25\u0e34\u0e15\u0e23",
    "Chinese and Latin": "我用Python3写代码，很快。",
    "Japanese": "カタカナとひらがな、漢字も。か\u3099 ｶﾞ ー",
    "emoji": "ok \U0001f469\u200d\U0001f4bb\ufe0f \u2764\ufe0f done \U0001f1e9\U0001f1ea",
    "Arabic, harakat": "\u0643\u064e\u062a\u064e\u0628\u064e \u0627\u0644\u0648\u064e\u0644\u064e\u062f",
    "Arabic without": "\u0643\u062a\u0628 \u0627\u0644\u0648\u0644\u062f",
    "Hebrew with points": "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd \u05dc\u05b8\u05da \ufb2a",
    "zero width": "se\u200bven g\u2060rey her\ufeffons",
    "soft hyphen": "shal\u00adlow wa\u00adter\u034f",
    "ligatures": "ﬁne oﬃce ŉ ǰ ⓐⒷ ＡＢ",
    "Tibetan": "\u0f40\u0f73 \u0f43\u0f71\u0f72 \u0f40\u0f71\u0f72",
    "a mark alone": "\u0301 \u0e48x \u4e2d\u0301a",
    "invalid: lone bytes": b"caf\xe9 \xff\xfe ol\xc3",
    "invalid: cut sequences": b"\xe4\xb8 \xf0\x9f\x98 \xc3(\xe2\x82",
    "invalid: surrogates, overlong": b"\xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80 x",
}

INTEGERS = [0, 1, 2, 255, 2**31, 2**32 - 1, 2**63 - 1, -1, -2, -(2**63)]
STRINGS = [b"", b"\0", b"a", b"seven", b"eightbyt", b"nine byte", b"sixteen bytes...", b"seventeen bytes..",
           bytes(range(64)), b"\xff" * 24]  # fmt: skip

VECTORS: list[list[float]] = [[0.0], [-0.0], [1.0, -2.5], [0.1, 0.2, 0.3], [1e-45, 3e38, -1.0, 0.0, 7.0]]


def both(halves: tuple[int, int]) -> str:
    return "".join(map(hex64, halves))


BAGS: dict[str, dict[int, float]] = {
    "one element": {7: 1.0},
    "weights from 2^-20 to 2^20": {1: 0.5, 2**63: 3.25, 0xDEADBEEF: 2.0**-20, 2**64 - 1: 2.0**20, 12345: 1.5 * 2.0**19},
    "counts": {hashing.hash_int(i): float(i + 1) for i in range(20)},
}


def hex64(value: int) -> str:
    return f"{value:016x}"


def options_of(names: str) -> frozenset[str]:
    return frozenset(names.split())


def elements_of(raw: bytes, shingle: str, names: str) -> set[int]:
    kind, k, *bag = shingle.split(":")
    return twin.shingles(raw, kind, int(k), options_of(names), bag=bool(bag))


def summary(elements: Set[int], raw: bytes) -> str:
    return f"{len(elements)}:{''.join(map(hex64, hashing.fingerprint(elements, raw)))}"


def detail(elements: Set[int], raw: bytes) -> dict[str, Any]:
    result: dict[str, Any] = {"summary": summary(elements, raw)}
    if len(elements) <= FEW:
        result["elements"] = " ".join(map(hex64, sorted(elements)))
    if elements:
        slots = [hashing.signature(elements, K, seed) for seed in SEEDS]
        result["slots"] = ["".join(f"{slot:08x}" for slot in of_seed) for of_seed in slots]
        result["keys"] = " ".join(map(hex64, hashing.band_keys(slots[0], B, R)))
    return result


def band_vectors() -> list[dict[str, Any]]:
    slots = [hashing.hash_int(i) >> 32 for i in range(K)]
    return [
        {
            "b": b,
            "r": r,
            "slots": "".join(f"{slot:08x}" for slot in slots[: b * r]),
            "keys": " ".join(map(hex64, hashing.band_keys(slots, b, r))),
        }
        for b, r in BANDS
    ]


def bag_vectors(name: str, bag: dict[int, float]) -> dict[str, Any]:
    signed = {x: -bag[x] if i % 2 else bag[x] for i, x in enumerate(sorted(bag))}
    blocks = sparse.sparse_signs(signed, 2, 1024, 0)
    return {
        "name": name,
        "bag": {hex64(x): struct.pack(">f", w).hex() for x, w in bag.items()},
        "fingerprint": "".join(map(hex64, weighted.weighted_fingerprint(bag))),
        "slots": ["".join(f"{slot:08x}" for slot in weighted.dart_signature(bag, K, seed)) for seed in SEEDS],
        "signs": ["".join(map(str, block[:128])) for block in blocks],
    }


def default_options(shingle: str) -> str:
    return DEFAULTS[shingle.split(":")[0]]


def text_vectors(name: str, text: str | bytes) -> dict[str, Any]:
    raw = text.encode() if isinstance(text, str) else text
    return {
        "name": name,
        **({"text": text} if isinstance(text, str) else {"hex": raw.hex()}),
        "normalised": {names: twin.normalise(raw, options_of(names)) for names in OPTION_SETS},
        "sets": {
            names: {shingle: summary(elements_of(raw, shingle, names), raw) for shingle in SHINGLES}
            for names in OPTION_SETS
        },
        "default": {shingle: detail(elements_of(raw, shingle, default_options(shingle)), raw) for shingle in SHINGLES},
    }


def vectors() -> dict[str, Any]:
    return {
        "spec_version": SPEC_VERSION,
        "keys": {str(seed): " ".join(map(hex64, hashing.key_of(seed))) for seed in KEY_SEEDS},
        "hash_int": {str(value): hex64(hashing.hash_int(value)) for value in INTEGERS},
        "hash_bytes": {data.hex(): hex64(hashing.hash_bytes(data)) for data in STRINGS},
        "hash_bytes_from_c1": {data.hex(): hex64(hashing.hash_bytes(data, hashing.C1)) for data in STRINGS},
        "under_seed_1": under_another_key(),
        "bands": band_vectors(),
        "bags": [bag_vectors(name, bag) for name, bag in BAGS.items()],
        "vectors": [{"vector": vector, "fingerprint": both(vector_fingerprint(vector))} for vector in VECTORS],
        "defaults": DEFAULTS,
        "texts": [text_vectors(name, text) for name, text in TEXTS.items()],
    }


def under_another_key() -> dict[str, Any]:
    key = hashing.key_of(1)
    return {
        "hash_int": {str(value): hex64(hashing.hash_int(value, key)) for value in INTEGERS},
        "hash_bytes": {data.hex(): hex64(hashing.hash_bytes(data, key=key)) for data in STRINGS},
        "shingles": {
            shingle: " ".join(
                map(hex64, sorted(twin.shingles(PLAIN, shingle[:4], int(shingle[5:]), options_of("lower"), key=key)))
            )
            for shingle in ("word:1", "word:5", "char:9")
        },
    }


def as_json(content: dict[str, Any]) -> str:
    """One line per text, so that a difference shows where it is and the file stays small."""
    head = json.dumps({key: value for key, value in content.items() if key != "texts"}, indent=1)
    texts = ",\n".join(json.dumps(text, separators=(",", ":")) for text in content["texts"])
    return f'{head[:-2]},\n "texts": [\n{texts}\n ]\n}}\n'


def main() -> None:
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(as_json(vectors()), encoding="ascii", newline="\n")
    print(f"{OUTPUT.name}: {len(TEXTS)} texts, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
