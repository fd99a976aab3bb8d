"""One frozen configuration, validated once at the edge, that goes through every stage.

What an option means, its default and what is allowed stand in `options/`; here is what stages see of it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Unpack, cast

from lookalike.budget import Budget, Limits
from lookalike.compared_fields import ComparedField, parse_fields
from lookalike.errors import OptionError
from lookalike.measure_table import FIELDS, Complement, check_measure, form_named, measure_named
from lookalike.options import ConfigOptions, allowed
from lookalike.options.allowed import Number
from lookalike.options.option_table import check_names, checked, choices, entries
from lookalike.scale import Scale, left_of_one
from lookalike.shingle import Shingle, parse_shingle

__all__ = ["UNITS", "WEIGHTS", "Config", "check_options", "make_config"]

WEIGHTS = choices(ConfigOptions, "weights")
UNITS = allowed.UNITS
# Less would not hold the batches that are being read.
LEAST_MEMORY = 64 * 10**6
# Options that only text has a use for.
_OF_TEXT = ("shingle", "normalize", "tokens", "html", "max_share", "weights")


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that decides a result, and how it is computed; `make_config` makes it.

    A field with the name of an option is that option; None of `measure` is what the items suggest.
    """

    measure: str | None
    threshold: float
    max_distance: float | None
    recall: float
    html: bool
    max_share: float | None
    weights: str | None
    bands: int | None
    rows: int | None
    shingle: Shingle
    verify: str
    cluster: str
    keep: str | Callable[[dict[str, Any]], Any]
    exact: bool
    unit: str
    min_words: int
    min_count: int
    seed: int
    threads: int
    id: str | None
    max_pairs: int
    # Bytes that a run may hold of the collection, beyond the 0.3 GB that the program itself takes; more is spilled.
    memory: int
    audit: int
    strict: bool
    skip_bad: bool
    group_by: str | None
    # Whether tables have the texts of items beside their ids.
    with_text: bool
    # Whether the table of removed items has all columns of their rows.
    with_rows: bool
    report_by: str | None
    # Whether pairs of two of the run's own items are wanted, too, where pairs with another collection are.
    within: bool
    # Whether items are removed only for those of another collection.
    only_against: bool
    # The columns of the other collection, and its ids, where these are not those of the run's own items.
    against_columns: tuple[str, ...]
    against_id: str | None
    # The columns with the items, and what these must be, where that leaves a choice.
    columns: tuple[str, ...]
    form: str | None
    # What of each of these columns is compared, where rows are compared column by column.
    compared: tuple[ComparedField, ...]
    # `verify` is "exact", and by what items are made of, not by hashes, so that no collision can be forged.
    verify_text: bool
    # `exact`, after the shingle's normalisation.
    exact_normalized: bool
    # The options that were given and that only text has a use for.
    of_text: tuple[str, ...]
    # Where similarities are told as distances: that of two items without anything in common (`scale.py`).
    whole: float | None

    @property
    def compare(self) -> list[str] | None:
        """The option by which rows are compared column by column, as it is written."""
        if not self.compared:
            return None
        return [f"{name}:{each}" for name, each in zip(self.columns, self.compared, strict=True)]

    @property
    def scale(self) -> Scale:
        """What makes two items alike."""
        if self.exact or self.measure is None:
            return Scale("jaccard", self.threshold)
        if not measure_named(self.measure).is_distance:
            if self.whole is None and self.max_distance is not None:
                raise OptionError(f"max_distance of {self.measure} counts bits, and only items tell of how many")
            return Scale(self.measure, self.threshold, self.whole)
        assert self.max_distance is not None, "a distance has its largest"
        return Scale(self.measure, self.max_distance)

    def for_items(self, form: str, dimensions: int | None) -> Config:
        """The same for items of this form and so many parts each, now that they are known."""
        config = replace(self, measure=self.measure or form_named(form).measure)
        assert config.measure is not None
        if measure_named(config.measure).complement is not Complement.PARTS or self.max_distance is None:
            return config
        parts = dimensions or 1
        if self.max_distance >= parts:
            raise OptionError(f"max_distance is {self.max_distance:g}: strings of {parts} bits never differ in more")
        return replace(config, threshold=(parts - self.max_distance) / parts, whole=float(parts))

    def told_as_distances(self, dimensions: int | None) -> Config:
        """The same, similarities being told as distances."""
        scale = self.scale
        if scale.is_distance:
            return self
        complement = scale.traits.complement
        if complement is Complement.NONE:
            raise OptionError(f"distance (--distance): {scale.measure} has none, only similarities")
        return replace(self, whole=float(dimensions or 1) if complement is Complement.PARTS else 1.0)

    @property
    def span(self) -> int | None:
        """The fewest words of a span, where it is repeated spans that go."""
        return allowed.span_words(self.unit)

    @property
    def budget(self) -> Budget:
        """What each stage may hold of the memory."""
        return Budget(self.memory, self.threads)

    @property
    def limits(self) -> Limits:
        """How much of something is gone into."""
        return Limits(self.max_pairs)


