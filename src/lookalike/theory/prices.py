"""What each step of a run costs, by measure: the planner's price list.

Fixed numbers and no timings, so that a plan depends on nothing but its options. The ratios matter, not the absolutes.
"""

import math
from dataclasses import dataclass

from lookalike.measure_table import Slots, measure_named

__all__ = ["BAND_NS", "JOIN_NS", "REREAD_NS", "SKETCH_NS", "VERIFY_NS", "Prices", "prices_of"]

# Nanoseconds of one core (2 cores, AVX2, prototype of the kernels).
SKETCH_NS = 0.04  # per shingle and slot: min-hash of K = 128 slots took 0.038
BAND_NS = 40.0  # per band and item: grouping 1M items x 16 bands took 0.3 to 0.6 s, and the key is computed
VERIFY_NS = 1_000.0  # per candidate: exact similarity of two sets of hundreds of shingles, read from memory
REREAD_NS = 25.0  # per shingle of an item that has a candidate: reading and shingling it again, and sorting its set

PAIR_NS = 40.0  # per pair of sets where all are compared,
PAIR_ELEMENT_NS = 0.5  # and per element of one of them
JOIN_NS = 100.0  # per shingle where all items are joined: counting it, marking and writing entries, grouping them


@dataclass(frozen=True)
class Prices:
    """What each step costs, in nanoseconds of one core."""

    slot: float  # per slot and item
    band: float  # per band and item
    verify: float  # per candidate
    again: float  # per item that has a candidate, to read it again
    pair: float | None = None  # per pair, where all are compared; None where that is never done
    at_once: int = 1  # slots that are made together, whether all of them are wanted or not
    apart: int = 1  # of these, how many lie between two of the same band at least


def prices_of(measure: str, size: float, *, sparse: bool = False) -> Prices:
    """The prices of a measure for items of so many elements or components (2 cores, AVX-512; ratios matter)."""
    traits = measure_named(measure, "bags" if sparse else None)
    if traits.slots is Slots.SPARSE_SIGNS:
        # Features are scattered over 1,024 places, which are then rotated; a candidate is a merge of two bags.
        return Prices(
            slot=6.0 + size / 500.0,
            band=BAND_NS,
            verify=50.0 + 5.0 * size,
            again=4.0 * REREAD_NS * size,
            pair=50.0 + 5.0 * size,
            at_once=1024,
            apart=128,
        )
    if traits.slots is Slots.SIGNS:
        # A bit by structured rotation; a candidate by its signature; a pair by a matrix product.
        width = max(128, 1 << (math.ceil(size) - 1).bit_length())
        pair = 0.15 + traits.component_ns * size
        return Prices(
            slot=5.0, band=BAND_NS, verify=12.0, again=3_000.0 + 2.0 * size, pair=pair, at_once=width, apart=128
        )
    if traits.slots is Slots.SAMPLED_BITS:
        return Prices(slot=1.0, band=BAND_NS, verify=20.0, again=100.0, pair=12.0 + size / 256.0)
    if traits.is_distance or traits.boundless:
        component = traits.component_ns
        verify = 20.0 + max(0.3, component) * size
        return Prices(2.0 + 0.045 * size, BAND_NS, verify=verify, again=2.0 * size, pair=0.15 + component * size)
    if traits.slots is Slots.WEIGHTED_MINHASH:
        pair = 50.0 + 5.0 * size
        return Prices(slot=100.0 + size / 10.0, band=BAND_NS, verify=pair, again=4.0 * REREAD_NS * size, pair=pair)
    # All pairs of sets are joined by their rare elements, which is less than this wherever most pairs share none.
    pair = PAIR_NS + PAIR_ELEMENT_NS * size
    return Prices(slot=SKETCH_NS * size, band=BAND_NS, verify=VERIFY_NS, again=REREAD_NS * size, pair=pair)
