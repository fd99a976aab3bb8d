"""One frozen configuration, validated once at the edge, that goes through every stage.

Beside each default stands what it buys.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from lookalike.budget import Budget, Limits
from lookalike.errors import OptionError
from lookalike.key import MOST_SEED
from lookalike.scale import Scale, check_measure, order_of
from lookalike.shingle import Shingle, parse_shingle

__all__ = ["CLUSTERINGS", "UNITS", "VERIFICATIONS", "WEIGHTS", "Config", "check_options", "make_config"]

VERIFICATIONS = ("exact", "text", "sketch", "none")
CLUSTERINGS = ("representative", "components")
UNITS = ("document", "paragraph", "line")
WEIGHTS = ("tf-idf", "bm25", "count")
# Less would not hold the batches that are being read.
LEAST_MEMORY = 64 * 10**6


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that decides a result, and how it is computed."""

    # None is what the items suggest: Jaccard for text and sets, cosine for vectors, Hamming for bits.
    measure: str | None = None
    # At 0.8 of five-word shingles two texts differ in about one word of fifty.
    threshold: float = 0.8
    # The largest distance that counts, for measures that are distances.
    max_distance: float | None = None
    # Of the pairs right at the threshold, 99 in 100 are found; of more similar ones, nearly all.
    recall: float = 0.99
    # The main text of web pages instead of all of it.
    html: bool = False
    # Shingles that stand in more than this share of all documents are left out.
    max_share: float | None = None
    # How much a shingle counts, for weighted Jaccard and cosine of text.
    weights: str | None = None
    # What the items must be, where their column leaves a choice.
    form: str | None = None
    # b and r, instead of a plan from threshold and recall.
    bands: int | None = None
    rows: int | None = None
    shingle: Shingle = field(default_factory=lambda: parse_shingle("word:5"))
    # Precision is 1: each candidate is compared on the items themselves.
    verify: str = "exact"
    # And by what they are made of, not by hashes, so that no collision can be forged.
    verify_text: bool = False
    # Every removed item matches the item that is kept in its place.
    cluster: str = "representative"
    keep: str | Callable[[dict[str, Any]], Any] = "first"
    # Identical items only; no sketches at all. `exact_normalized`: after the shingle's normalisation.
    exact: bool = False
    exact_normalized: bool = False
    unit: str = "document"
    # Of all hashes: 0 is public, a secret one keeps strangers from preparing texts that collide (`key.py`).
    seed: int = 0
    threads: int = 1
    columns: tuple[str, ...] = ()
    id: str | None = None
    max_pairs: int = 10**9
    # Bytes that a run may hold of the collection, beyond the 0.3 GB that the program itself takes; more is spilled.
    memory: int = 1 << 30
    # Items of the random sample that is compared exactly with all others; 0 leaves the audit out.
    audit: int = 1000
    # Whether a certificate that raises an alarm is an error.
    strict: bool = False
    # Items that cannot be compared are counted instead of refused.
    skip_bad: bool = False
    # Only items with the same value in this column are compared.
    group_by: str | None = None
    # The report tells what was removed by this column instead of by file.
    report_by: str | None = None
    # The options that were given and that only text has a use for.
    of_text: tuple[str, ...] = ()

    @property
    def scale(self) -> Scale:
        """What makes two items alike."""
        if self.exact or self.measure is None:
            return Scale("jaccard", self.threshold)
        limit = self.max_distance if order_of(self.measure) is not None else self.threshold
        assert limit is not None, "a distance has its largest"
        return Scale(self.measure, limit)

    @property
    def budget(self) -> Budget:
        """What each stage may hold of the memory."""
        return Budget(self.memory, self.threads)

    @property
    def limits(self) -> Limits:
        """How much of something is gone into."""
        return Limits(self.max_pairs)


