"""What distinguishes measures from one another, and forms of items: one table each, which everybody else asks.

A measure is more than what stands here, and the rest of it is in `measures/`. But what a plan, a pass, a report or an
error must know of it they find out here, not by its name: a new measure is a line of this table, a class in
`measures/`, and the mathematics of its slots in `theory/`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum, auto

from lookalike.errors import OptionError
from lookalike.wording.phrases import did_you_mean

__all__ = [
    "DISTANCES",
    "FIELDS",
    "FORMS",
    "IDENTITY",
    "MEASURES",
    "SEARCHED",
    "SIMILARITIES",
    "AuditKind",
    "Complement",
    "FormTraits",
    "MeasureTraits",
    "PlannedBy",
    "Rounding",
    "Slots",
    "check_measure",
    "form_named",
    "measure_named",
]

# What `exact` looks for is no measure that can be asked for, but stands in the place of one: identical items.
IDENTITY = "identity"
# What rows are compared by column by column, and their form: `compare` asks for both.
FIELDS = "fields"


class Slots(Enum):
    """What a slot of a sketch is, which decides how often those of two items agree (`theory/families.py`)."""

    NONE = auto()  # there is no sketch: nobody knows a family of hash functions, or it would find nothing
    MINHASH = auto()
    FIELD_MINHASH = auto()
    WEIGHTED_MINHASH = auto()
    SIGNS = auto()
    SPARSE_SIGNS = auto()
    SAMPLED_BITS = auto()
    STABLE = auto()

    @property
    def are_bits(self) -> bool:
        """Whether a slot is a single bit: many of them are needed, and they cost little."""
        return self in (Slots.SIGNS, Slots.SPARSE_SIGNS, Slots.SAMPLED_BITS)


class Rounding(Enum):
    """What the rounding of components and weights to float32 may change of a score (`scale.py`)."""

    NOTHING = auto()
    ANGLE = auto()
    DISTANCE = auto()
    QUOTIENT = auto()


class Complement(Enum):
    """What the distance of two items counts that a similarity leaves of 1, for those who ask by distance."""

    NONE = auto()  # nobody speaks of one
    SHARE = auto()  # 1 - similarity
    PARTS = auto()  # the parts of both in which they differ


class PlannedBy(Enum):
    """What bands and rows are chosen by."""

    OPTIONS = auto()  # and by the data where there are very few or very many items
    SAMPLE = auto()  # how alike unrelated items are is not known before
    NOTHING = auto()  # identical items need no bands
    JOIN = auto()  # there are none: an exact join by rare elements finds every pair


class AuditKind(Enum):
    """How sampled items are compared with all others (`certify/`)."""

    NONE = auto()  # nothing can be missed
    INDEX = auto()  # by an index of their elements
    OVERLAP = auto()  # by the elements that they share, each with its weight
    ROWS = auto()  # one by one


@dataclass(frozen=True, slots=True)
class MeasureTraits:
    """One measure.

    Attributes:
        name: as options and results have it.
        forms: the forms of items that it takes.
        slots: what its sketches are made of.
        planned_by: what its plans are made by.
        audit: how its results are audited.
        reluctant: the forms among them that are meant only where there is nothing else, such as a vector by Jaccard.
        order: r of an Lr distance; None for a similarity.
        complement: of a similarity, what a distance counts.
        directed: whether a pair has a direction, the smaller item being inside the larger one.
        rounding: what float32 may change of a score.
        weighs: whether elements have weights, so that those of texts must be weighed.
        least: the lowest similarity that there is.
        boundless: whether there is no largest one: the limit must be said, and of two identical items it is not known.
        literal: whether it can be told from what items are made of, without any hash (`verify="text"`).
        scaled: whether vectors count by their direction alone, and one of zeros therefore not at all.
        searched: whether the nearest items of a query can be searched for.
        component_ns: what a component takes where a pair of vectors is compared among all, in nanoseconds.
    """

    name: str
    forms: tuple[str, ...]
    slots: Slots
    planned_by: PlannedBy
    audit: AuditKind
    reluctant: tuple[str, ...] = ()
    order: float | None = None
    complement: Complement = Complement.NONE
    directed: bool = False
    rounding: Rounding = Rounding.NOTHING
    weighs: bool = False
    least: float = 0.0
    boundless: bool = False
    literal: bool = False
    scaled: bool = False
    searched: bool = False
    component_ns: float = 0.0

    @property
    def is_distance(self) -> bool:
        """Whether smaller is nearer."""
        return self.order is not None

    @property
    def told_as(self) -> str:
        """What a pair has, which is the name of its column in results."""
        return "distance" if self.is_distance else "similarity"


_SETS = ("text", "sets", "columns", "bags")


def _distance(name: str, order: float, component_ns: float, *, searched: bool = False) -> MeasureTraits:
    # Stable distributions exist for orders up to 2; above, no family of hash functions is known.
    slots = Slots.STABLE if order <= 2.0 else Slots.NONE
    return MeasureTraits(
        name, ("vectors",), slots, PlannedBy.SAMPLE, AuditKind.ROWS, order=order, rounding=Rounding.DISTANCE,
        searched=searched, component_ns=component_ns,
    )  # fmt: skip


_COSINE = MeasureTraits(
    "cosine", ("vectors", "bags", "text"), Slots.SIGNS, PlannedBy.SAMPLE, AuditKind.ROWS,
    complement=Complement.SHARE, rounding=Rounding.ANGLE, weighs=True, least=-1.0, scaled=True, searched=True,
    component_ns=0.0046,
)  # fmt: skip

_SIMILARITIES = (
    MeasureTraits(
        "jaccard", _SETS, Slots.MINHASH, PlannedBy.OPTIONS, AuditKind.INDEX, reluctant=("columns", "bags"),
        complement=Complement.SHARE, literal=True,
    ),
    MeasureTraits(
        "weighted-jaccard", ("bags", "text"), Slots.WEIGHTED_MINHASH, PlannedBy.SAMPLE,
        AuditKind.OVERLAP, complement=Complement.SHARE, rounding=Rounding.QUOTIENT, weighs=True,
    ),
    MeasureTraits(
        "containment", _SETS, Slots.NONE, PlannedBy.JOIN, AuditKind.OVERLAP,
        reluctant=("columns", "bags"), directed=True, literal=True,
    ),
    _COSINE,
    # Products depend on lengths, so that no slot agrees more often where they are larger: all pairs are compared.
    MeasureTraits(
        "dot", ("vectors",), Slots.NONE, PlannedBy.SAMPLE, AuditKind.ROWS, rounding=Rounding.QUOTIENT, least=-math.inf,
        boundless=True, searched=True, component_ns=_COSINE.component_ns,
    ),
    MeasureTraits(
        "hamming", ("bits",), Slots.SAMPLED_BITS, PlannedBy.SAMPLE, AuditKind.ROWS, complement=Complement.PARTS
    ),
)  # fmt: skip
_DISTANCES = (
    # Products of bytes; a kernel of its own; and of other orders a power of each component.
    _distance("euclidean", 2.0, 0.0046, searched=True),
    _distance("manhattan", 1.0, 0.05, searched=True),
)
_POWER_NS = 4.2

_EVERY_FORM = ("text", "sets", "columns", "vectors", "bags", "bits")
_IDENTITY = MeasureTraits(IDENTITY, _EVERY_FORM, Slots.NONE, PlannedBy.NOTHING, AuditKind.NONE, literal=True)

_FIELDS = MeasureTraits(
    FIELDS, (FIELDS,), Slots.FIELD_MINHASH, PlannedBy.SAMPLE, AuditKind.OVERLAP, rounding=Rounding.QUOTIENT
)

_TABLE = {each.name: each for each in (*_SIMILARITIES, *_DISTANCES, _FIELDS, _IDENTITY)}
# What is different of items that are elements with weights.
_OF_BAGS = {"cosine": replace(_COSINE, slots=Slots.SPARSE_SIGNS, audit=AuditKind.OVERLAP)}

SIMILARITIES = tuple(each.name for each in _SIMILARITIES)
DISTANCES = tuple(each.name for each in _DISTANCES)
MEASURES = (*SIMILARITIES, *DISTANCES, "lr:R")
# What others call them.
_CALLED = {
    "l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean", "linf": "lr:inf", "chebyshev": "lr:inf",
    "minkowski": "lr:R", "cos": "cosine", "angular": "cosine", "ip": "dot", "inner-product": "dot", "product": "dot",
    "tanimoto": "jaccard", "minhash": "jaccard", "overlap": "containment", "simhash": "cosine", "bits": "hamming",
}  # fmt: skip
# Those by which the nearest items of a query can be searched for.
SEARCHED = tuple(each.name for each in _TABLE.values() if each.searched)


def measure_named(name: str, form: str | None = None) -> MeasureTraits:
    """The measure of this name; for items of a form, where that makes a difference. Any order has a distance, lr:R."""
    if form is not None and name in _OF_BAGS and not form_named(form).has_dimensions:
        return _OF_BAGS[name]
    found = _TABLE.get(name)
    if found is None:
        order = _order(name)
        found = _distance(name, order, _POWER_NS)
    return found


def check_measure(name: str) -> str:
    """The name of a measure as it is used inside; `_` may stand for `-`."""
    plain = name.strip().lower().replace("_", "-")
    if plain in SIMILARITIES or plain in DISTANCES:
        return plain
    order = _order(name, plain)
    return next((known.name for known in _DISTANCES if known.order == order), f"lr:{order:g}")


def _order(name: str, plain: str | None = None) -> float:
    """R of a distance that is named as lr:R."""
    plain = name if plain is None else plain
    if not plain.startswith("lr:"):
        near = did_you_mean(plain, (*MEASURES, "lr:inf"), _CALLED)
        raise OptionError(f"measure is {name!r}: it must be one of {', '.join(MEASURES)}{near}")
    try:
        order = float(plain[3:])
    except ValueError:
        order = math.nan
    if not order >= 1.0:
        raise OptionError(f"measure is {name!r}: the order of a distance must be 1 or more, for example lr:3")
    return order


@dataclass(frozen=True, slots=True)
class FormTraits:
    """One form of items.

    Attributes:
        name: what the items are called together.
        words: what one of them must be, in an error.
        measure: the measure that they have where none is asked for.
        has_dimensions: whether all items have the same number of parts.
        part: what those are called, one of them.
        part_bits: how many bits of a value of bytes are one of them.
        noun: what an item is called.
        compared_as: what they are compared as; of texts, which have shingles, nothing.
        rows_of: the same in front of the number of parts: strings of 256 bits.
        has_elements: whether an item is a set of elements, so that it may have none.
        has_weights: whether its elements have weights.
        literal: whether it can be compared by what it is made of, without any hash.
        dense: whether nearly every item shares a bucket with another, since it is made of numbers that all have.
    """

    name: str
    words: str
    measure: str
    has_dimensions: bool = False
    part: str = ""
    part_bits: int = 1
    noun: str = "item"
    compared_as: str = ""
    rows_of: str = ""
    has_elements: bool = False
    has_weights: bool = False
    literal: bool = False
    dense: bool = False

    @property
    def is_text(self) -> bool:
        return self.name == "text"


_FORMS = {
    each.name: each
    for each in (
        FormTraits("text", "text", "jaccard", has_elements=True, literal=True),
        FormTraits("sets", "a list of elements", "jaccard", compared_as="sets", has_elements=True, literal=True),
        FormTraits(
            "columns", "a row of 0 and 1", "jaccard", has_dimensions=True, part="column", compared_as="sets",
            rows_of="sets", has_elements=True,
        ),
        FormTraits(
            "vectors", "a list of numbers", "cosine", has_dimensions=True, part="component", part_bits=32,
            noun="vector", compared_as="vectors", rows_of="vectors", dense=True,
        ),
        FormTraits("bags", "a list of elements with weights", "weighted-jaccard", compared_as="bags", has_weights=True),
        FormTraits(
            "bits", "bits", "hamming", has_dimensions=True, part="bit", compared_as="bits", rows_of="strings",
            dense=True,
        ),
        FormTraits(FIELDS, "several columns", FIELDS, noun="row", compared_as="columns", has_elements=True),
    )
}  # fmt: skip
FORMS = tuple(_FORMS)


def form_named(name: str) -> FormTraits:
    """The form of this name."""
    return _FORMS[name]