def make_config(**given: Unpack[ConfigOptions]) -> Config:
    """A validated `Config`; an error names the option, its value and what is allowed."""
    check_names("a configuration", ConfigOptions, given)
    options = cast(ConfigOptions, checked(ConfigOptions, given))
    _check_together(options)
    form, columns, compared = _items(options)
    threshold, verify, memory = options["threshold"], options["verify"], options["memory"]
    measure = FIELDS if options["compare"] is not None else _measure(options)
    complement = Complement.NONE if measure is None else measure_named(measure).complement
    by_share = options["max_distance"] is not None and complement is Complement.SHARE
    derived = {
        "measure": measure,
        "threshold": left_of_one(options["max_distance"] or 0.0) if by_share else threshold or 0.8,
        "whole": 1.0 if by_share else None,
        "shingle": _shingle(options),
        "verify": "exact" if verify == "text" else verify,
        "verify_text": verify == "text",
        "exact_normalized": options["exact"] and options["normalize"] is not None,
        "threads": options["threads"] or os.cpu_count() or 1,
        "columns": columns,
        "against_columns": _names(options["against_column"]) or columns,
        "form": form,
        "compared": compared,
        "memory": default_memory() if memory is None else parse_bytes("memory", memory),
        "of_text": tuple(name for name in _OF_TEXT if given.get(name) not in (None, False)),
    }
    values: dict[str, Any] = {**options, **derived}
    return Config(**{field.name: values[field.name] for field in fields(Config)})


# Options that a search for repeated spans has a use for. It compares words, one by one, and has nothing to estimate.
_OF_SPANS = (
    "unit", "normalize", "column", "id", "against_column", "against_id", "only_against", "skip_bad", "seed", "threads",
    "memory", "strict",
)  # fmt: skip


def _check_spans(options: ConfigOptions) -> None:
    """Refuse what only a comparison by similarity has a use for, where spans are compared word by word."""
    for name, entry in entries(ConfigOptions).items():
        if name not in _OF_SPANS and options[name] != entry.option.default:  # type: ignore[literal-required]
            raise OptionError(
                f"{name} does not go with unit={options['unit']!r}, for which words are compared one by one"
            )


