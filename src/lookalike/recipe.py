"""A recipe: all that decides the bits of fingerprints and keys, apart from the items themselves.

    options, form of the items, plan ── recipe_of ──▶ Recipe ──┬── make_items(rows, recipe)
                                                               └── sketch_batch(values, groups, recipe)

Whoever has a recipe makes the same bits of the same items: another thread, another process, another machine, next year.
Equal recipes give equal bits, and where two are not equal, their sketches must not be compared. What does not decide
bits is no part of it: names of columns, the threshold, how candidates are verified, memory and threads.

Two things are named in its JSON and must be handed over beside it. A long seed is a secret (`key.py`) and stands there
as a mark by which it is recognised; a pickle, which goes from process to process, does carry it. And a function that
cuts text into tokens stands there by its name, since a file must not say which code is run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from lookalike.compared_fields import WHOLE, ComparedField
from lookalike.config import UNITS, WEIGHTS, Config
from lookalike.errors import InputError, OptionError
from lookalike.key import MOST_SEED, seed_shown
from lookalike.measure_table import FIELDS, IDENTITY, MeasureTraits, form_named, measure_named
from lookalike.shingle import NORMALIZATIONS, Shingle
from lookalike.spec import VERSION
from lookalike.theory import Plan

__all__ = ["Recipe", "Tokens", "function_name", "recipe_of"]

Tokens = Callable[[str], Iterable[str]]


@dataclass(frozen=True, slots=True, repr=False)
class Recipe:
    """How items become fingerprints and keys. What an item of this form has no use for has its default here.

    Attributes:
        measure: its name; "identity" where only identical items are looked for.
        form: what the items are, see `measure_table.FORMS`.
        dimensions: how many components a vector has, or bits, or columns.
        unit: whether a text is one item, or each of its paragraphs or lines.
        shingle: how text becomes a set; None for texts that are compared by their bytes.
        compared: what of each column is compared, where rows are compared column by column.
        html: whether the main text of a page is taken instead of all of it.
        max_share: shingles that stand in a larger share of the documents are left out.
        weights: how much a shingle counts.
        frequencies: the mark of the document counts that the last two need (`Frequencies.mark`), where it is known.
        seed: of all hashes.
        grouped: whether items have groups, of which only the same are compared.
        bands, rows: the shape of the keys; 0 and 0 for none.
        width: the length of the intervals of a stable projection.
        spec: the version of the hash specification.
    """

    measure: str
    form: str = "text"
    dimensions: int | None = None
    unit: str = "document"
    shingle: Shingle | None = None
    compared: tuple[ComparedField, ...] = ()
    html: bool = False
    max_share: float | None = None
    weights: str | None = None
    frequencies: str | None = None
    seed: int = 0
    grouped: bool = False
    bands: int = 0
    rows: int = 0
    width: float | None = None
    spec: int = VERSION

    def __post_init__(self) -> None:
        measure = measure_named(self.measure)
        self._check("form", self.form in measure.forms, f"one of {', '.join(measure.forms)} for {self.measure}")
        self._check("dimensions", self.dimensions is None or self.dimensions >= 0, "0 or more, or none")
        self._check("unit", self.unit in UNITS, f"one of {', '.join(UNITS)}")
        text, cut, weighed = form_named(self.form).is_text, self.shingle is not None, self.weights is not None
        whole = text and self.measure == IDENTITY
        self._check("shingle", whole or cut == text, "there for text, and for nothing else")
        self._check("compared", bool(self.compared) == (self.form == FIELDS), "there for rows, and for nothing else")
        self._check("weights", weighed == (text and measure.weighs), "there for text that is weighed, and else none")
        self._check("max_share", self.max_share is None or 0.0 < self.max_share < 1.0, "above 0 and below 1, or none")
        self._check("weights", self.weights in (None, *WEIGHTS), f"one of {', '.join(WEIGHTS)}, or none")
        # Not with its value, which may be a secret.
        if not 0 <= self.seed <= MOST_SEED:
            raise OptionError("recipe: the seed must be a whole number from 0 to 2^128 - 1")
        self._check("bands", self.bands >= 0, "0 or more")
        self._check("rows", (self.rows > 0) == (self.bands > 0) and self.rows >= 0, "above 0, or 0 without bands")
        self._check("width", self.width is None or self.width > 0.0, "above 0, or none")
        self._check("spec", self.spec == VERSION, f"{VERSION}, the version of the hash specification here")

    def _check(self, name: str, sound: bool, allowed: str) -> None:
        if not sound:
            raise OptionError(f"recipe: {name} is {getattr(self, name)!r}: it must be {allowed}")

    @property
    def traits(self) -> MeasureTraits:
        """What distinguishes the measure from others, for items of this form."""
        return measure_named(self.measure, self.form)

    @property
    def needs_frequencies(self) -> bool:
        """Whether it takes the number of documents that have each shingle to make these bits."""
        return self.weights not in (None, "count") or self.max_share is not None

    def planned(self, plan: Plan | None) -> Recipe:
        """The same with the bands, rows and width of a plan."""
        if plan is None or not plan.bands:
            return replace(self, bands=0, rows=0, width=None)
        return replace(self, bands=plan.bands, rows=plan.rows, width=plan.width)

    def to_json(self) -> str:
        """One line of JSON, without a secret seed and without code."""
        shingle = self.shingle
        told = {each.name: getattr(self, each.name) for each in fields(self)} | {"seed": seed_shown(self.seed)}
        told["shingle"] = None if shingle is None else _shingle_told(shingle)
        told["compared"] = [
            {"shingle": None if each.shingle is None else _shingle_told(each.shingle), "weight": each.weight}
            for each in self.compared
        ]
        return json.dumps({"spec": self.spec} | told)

    @classmethod
    def from_json(cls, text: str, *, seed: int | None = None, tokens: Tokens | None = None) -> Self:
        """The recipe that `to_json` wrote; with its secret seed and its function for tokens, where it has them."""
        try:
            told = json.loads(text)
        except ValueError as error:
            raise InputError(f"the recipe is not JSON: {error}") from error
        if not isinstance(told, dict):
            raise InputError(f"the recipe is {type(told).__name__} in JSON: an object is needed")
        if told.get("spec") != VERSION:
            raise InputError(
                f"the recipe is of version {told.get('spec')} of the hash specification, and this is version {VERSION}:"
                " build it again"
            )
        _check_fields("recipe", told, _TYPES)
        told["seed"] = _seed(told["seed"], seed)
        told["shingle"] = _shingle(told["shingle"], tokens)
        told["compared"] = tuple(_compared_field(each) for each in told["compared"])
        try:
            return cls(**told)
        except OptionError as error:
            raise InputError(str(error)) from error

    def __repr__(self) -> str:
        parts = [f"{self.measure} of {self.form}"]
        parts += [f"{self.dimensions} {form_named(self.form).part}s"] if self.dimensions is not None else []
        if self.shingle is not None:
            whole = self.shingle.k == WHOLE
            parts.append(" ".join(["whole text" if whole else str(self.shingle), *sorted(self.shingle.normalize)]))
            parts += [f"tokens {function_name(self.shingle.tokens)}"] if self.shingle.tokens is not None else []
        parts += [", ".join(map(str, self.compared))] if self.compared else []
        usual = {"unit": "document", "html": False, "max_share": None, "weights": None, "frequencies": None}
        parts += [f"{name} {getattr(self, name)}" for name, its in usual.items() if getattr(self, name) != its]
        parts += ["grouped"] if self.grouped else []
        parts += [f"{self.bands} bands of {self.rows} rows"] if self.bands else ["no bands"]
        parts += [f"width {self.width:g}"] if self.width is not None else []
        return f"Recipe({', '.join(parts)}, seed {seed_shown(self.seed)}, hash specification {self.spec})"


def recipe_of(config: Config, form: str, dimensions: int | None = None, plan: Plan | None = None) -> Recipe:
    """The recipe that the options give for items of this form."""
    measure = IDENTITY if config.exact else config.measure or form_named(form).measure
    text = form_named(form).is_text
    shingle = (_whole_text(config) if config.exact else config.shingle) if text else None
    recipe = Recipe(
        measure,
        form,
        dimensions,
        # What spans are cut out of is a document.
        config.unit if config.span is None else "document",
        shingle,
        config.compared,
        html=text and config.html,
        max_share=config.max_share if text else None,
        weights=(config.weights or WEIGHTS[0]) if text and measure_named(measure).weighs else None,
        seed=config.seed,
        grouped=config.group_by is not None,
    )
    return recipe.planned(plan)


def _whole_text(config: Config) -> Shingle | None:
    """What makes texts identical: a shingle longer than any, the whole normalised text; None for their bytes.

    Punctuation becomes white space, which must not tell "a, b" and "a b" apart.
    """
    if not config.exact_normalized:
        return None
    normalize = config.shingle.normalize
    return Shingle("char", WHOLE, False, normalize | ({"whitespace"} if "punctuation" in normalize else set()))


_SHINGLE_TYPES: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "k": (int,),
    "bag": (bool,),
    "normalize": (list,),
    "tokens": (str, type(None)),
}
_TYPES: dict[str, tuple[type, ...]] = {
    "measure": (str,),
    "form": (str,),
    "dimensions": (int, type(None)),
    "unit": (str,),
    "shingle": (dict, type(None)),
    "compared": (list,),
    "html": (bool,),
    "max_share": (float, type(None)),
    "weights": (str, type(None)),
    "frequencies": (str, type(None)),
    "seed": (int, str),
    "grouped": (bool,),
    "bands": (int,),
    "rows": (int,),
    "width": (float, int, type(None)),
    "spec": (int,),
}


_COMPARED_TYPES: dict[str, tuple[type, ...]] = {"shingle": (dict, type(None)), "weight": (float, int)}


def _shingle_told(shingle: Shingle) -> dict[str, Any]:
    """A shingle in JSON."""
    return asdict(replace(shingle, tokens=None)) | {
        "normalize": sorted(shingle.normalize),
        "tokens": function_name(shingle.tokens),
    }


def _compared_field(told: Any) -> ComparedField:
    """What of a column is compared, as JSON tells it."""
    if not isinstance(told, dict):
        raise InputError(f"the recipe compares {told!r}: an object is needed")
    _check_fields("column of the recipe", told, _COMPARED_TYPES)
    return ComparedField(_shingle(told["shingle"], None), float(told["weight"]))


def _check_fields(what: str, told: Mapping[str, Any], types: Mapping[str, tuple[type, ...]]) -> None:
    """Refuse what has other fields than these, or one of another type: bits would be decided by something else."""
    for name, value in told.items():
        if name not in types:
            raise InputError(f"the {what} has a field {name!r}, which this version does not know: a newer one wrote it")
        if type(value) not in types[name]:
            raise InputError(f"the {what} has {value!r} for {name!r}, which is {type(value).__name__} there")
    for name in types:
        if name not in told:
            raise InputError(f"the {what} has no field {name!r}: it is not whole")


def _seed(told: int | str, given: int | None) -> int:
    """The seed that is told, or the one that was given where it is a secret."""
    if given is not None and seed_shown(given) != told:
        raise InputError("the seed is not that of the recipe: what was made with one cannot be compared with the other")
    if given is not None:
        return given
    if isinstance(told, str):
        raise InputError("the recipe was made with a secret seed, which no file tells: give it with seed")
    return told


def _shingle(told: dict[str, Any] | None, tokens: Tokens | None) -> Shingle | None:
    """The shingle that is told, with the function for tokens that was given."""
    if told is not None:
        _check_fields("shingle of the recipe", told, _SHINGLE_TYPES)
    named = None if told is None else told["tokens"]
    if function_name(tokens) != named:
        wanted = "has no function for tokens" if named is None else f"was made with the function {named} for tokens"
        raise InputError(f"the recipe {wanted}, and what was given is {function_name(tokens) or 'none'}: see tokens")
    if named is not None and "<" in named:
        raise InputError(f"the recipe was made with {named} for tokens: only a function with a name can be told again")
    if told is None:
        return None
    normalize = frozenset(told["normalize"])
    if told["kind"] not in ("word", "char") or told["k"] < 1 or not normalize <= set(NORMALIZATIONS):
        raise InputError(f"the shingle of the recipe is not known here: {told['kind']}:{told['k']} {sorted(normalize)}")
    return Shingle(told["kind"], told["k"], told["bag"], normalize, tokens)


def function_name(function: Callable[..., Any] | None) -> str | None:
    """What tells a function from another one where it is not at hand: its module and its name."""
    if function is None:
        return None
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', None)}:{name}"
