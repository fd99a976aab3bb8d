"""Runs with other limits than those that people have, so that what is giant can be small."""

from __future__ import annotations

import pytest

from lookalike.budget import Limits
from lookalike.config import Config

__all__ = ["limited"]


def limited(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    """From now on runs have these limits; that of pairs is still the one that is asked for."""
    monkeypatch.setattr(Config, "limits", property(lambda config: Limits(config.max_pairs, **limits)))
