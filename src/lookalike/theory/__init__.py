"""The mathematics of finding similar items: hash families, the S-curve, the planner and its pictures.

    families  chance that one slot agrees       p(s)
    curve     chance that a pair is a candidate 1 - (1 - p^r)^b, and its errors
    planner   the cheapest b and r for a recall
    draw      the curve in a terminal, or as SVG
    course    what the lectures compute by hand

Only NumPy is needed, and nothing here touches data. Example: `print(plan(0.8, 0.99))`.
"""

from lookalike.theory.course import (
    bit_matrix,
    bits_jaccard,
    char_shingle_bag,
    char_shingles,
    column_similarity,
    hamming_to_cosine,
    minhash_of_order,
    minhash_of_permutations,
    minhash_row_indexes,
    projection_cost,
    set_jaccard,
    signature_bytes,
    signature_similarity,
    universal_hash,
)
from lookalike.theory.curve import (
    band_probability,
    candidate_probability,
    drawn_probability,
    expected_recall,
    false_negatives,
    false_positives,
    missed_probability,
    steepest,
)
from lookalike.theory.draw import coloured_curve, svg, terminal_curve
from lookalike.theory.families import FAMILIES, Stable, slot_probability
from lookalike.theory.planner import Alternative, Cost, Plan, plan, prior

__all__ = [
    "FAMILIES",
    "Alternative",
    "Cost",
    "Plan",
    "Stable",
    "band_probability",
    "bit_matrix",
    "bits_jaccard",
    "candidate_probability",
    "char_shingle_bag",
    "char_shingles",
    "coloured_curve",
    "column_similarity",
    "drawn_probability",
    "expected_recall",
    "false_negatives",
    "false_positives",
    "hamming_to_cosine",
    "minhash_of_order",
    "minhash_of_permutations",
    "minhash_row_indexes",
    "missed_probability",
    "plan",
    "prior",
    "projection_cost",
    "set_jaccard",
    "signature_bytes",
    "signature_similarity",
    "slot_probability",
    "steepest",
    "svg",
    "terminal_curve",
    "universal_hash",
]
