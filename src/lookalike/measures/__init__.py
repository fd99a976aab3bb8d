"""A measure bundles what the four steps need to know about a similarity; nothing after it knows which one runs.

represent   items → the arrays that stand for them
keys        arrays → b keys an item, of r slots each; a slot agrees with probability p(s) (`theory.families`)
judge       arrays → the rows that candidates are compared on, and how similar two rows are

set_measures.py         Jaccard on sets and shingled text; identity
containment_measure.py  how much of one set is inside another
bag_measures.py         weighted Jaccard and cosine of weighted sets
vector_measures.py      cosine of dense vectors
dot_measure.py          inner products of dense vectors
distance_measures.py    Euclidean, Manhattan and Lr distances of dense vectors
bit_measures.py         Hamming similarity of strings of bits
shingled_texts.py       from texts to shingles, as the recipe wants them
comparable.py           the rows that candidates are compared on, whatever they hold
choose.py               which measure goes with which items
"""

from lookalike.measures.base import Judge, Measure, Represented, compares_elements, is_binary_like, is_list
from lookalike.measures.choose import form_of, forms_for, measure_of
from lookalike.measures.set_measures import Identity, Jaccard

__all__ = [
    "Identity",
    "Jaccard",
    "Judge",
    "Measure",
    "Represented",
    "compares_elements",
    "form_of",
    "forms_for",
    "is_binary_like",
    "is_list",
    "measure_of",
]
