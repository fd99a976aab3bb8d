"""What an option is, and what is made of a table of options: checks, signatures and documentation.

A table is a `TypedDict` whose entries are `Annotated` with an `Option`; `options/` holds those of the verbs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature, cleandoc, formatannotation
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from lookalike.errors import OptionError
from lookalike.options import allowed
from lookalike.options.allowed import Check, Choice
from lookalike.wording.phrases import nearest_word

__all__ = [
    "CLUSTER",
    "EXPERT",
    "LARGE",
    "MATCHING",
    "READING",
    "Entry",
    "Option",
    "check_names",
    "checked",
    "choices",
    "documentation",
    "entries",
    "meant",
    "takes",
    "type_words",
    "without_none",
]

# The panels of the help.
MATCHING = "Matching"
READING = "Reading"
EXPERT = "Advanced"
LARGE = "Large collections"
CLUSTER = "Apache Spark"
# For options without a panel.
_GENERAL = "Options"


@dataclass(frozen=True, slots=True)
class Option:
    """What there is to know of an option beside its name and its type in Python."""

    meaning: str
    default: Any = None
    # What None stands for, where that is one thing.
    stands_for: str | None = None
    # Beyond what the type says: a flag, a choice and a name are checked by their types.
    check: Check | None = None
    # Where it stands in the help.
    panel: str | None = None
    # What only Python, or only the command line, takes beside what `meaning` says.
    in_python: str = ""
    on_command: str = ""
    # Values that a shell may complete, beside those that the type says; `listed` if several may stand with commas.
    suggested: tuple[str, ...] = ()
    listed: bool = False
    # On the command line: its type if that is another one, or None for an option of Python alone; its short name; what
    # stands for its value in the help; and the variable of the environment that may hold it.
    typed: Any = ...
    short: str | None = None
    metavar: str | None = None
    envvar: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table."""

    name: str
    type: Any
    option: Option

    @property
    def check(self) -> Check | None:
        """What its value must pass, unless it is None and None is the default."""
        if self.option.check is not None:
            return self.option.check
        plain = without_none(self.type)
        if get_origin(plain) is Literal:
            return Choice(get_args(plain))
        return {bool: allowed.flag, str: allowed.text}.get(plain)


@cache
def entries(options: Any) -> dict[str, Entry]:
    """The table of a class of options, by name."""
    found = {}
    for name, annotation in get_type_hints(options, include_extras=True).items():
        plain, option = get_args(annotation)[:2]
        found[name] = Entry(name, plain, option)
    return found


# What other programs call what is an option here.
_CALLED = {
    "threshold": ("similarity", "sim", "min_similarity", "cutoff", "jaccard_threshold", "similarity_threshold"),
    "max_distance": ("distance", "radius", "eps", "epsilon", "bit_diff"),
    "shingle": ("ngram", "ngrams", "ngram_size", "shingle_size", "kgram", "tokenizer", "width"),
    "measure": ("metric", "distance_metric", "similarity_measure"),
    "column": ("text", "field", "text_column", "text_key", "text_field", "columns"),
    "id": ("id_column", "key", "id_field", "id_key", "uid"),
    "threads": ("workers", "jobs", "n_jobs", "num_proc", "processes", "num_workers", "cores"),
    "output": ("out", "output_dir", "output_file", "dest"),
    "against": ("reference", "other", "with", "compare_to"),
    "workdir": ("tmp", "tmpdir", "temp", "cache_dir", "work_dir", "scratch"),
    "limit": ("head", "nrows", "rows_limit", "max_rows"),
    "group_by": ("block", "block_by", "groupby", "partition_by"),
    "quiet": ("silent",),
    "overwrite": ("force",),
    "normalize": ("lowercase", "lower", "ignore_case"),
    "bands": ("num_bands",),
    "rows": ("num_rows",),
    "k": ("top_k", "topk", "neighbors", "n_neighbors"),
}
_MEANT = {name: option for option, names in _CALLED.items() for name in names}


def meant(unknown: str, known: Iterable[str]) -> str | None:
    """The option that somebody had in mind who gave one that is not there."""
    return nearest_word(unknown, known, _MEANT)


def check_names(verb: str, options: Any, given: Mapping[str, object]) -> None:
    """Refuse an option that the verb does not have."""
    known = entries(options)
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        close = meant(unknown, known)
        raise OptionError(f"{verb} has no option {unknown!r}" + (f"; did you mean {close!r}?" if close else ""))


def checked(options: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Each option with its value or its default; a value that it may not have is refused, whatever the others are."""
    values = {}
    for name, entry in entries(options).items():
        value = given.get(name, entry.option.default)
        if entry.check is not None and not (value is None and entry.option.default is None):
            value = entry.check(name, value)
        values[name] = value
    return values


def without_none(annotation: Any) -> Any:
    """The type of a value that is there."""
    if get_origin(annotation) in (Union, UnionType):
        return Union[tuple(part for part in get_args(annotation) if part is not NoneType)]  # noqa: UP007
    return annotation


def choices(options: Any, name: str) -> tuple[str, ...]:
    """The words that may be given for an option."""
    return get_args(without_none(entries(options)[name].type))


_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def takes(options: Any) -> Callable[[_Verb], _Verb]:
    """Give a function with `**options: Unpack[...]` the signature and the documentation of each of its options."""

    def tell(verb: _Verb) -> _Verb:
        own = [each for each in Signature.from_callable(verb).parameters.values() if each.kind != each.VAR_KEYWORD]
        listed = [
            Parameter(entry.name, Parameter.KEYWORD_ONLY, default=entry.option.default, annotation=entry.type)
            for entry in entries(options).values()
        ]
        setattr(verb, "__signature__", Signature([*own, *listed]))  # noqa: B010 (mypy knows no such attribute)
        verb.__doc__ = f"{cleandoc(verb.__doc__ or '')}\n\n{documentation(options)}\n"
        return verb

    return tell


def documentation(options: Any) -> str:
    """Each option with its type, its default and its meaning, panel by panel."""
    panels: dict[str, list[str]] = {_GENERAL: []}
    for entry in entries(options).values():
        option = entry.option
        default = option.stands_for or (None if option.default is None else repr(option.default))
        words = f"{type_words(entry.type)}, {'optional' if default is None else f'default {default}'}"
        text = f"{entry.name} ({words}): {f'{option.meaning} {option.in_python}'.rstrip()}"
        panels.setdefault(option.panel or _GENERAL, []).append(
            textwrap.fill(text, 100, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)
        )
    return "\n\n".join("\n".join([f"{panel}:", *lines]) for panel, lines in panels.items() if lines)


def type_words(annotation: Any) -> str:
    """A type as people write it."""
    plain = without_none(annotation)
    if get_origin(plain) in (Union, UnionType):
        return " | ".join(map(type_words, get_args(plain)))
    if get_origin(plain) is Literal:
        return " | ".join(map(repr, get_args(plain)))
    if isinstance(plain, type):
        return plain.__name__
    return formatannotation(plain).replace("collections.abc.", "").replace("typing.", "")