def _check_together(options: ConfigOptions) -> None:
    """Refuse options that do not go with one another."""
    if allowed.span_words(options["unit"]) is not None:
        _check_spans(options)
    exact, verify, unit, bands = options["exact"], options["verify"], options["unit"], options["bands"]
    if (bands is None) != (options["rows"] is None):
        one, missing = ("rows", "bands") if bands is None else ("bands", "rows")
        raise OptionError(f"{one} needs {missing}: give both, or neither and let the planner choose")
    if exact and bands is not None:
        raise OptionError("exact matches identical items only and does not use bands and rows: leave one of them out")
    if verify == "text" and options["max_share"] is not None:
        raise OptionError("verify=text cannot be combined with max_share, because it compares all tokens")
    if exact and verify not in ("exact", "text"):
        raise OptionError(f"exact cannot be combined with verify={verify!r}")
    if exact and options["tokens"] is not None:
        raise OptionError("exact cannot be combined with a tokens callable")
    if options["recall"] == 1.0 and verify in ("sketch", "none"):
        raise OptionError(f"recall=1 compares all pairs exactly and cannot be combined with verify={verify!r}")
    if options["html"] and unit != "document":
        raise OptionError(f"html takes whole pages and cannot be combined with unit={unit!r}")
    if exact and (options["html"] or options["max_share"] is not None):
        raise OptionError("exact cannot be combined with html or max_share")
    if options["only_against"] and (options["keep"] != "first" or options["cluster"] != "representative"):
        name = "keep" if options["keep"] != "first" else "cluster"
        raise OptionError(f"{name} cannot be combined with only_against, which keeps near-duplicates within the input")
    if options["min_words"] and unit == "document":
        raise OptionError("min_words needs unit (--unit): it is for paragraphs and lines")
    if options["with_rows"] and unit != "document":
        raise OptionError(f"with_rows is for whole documents and cannot be combined with unit={unit!r}")
    if options["min_count"] > 2 and options["only_against"]:
        raise OptionError("min_count cannot be combined with only_against, which keeps repeats within the input")
    if isinstance(options["keep"], str):
        allowed.name("keep", options["keep"])


def check_options(config: Config, form: str) -> None:
    """Refuse options that items of this form have no use for, now that their form is known."""
    measure = measure_named(config.measure or form_named(form).measure)
    if config.verify_text and not (form_named(form).literal and measure.literal):
        raise OptionError(
            "verify=text is for the Jaccard similarity and containment of text and sets, and for identical ones: "
            "use exact"
        )
    if config.with_text and not form_named(form).is_text and form != FIELDS:
        raise OptionError(f"with_text (--with-text) is for text, and the items are {form}")
    # What is ignored of a text is said for all columns.
    unfit = [name for name in config.of_text if not (form == FIELDS and name == "normalize")]
    if form_named(form).is_text or not unfit:
        return
    name = unfit[0]
    if name == "weights" and form_named(form).has_weights:
        raise OptionError("weights (--weights) are for text, and the items are bags, which have weights already")
    option = f"--{name.replace('_', '-')}"
    raise OptionError(f"{name} ({option}) {'are' if name[-1] == 's' else 'is'} for text, and the items are {form}")


def _measure(options: ConfigOptions) -> str | None:
    """The measure, if it goes with the limit and the weights that are given."""
    name, max_distance = options["measure"], options["max_distance"]
    if name is None:
        if max_distance is not None:
            raise OptionError(
                "max_distance (--max-distance) needs a measure: add measure (--measure), for example euclidean "
                "for vectors, hamming for bits or jaccard for text"
            )
        measure = None
    else:
        measure = check_measure(name)
        if options["exact"]:
            raise OptionError(f"exact cannot be combined with measure={name!r}")
        _check_limit(measure, options["threshold"], max_distance)
    if options["threshold"] is not None and (measure is None or not measure_named(measure).boundless):
        Number(above=0, up_to=1)("threshold", options["threshold"])
    if options["weights"] is not None and (measure is None or not measure_named(measure).weighs):
        raise OptionError("weights need a weighted measure: use measure (--measure) weighted-jaccard or cosine")
    return measure


def _check_limit(measure: str, threshold: float | None, max_distance: float | None) -> None:
    traits = measure_named(measure)
    if not traits.is_distance:
        if max_distance is not None:
            _check_complement(measure, threshold, max_distance)
        if traits.boundless and threshold is None:
            raise OptionError(f"{measure} needs threshold (--threshold), the minimum product of a match")
    elif threshold is not None:
        raise OptionError(
            f"{measure} is a distance: give max_distance (--max-distance) instead of threshold (--threshold)"
        )
    elif max_distance is None:
        raise OptionError(f"{measure} needs max_distance (--max-distance), the maximum distance of a match")
    elif max_distance == 0.0:
        raise OptionError("max_distance is 0: it must be above 0; use exact to find identical items")


