"""What a stage says about how far it is. The command line draws it; the library is silent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["SILENT", "Progress", "Stage"]


class Stage:
    """One bar: `advance` it by what has been done."""

    def advance(self, amount: float = 1) -> None:
        """Note that `amount` more is done."""


class Progress:
    """Opens a bar for each stage; this one shows nothing."""

    @contextmanager
    def stage(self, name: str, total: float | None = None, unit: str = "items") -> Iterator[Stage]:
        """A bar that lives as long as the stage."""
        yield Stage()

    def note(self, message: str) -> None:
        """Something worth saying while it runs."""


SILENT = Progress()
