"""Values of options that need no conversion.

Typer has every value of every option converted by pydantic, also those that nobody gave. Loading pydantic and setting
it up for forty options takes 0.05 s, as long as two documents take from reading to clusters. So what is missing, or
already is what its option takes, passes by; everything else is converted by Typer as ever. What it refuses is told in
our words, with what is allowed and what was probably meant.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from inspect import signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

from lookalike.errors import OptionError
from lookalike.options.allowed import Choice

__all__ = ["PlainCommand", "PlainGroup"]


class PlainGroup(TyperGroup):
    """A group of commands that does not convert what needs no conversion."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, with that of the help."""
        return [_passing(parameter, bool) for parameter in super().get_params(ctx)]


class PlainCommand(TyperCommand):
    """A command that does not convert what needs no conversion."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, with that of the help."""
        assert self.callback is not None
        kinds = {name: each.annotation for name, each in signature(self.callback).parameters.items()}
        return [_passing(parameter, kinds.get(parameter.name, bool)) for parameter in super().get_params(ctx)]


def _passing(parameter: Any, kind: Any) -> Any:
    if not isinstance(parameter.process_value, partial):
        parameter.process_value = partial(_processed, parameter, _plain_kind(kind), parameter.process_value)
    return parameter


def _plain_kind(kind: Any) -> Any:
    """The type that is not None, of an annotation."""
    if hasattr(kind, "__metadata__"):
        kind = get_args(kind)[0]
    return next(each for each in get_args(kind) if each is not NoneType) if isinstance(kind, UnionType) else kind


# Digits up to which a number is made here: Python refuses thousands of them, which is Typer's to tell.
_DIGITS = 50


def _number(kind: type[int] | type[float], text: str) -> int | float | None:
    """A number that is written in digits."""
    digits = text.replace(".", "", 1) if kind is float else text
    return kind(text) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS else None


def _processed(parameter: Any, kind: Any, convert: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    if value is None and not parameter.required:
        return () if parameter.multiple or parameter.nargs == -1 else None
    if kind is Path and type(value) is str:
        return Path(value)
    if kind in (int, float) and type(value) is str and (number := _number(kind, value)) is not None:
        return number
    if kind == list[str] and isinstance(value, (list, tuple)) and all(type(each) is str for each in value):
        return list(value)
    if isinstance(kind, type) and issubclass(kind, StrEnum) and value in list(kind):
        return kind(value)
    if kind in (str, int, float) and type(value) is kind:
        return value
    try:
        return convert(context, value)
    except BadParameter:
        # What may come from the environment is named with its variable, and not shown: a seed may be a secret.
        if type(value) is str and parameter.name is not None and parameter.envvar is None:
            _refuse(parameter.name, kind, value)
        raise


def _refuse(name: str, kind: Any, value: str) -> None:
    """Say what a value must be, if that is one of a few words, or a number."""
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        Choice(tuple(word.value for word in kind))(name, value)
    if kind in (int, float):
        raise OptionError(f"{name} is {value!r}: it must be a {'whole ' if kind is int else ''}number")
