"""Kernels that only tests have."""

from __future__ import annotations

import pytest

from lookalike.kernels import cache


@pytest.fixture(autouse=True)
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines said about the kernels of this test, which no later test hears of."""
    said: list[str] = []
    monkeypatch.setattr(cache, "_noted", said)
    return said
