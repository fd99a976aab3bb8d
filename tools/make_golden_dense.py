"""Write `tests/golden/dense.json`: sign bits, stable slots and sampled bits as the slow twins have them, frozen.

Run it in the repository's root:

    python -m tools.make_golden_dense

Component i of vector v is (drawn(1000·v + i) >> 40)/2²³ - 1, which a float32 holds exactly. Numbers are hexadecimal:
16 digits for 64 bits, 8 for a slot or for the bits of a float32. `signs` has the words of two blocks of each vector;
`stable` the first components of the first directions, the starts (as Python writes a float in hexadecimal) and the
slots; `sampled` the positions and keys of the strings whose word k is drawn(k).
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.twin import hashing
from tests.reference import bits, vectors

OUTPUT = Path(__file__).resolve().parents[1] / "tests" / "golden" / "dense.json"

SEEDS = (0, 1, 2**64 - 1)
DIMENSIONS = (3, 130)
ORDERS = (1.0, 1.25, 1.5, 2.0)
SLOTS, WIDTH = 12, 0.75
SAMPLES = [(64, 3, 5), (100, 2, 70), (512, 4, 24)]


def drawn(number: int) -> int:
    """64 bits that look random."""
    return hashing.mix((number + hashing.G) & hashing.MASK)


def vector(number: int, dimensions: int) -> list[float]:
    return [(drawn(1000 * number + i) >> 40) / 2**23 - 1 for i in range(dimensions)]


def hex64(value: int) -> str:
    return f"{value:016x}"


def float_bits(value: float) -> str:
    return struct.pack(">f", value).hex()


def signs(dimensions: int, seed: int) -> str:
    width = 128
    while width < dimensions:
        width *= 2
    found = vectors.rotated_signs(vector(1, dimensions), 2, width, seed)
    words = [
        sum(bit << j for j, bit in enumerate(block[at : at + 64])) for block in found for at in range(0, width, 64)
    ]
    return " ".join(map(hex64, words))


def stable(dimensions: int, order: float, seed: int) -> dict[str, Any]:
    directions = [
        [float(np.float32(vectors.stable_draw(i, j, order, seed))) for i in range(dimensions)] for j in range(SLOTS)
    ]
    starts = [vectors.stable_start(j, seed) for j in range(SLOTS)]
    slots = [vectors.stable_slot(vector(2, dimensions), a, u, WIDTH) for a, u in zip(directions, starts, strict=True)]
    return {
        "dimensions": dimensions,
        "order": order,
        "seed": hex64(seed),
        "directions": [" ".join(map(float_bits, direction[:3])) for direction in directions[:3]],
        "starts": [u.hex() for u in starts[:3]],
        "slots": "".join(f"{slot:08x}" for slot in slots),
    }


def sampled(size: int, bands: int, rows: int, seed: int) -> dict[str, Any]:
    string = bits.as_integer([drawn(k) for k in range(-(-size // 64))]) % 2**size
    places = bits.positions(size, bands, rows, seed)
    return {
        "bits": size,
        "rows": rows,
        "seed": hex64(seed),
        "positions": places[0],
        "keys": " ".join(hex64(bits.sampled_key(string, t, places[t])) for t in range(bands)),
    }


def contents() -> dict[str, Any]:
    return {
        "spec_version": 2,
        "width": WIDTH,
        "signs": [
            {"dimensions": d, "seed": hex64(seed), "words": signs(d, seed)} for d in DIMENSIONS for seed in SEEDS
        ],
        "stable": [stable(d, order, seed) for d in DIMENSIONS for order in ORDERS for seed in SEEDS],
        "sampled": [sampled(*sample, seed) for sample in SAMPLES for seed in SEEDS],
    }


def as_json(content: dict[str, Any]) -> str:
    """One line for each case, so that a difference shows where it is."""
    lists = {key: value for key, value in content.items() if isinstance(value, list)}
    head = json.dumps({key: value for key, value in content.items() if key not in lists}, indent=1)[:-2]
    for key, cases in lists.items():
        head += f',\n "{key}": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n ]"
    return head + "\n}\n"


def main() -> None:
    OUTPUT.write_text(as_json(contents()), encoding="ascii", newline="\n")
    print(f"{OUTPUT.name}: {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
