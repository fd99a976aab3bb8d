"""The options of an index: which ones it can have, how they are kept, and whether those that are given are the same."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.key import seed_shown
from lookalike.measure_table import measure_named

__all__ = ["check_same_options", "index_config", "moment_before", "plain_options"]


def index_config(config: Config) -> Config:
    """A configuration as an index has it: text weighs by `count`, and what changes as items come is refused.

    Whether the items are text is known when the first one comes; for others these weights mean nothing.
    """
    if config.max_share is not None:
        raise OptionError("max_share goes by how many documents have a shingle, which changes as items are added")
    if config.recall == 1.0 and config.bands is None:
        raise OptionError(
            "recall=1 is not possible for an index, which finds matches by hashes; nearest(recall=1) compares all items"
        )
    if config.measure is not None and measure_named(config.measure).boundless:
        raise OptionError(f"an index is not for {config.measure}: use neighbors, or cosine of vectors of one length")
    if config.measure is not None and config.max_distance is not None and not measure_named(config.measure).is_distance:
        raise OptionError(f"an index by {config.measure} tells similarities: give threshold, not max_distance")
    _check_weights(config.weights)
    weighs = config.measure is not None and measure_named(config.measure).weighs
    return replace(config, weights="count") if weighs else config


def _check_weights(weights: str | None) -> None:
    if weights not in (None, "count"):
        raise OptionError(
            f"weights={weights} go by how many documents have a shingle, which changes as items are added: use count"
        )


def plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options as JSON has them."""
    told = {}
    for name, value in options.items():
        if name == "shingle" and value is not None:
            value = str(value)
        if name == "normalize" and value is not None and not isinstance(value, str):
            value = ",".join(value)
        told[name] = value
    return told


def check_same_options(name: str, kept: Mapping[str, Any], given: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    """Refuse options that are `given` and not those that are kept; `told` are their values."""
    _check_weights(told["weights"])
    for option in given:
        if option != "tokens" and option in kept and plain_options({option: told[option]})[option] != kept[option]:
            shown = seed_shown(told[option]) if option == "seed" else told[option]
            raise OptionError(f"{name} was made with {option}={kept[option]!r}, and {shown!r} was given")


def moment_before(older_than: timedelta | datetime | float) -> int:
    """The moment before which items are too old, in milliseconds since 1970."""
    if isinstance(older_than, datetime):
        return int(older_than.timestamp() * 1000)
    seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else float(older_than)
    if not seconds >= 0:
        raise OptionError(f"older_than is {older_than}: it must be a time, 0 or longer")
    return int((time.time() - seconds) * 1000)
