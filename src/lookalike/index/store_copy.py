"""A copy of a store as it is at one moment, while others add to it."""

from __future__ import annotations

from lookalike.index.log_store import LogStore
from lookalike.index.medium import Medium
from lookalike.index.records import SPARE

__all__ = ["copy_store"]


def copy_store(store: LogStore, medium: Medium) -> None:
    """Copy everything to an empty medium. The view keeps all that it needs mapped, so nobody has to wait."""
    view, manifest, ends = store.snapshot()
    manifest |= {"table": None, "claimed": [], "moving": None}
    manifest["volumes"] = {str(number): end for number, end in sorted(ends.items())}
    copied = []
    for told, segment in zip(manifest["segments"], view.segments, strict=True):
        medium.make(told["name"], segment.nbytes)[:] = segment.data
        # Memory has no checksums; those of a folder show what went wrong on the way.
        found = medium.settle(told["name"])
        copied.append(told if store.medium.checks else told | {"checksum": found})
    manifest["segments"] = copied
    for number, volume in view.volumes.items():
        # The spare bytes are zeros, whatever was written there since.
        medium.make(volume.name, ends[number] + SPARE)[: ends[number]] = volume.data[: ends[number]]
        medium.settle(volume.name)
    medium.save(manifest)