def make_config(
    *,
    measure: str | None = None,
    threshold: float | None = None,
    max_distance: float | None = None,
    recall: float = 0.99,
    bands: int | None = None,
    rows: int | None = None,
    shingle: str | Shingle | None = None,
    normalize: Iterable[str] | str | None = None,
    tokens: Callable[[str], Iterable[str]] | None = None,
    html: bool = False,
    max_share: float | None = None,
    weights: str | None = None,
    verify: str = "exact",
    cluster: str = "representative",
    keep: str | Callable[[dict[str, Any]], Any] = "first",
    exact: bool = False,
    unit: str = "document",
    seed: int = 0,
    threads: int | None = None,
    column: str | Sequence[str] | None = None,
    vectors: str | None = None,
    sets: str | None = None,
    id: str | None = None,
    group_by: str | None = None,
    report_by: str | None = None,
    max_pairs: int = 10**9,
    memory: int | str | None = None,
    audit: int = 1000,
    strict: bool = False,
    skip_bad: bool = False,
) -> Config:
    """A validated `Config`; an error names the option, its value and what is allowed."""
    if measure is not None:
        measure = _measure(measure, threshold, max_distance, exact=exact)
    elif max_distance is not None:
        raise OptionError("max_distance goes with a distance: give measure (--measure), for example euclidean")
    if threshold is None:
        threshold = 0.8
    _number("threshold", threshold, low=0.0, high=1.0, high_allowed=True)
    _number("recall", recall, low=0.0, high=1.0, high_allowed=False)
    if (bands is None) != (rows is None):
        given, missing = ("bands", "rows") if rows is None else ("rows", "bands")
        raise OptionError(f"{given} is given without {missing}: give both, or neither and let the plan choose")
    for name, value in (("bands", bands), ("rows", rows)):
        if value is not None and (not _is_int(value) or not 1 <= value <= 10_000):
            raise OptionError(f"{name} is {value!r}: it must be a whole number from 1 to 10000")
    _choice("verify", verify, VERIFICATIONS)
    _choice("cluster", cluster, CLUSTERINGS)
    _choice("unit", unit, UNITS)
    if not _is_int(seed) or not 0 <= seed <= MOST_SEED:
        raise OptionError(f"seed is {seed!r}: it must be a whole number from 0 to 2^128 - 1")
    if threads is not None and (not _is_int(threads) or threads < 1):
        raise OptionError(f"threads is {threads!r}: it must be a whole number, 1 or more")
    if not _is_int(max_pairs) or max_pairs < 1:
        raise OptionError(f"max_pairs is {max_pairs!r}: it must be a whole number, 1 or more")
    if not _is_int(audit) or audit < 0:
        raise OptionError(f"audit is {audit!r}: it must be a number of items, 0 for none")
    if exact and bands is not None:
        raise OptionError("exact finds identical items only and has no bands and rows: give one or the other")
    if verify == "text" and max_share is not None:
        raise OptionError("verify=text compares all tokens of texts: it does not go with max_share")
    if exact and verify not in ("exact", "text"):
        raise OptionError(f"exact finds identical items only: it does not go with verify={verify!r}")
    if exact and tokens is not None:
        raise OptionError("exact finds identical items only: it does not go with a tokens callable")
    if weights is not None:
        _choice("weights", weights, WEIGHTS)
        if measure not in ("weighted-jaccard", "cosine"):
            raise OptionError("weights go with a measure that weighs: measure (--measure) weighted-jaccard or cosine")
    if max_share is not None:
        _number("max_share", max_share, low=0.0, high=1.0, high_allowed=False)
    if html and unit != "document":
        raise OptionError(f"html takes whole pages: it does not go with unit={unit!r}")
    if exact and (html or max_share is not None):
        raise OptionError("exact finds identical items only: it does not go with html or max_share")
    form, column = _form(column, vectors, sets)
    columns = _columns(column)
    for name, values in (("column", columns), ("id", [id]), ("group_by", [group_by]), ("report_by", [report_by])):
        _check_names(name, values)
    _check_names("keep", [keep])
    if unit != "document" and len(columns) > 1:
        raise OptionError(f"unit is {unit!r}: it takes one column, not {len(columns)}")
    for_text = {
        "shingle": shingle, "normalize": normalize, "tokens": tokens, "html": html or None, "max_share": max_share,
        "weights": weights,
    }  # fmt: skip
    if shingle is None or isinstance(shingle, str):
        shingle = parse_shingle(shingle or "word:5", normalize=normalize, tokens=tokens)
    elif not isinstance(shingle, Shingle):
        raise OptionError(f"shingle is {shingle!r}: it must be text, for example word:5 or char:9")
    elif normalize is not None or tokens is not None:
        raise OptionError("shingle is a Shingle already: normalize and tokens belong into it")
    return Config(
        measure=measure,
        threshold=float(threshold),
        max_distance=None if max_distance is None else float(max_distance),
        recall=float(recall),
        html=bool(html),
        max_share=None if max_share is None else float(max_share),
        weights=weights,
        form=form,
        bands=None if bands is None else int(bands),
        rows=None if rows is None else int(rows),
        shingle=shingle,
        verify="exact" if verify == "text" else verify,
        verify_text=verify == "text",
        cluster=cluster,
        keep=keep,
        exact=exact,
        exact_normalized=exact and normalize is not None,
        unit=unit,
        seed=int(seed),
        threads=int(threads or os.cpu_count() or 1),
        columns=columns,
        id=id,
        max_pairs=int(max_pairs),
        memory=default_memory() if memory is None else parse_bytes("memory", memory),
        audit=int(audit),
        strict=bool(strict),
        skip_bad=bool(skip_bad),
        group_by=group_by,
        report_by=report_by,
        of_text=tuple(name for name, value in for_text.items() if value is not None),
    )