def _check_complement(measure: str, threshold: float | None, max_distance: float) -> None:
    """Refuse a distance that a similarity does not have."""
    complement = measure_named(measure).complement
    if complement is Complement.NONE:
        raise OptionError(f"{measure} is a similarity without a distance: give threshold instead of max_distance")
    if threshold is not None:
        raise OptionError("threshold and max_distance both say what matches: give one of them")
    if complement is Complement.PARTS and not max_distance.is_integer():
        raise OptionError(f"max_distance is {max_distance:g}: for {measure} it is a number of bits, such as 3")
    if complement is Complement.SHARE and max_distance >= 1.0:
        raise OptionError(f"max_distance is {max_distance:g}: for {measure} it is 1 - similarity and must be below 1")


def _shingle(options: ConfigOptions) -> Shingle:
    """How text becomes a set."""
    shingle, normalize, tokens = options["shingle"], options["normalize"], options["tokens"]
    if shingle is None or isinstance(shingle, str):
        return parse_shingle(shingle or "word:5", normalize=normalize, tokens=tokens)
    if not isinstance(shingle, Shingle):
        raise OptionError(f"shingle is {shingle!r}: it must be text, for example word:5 or char:9")
    if normalize is not None or tokens is not None:
        raise OptionError("shingle is a Shingle already: give it normalize and tokens")
    return shingle


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_bytes(name: str, value: int | str) -> int:
    """A number of bytes from a number or from text such as 4GB, 500MB or 1.5GiB."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]i?)?b?\s*", str(value).lower())
    try:
        size = int(float(found[1]) * _UNITS[found[2] or ""]) if found and not isinstance(value, bool) else -1
    except ValueError:
        size = -1
    if size < 0:
        raise OptionError(f"{name} is {value!r}: it must be a size such as 4GB or 500MB")
    if size < LEAST_MEMORY:
        raise OptionError(f"{name} is {value!r}: at least {LEAST_MEMORY // 10**6}MB are needed")
    return size


def default_memory() -> int:
    """A quarter of the machine's memory, or of what a container may use."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 << 30
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(limit).read_text()))
    return max(LEAST_MEMORY, total // 4)


def _items(options: ConfigOptions) -> tuple[str | None, tuple[str, ...], tuple[ComparedField, ...]]:
    """What the items must be, where an option says so, their columns, and what of each is compared."""
    named = {name: options[name] for name in ("column", "vectors", "sets", "compare")}
    given = {option: value for option, value in named.items() if value is not None}
    if len(given) > 1:
        raise OptionError("column, vectors, sets and compare all name the columns of the items: give one of them")
    if options["compare"] is not None:
        return FIELDS, *_fields(options)
    option, value = next(iter(given.items()), ("column", ()))
    columns = _names(value)
    if options["unit"] != "document" and len(columns) > 1:
        raise OptionError(f"unit is {options['unit']!r}: it takes one column, not {len(columns)}")
    return None if option == "column" else option, columns, ()


def _fields(options: ConfigOptions) -> tuple[tuple[str, ...], tuple[ComparedField, ...]]:
    """The columns that rows are compared by, if that goes with all else."""
    columns, compared = parse_fields(options["compare"] or (), options["normalize"])
    refused = {
        "measure": options["measure"] is not None,
        "exact": options["exact"],
        "unit": options["unit"] != "document",
        "verify": options["verify"] != "exact",
    }
    for name, given in refused.items():
        if given:
            raise OptionError(f"compare (--compare) says what two rows have in common: it does not go with {name}")
    others = _names(options["against_column"])
    if others and len(others) != len(columns):
        raise OptionError(f"compare names {len(columns)} columns, and against_column {len(others)}: as many are needed")
    return columns, compared


def _names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())
