"""The way of a search for spans: runs of at least k words that stand somewhere earlier.

    entry_pass.py    reads every document once; which windows of k words may be there twice, by 7% of the hashes
    window_pass.py   reads those again; which windows are, by hashes of 64 bits, joined into spans
    place_pass.py    reads what has to do with a span; where it stands, and whether the words are the same
    found_spans.py   what is cut, and what is left

Nothing is missed: equal windows have equal hashes, and the same entry. Nothing is taken for the same that is not: the
words are compared, and if they differ anywhere all is done again with another key, whose collisions are other ones. So
what is found depends on the words alone, not on the seed, threads, memory or interruptions.

A word is *repeated* if it lies in a window of k words of its document that equals one which begins earlier, in document
order and then by place. A span is as many repeated words as stand side by side.
"""

from __future__ import annotations

import time
from dataclasses import asdict

from lookalike.config import Config
from lookalike.engines.counts import Counts
from lookalike.engines.local.room import give_back_memory
from lookalike.engines.local.spans.entry_pass import find_entries, finished_attempt
from lookalike.engines.local.spans.found_spans import (
    FoundSpans,
    SpanCounts,
    cuts_of,
    kept_rows,
    load_cuts,
    save_cuts,
)
from lookalike.engines.local.spans.place_pass import find_places
from lookalike.engines.local.spans.span_context import SpanContext
from lookalike.engines.local.spans.window_pass import find_repeated
from lookalike.engines.local.store.work_folder import Work
from lookalike.errors import InputError
from lookalike.io.source import Source
from lookalike.items.collection import open_collection
from lookalike.wording.progress import SILENT, Progress

__all__ = ["find_spans"]

# Two different windows of 10¹⁰ have one hash of 64 bits by chance in three runs of a thousand, with each key anew.
_ATTEMPTS = 4


def find_spans(
    source: Source,
    config: Config,
    progress: Progress = SILENT,
    *,
    against: Source | None = None,
    work: Work | None = None,
) -> FoundSpans:
    """From a source to what is cut out of its documents; those of `against` come before them, and are not cut."""
    work = work or Work()
    try:
        collection = open_collection(source, against, config)
        counts = Counts()
        for attempt in range(finished_attempt(work), _ATTEMPTS):
            found = _attempt(SpanContext(collection, config, counts, work, progress, attempt))
            if found is not None:
                return found
    finally:
        work.close()
    raise InputError(f"in {_ATTEMPTS} attempts different words had the same hashes: give another seed (--seed)")


def _attempt(run: SpanContext) -> FoundSpans | None:
    """All passes, but for those that an earlier process finished; None if hashes took different words for the same."""
    seconds: dict[str, float] = {}
    begun = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal begun
        give_back_memory(above=run.config.budget.kept_when_free)
        now = time.perf_counter()
        seconds[name] = now - begun
        begun = now

    entries = find_entries(run)
    lap("reading words")
    taken_up = load_cuts(run.work)
    if taken_up is not None:
        cuts, data = taken_up
        figures, seconds, spilled = SpanCounts(**data["figures"]), data["seconds"], data["spilled"]
    else:
        repeated = find_repeated(run, entries)
        lap("finding repeated words")
        places = find_places(run, entries.numbers, repeated)
        lap("comparing words")
        if places.unlike:
            return None
        cuts = cuts_of(entries.numbers, repeated, places)
        figures = SpanCounts.of(entries, cuts, len(repeated.copies), run.attempt)
        spilled = entries.spilled + repeated.spilled
        if run.work.resumable:
            save_cuts(run.work, cuts, {"figures": asdict(figures), "seconds": seconds, "spilled": spilled})
    kept = kept_rows(entries.numbers, cuts)
    return FoundSpans(run.collection, run.config, run.counts, figures, cuts, kept, entries.ids, seconds, spilled)