def check_options(config: Config, form: str) -> None:
    """Refuse options that items of this form have no use for, now that their form is known."""
    if config.verify_text and (form not in ("text", "sets") or config.measure not in (None, "jaccard", "containment")):
        raise OptionError(
            "verify=text is for the Jaccard similarity and containment of text and sets, and for identical ones: "
            "use exact"
        )
    if form == "text" or not config.of_text:
        return
    name = config.of_text[0]
    if name == "weights" and form == "bags":
        raise OptionError("weights (--weights) are for text, and the items are bags, which have weights already")
    option = f"--{name.replace('_', '-')}"
    raise OptionError(f"{name} ({option}) {'are' if name[-1] == 's' else 'is'} for text, and the items are {form}")


def _measure(name: str, threshold: float | None, max_distance: float | None, *, exact: bool) -> str:
    """The measure, if it goes with the limit that is given."""
    if not isinstance(name, str):
        raise OptionError(f"measure is {name!r}: it must be a name, for example cosine")
    measure = check_measure(name)
    if exact:
        raise OptionError(f"exact finds identical items only: it does not go with measure={name!r}")
    if order_of(measure) is None:
        if max_distance is not None:
            raise OptionError(f"max_distance does not go with {measure}, which is a similarity: give threshold")
        return measure
    if threshold is not None:
        raise OptionError(f"threshold does not go with {measure}, which is a distance: give max_distance")
    if max_distance is None:
        raise OptionError(f"{measure} needs max_distance (--max-distance), the largest distance that counts as alike")
    if isinstance(max_distance, bool) or not isinstance(max_distance, Real) or not 0.0 < max_distance < float("inf"):
        raise OptionError(f"max_distance is {max_distance!r}: it must be a number above 0")
    return measure


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


def _form(
    column: str | Sequence[str] | None, vectors: str | None, sets: str | None
) -> tuple[str | None, str | Sequence[str] | None]:
    """What the items must be and their column, where `vectors` or `sets` names it."""
    given = [(form, name) for form, name in (("vectors", vectors), ("sets", sets)) if name is not None]
    if len(given) + (column is not None) > 1:
        raise OptionError("column, vectors and sets all name the column with the items: give one of them")
    return given[0] if given else (None, column)


def _check_names(option: str, values: Sequence[object]) -> None:
    """Names must be text that a table can hold, without the lone surrogates that stand for bytes that are not UTF-8."""
    for value in values:
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise OptionError(f"{option} is '{value}': it is not UTF-8, as names of columns are")


def _columns(column: str | Sequence[str] | None) -> tuple[str, ...]:
    columns = (column,) if isinstance(column, str) else column or ()
    if not isinstance(columns, Sequence) or not all(isinstance(name, str) for name in columns):
        raise OptionError(f"column is {column!r}: it must be a name or a list of names")
    return tuple(columns)


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _number(name: str, value: object, *, low: float, high: float, high_allowed: bool) -> None:
    allowed = f"above {low:g} and {'up to' if high_allowed else 'below'} {high:g}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OptionError(f"{name} is {value!r}: it must be a number {allowed}")
    if not low < float(value) <= high or (value == high and not high_allowed):
        raise OptionError(f"{name} is {value!r}: it must be {allowed}")


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise OptionError(f"{name} is {value!r}: it must be one of {', '.join(allowed)}")
