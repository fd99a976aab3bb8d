"""How rows are compared column by column: what of each column is compared, and how much it counts.

    title:char:4:2   runs of four characters of the title, with weight 2
    authors:word:1   the words of the authors, with weight 1
    year:equal       the year as a whole: the same or not
    tags:set         a column of lists, by what they hold

The similarity of two rows is the mean of those of their columns, by weight (`verify/field_scores.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lookalike.errors import OptionError
from lookalike.shingle import Shingle, parse_shingle

__all__ = ["FIELD_SHIFT", "MOST_FIELDS", "WHOLE", "ComparedField", "parse_fields"]

# The column of an element is told by its top three bits.
FIELD_SHIFT = 61
MOST_FIELDS = 1 << (64 - FIELD_SHIFT)
# Longer than any text: the whole of it is one shingle.
WHOLE = 1 << 30

_FORM = re.compile(r"(?P<column>.+?):(?P<kind>equal|set|(?:word|char):\d+)(?::(?P<weight>[^:]+))?")
_HELP = "COLUMN:char:K, COLUMN:word:K, COLUMN:equal or COLUMN:set, and a weight behind it where it is not 1"


@dataclass(frozen=True, slots=True)
class ComparedField:
    """What of one column is compared: the shingles of its text, or the members of its lists where there is none."""

    shingle: Shingle | None
    weight: float

    def __str__(self) -> str:
        whole = self.shingle is not None and self.shingle.k == WHOLE
        kind = "equal" if whole else "set" if self.shingle is None else str(self.shingle)
        return kind if self.weight == 1 else f"{kind}:{self.weight:g}"


def parse_fields(
    given: str | Sequence[str], normalize: Iterable[str] | str | None = None
) -> tuple[tuple[str, ...], tuple[ComparedField, ...]]:
    """The columns, and what of each is compared, of `compare=["title:char:4:2", "year:equal"]`."""
    columns: list[str] = []
    compared: list[ComparedField] = []
    # A comma parts several, as it does for the names of columns.
    for text in [each.strip() for one in ([given] if isinstance(given, str) else given) for each in one.split(",")]:
        found = _FORM.fullmatch(text)
        if found is None:
            raise OptionError(f"compare (--compare) is {text!r}: it must be {_HELP}, for example title:char:4:2")
        columns.append(found["column"])
        compared.append(ComparedField(_shingle(found["kind"], normalize), _weight(text, found["weight"])))
    repeated = next((name for name in columns if columns.count(name) > 1), None)
    if repeated is not None:
        raise OptionError(f"compare (--compare) names the column {repeated!r} twice: it counts once")
    if len(columns) > MOST_FIELDS:
        raise OptionError(f"compare (--compare) names {len(columns)} columns: {MOST_FIELDS} are the most")
    return tuple(columns), tuple(compared)


def _shingle(kind: str, normalize: Iterable[str] | str | None) -> Shingle | None:
    if kind == "set":
        return None
    if kind == "equal":
        usual = parse_shingle("char:1", normalize=normalize)
        return Shingle("char", WHOLE, False, usual.normalize)
    return parse_shingle(kind, normalize=normalize)


def _weight(text: str, given: str | None) -> float:
    try:
        weight = 1.0 if given is None else float(given)
    except ValueError:
        weight = math.nan
    if not (0 < weight < math.inf):
        raise OptionError(f"compare (--compare) is {text!r}: the weight must be a number above 0, not {given!r}")
    return weight
