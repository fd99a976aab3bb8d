"""What is said at the end of a run that cuts repeated spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.cli.stopwatch import elapsed
from lookalike.cli.terminal import say
from lookalike.wording.phrases import counted

__all__ = ["summary_of_spans"]


def summary_of_spans(report: Mapping[str, Any], *, quiet: bool) -> None:
    """What was cut, how sure that is, and everything that was skipped or replaced."""
    if quiet:
        return
    words, removed = report["words"], report["words_removed"]
    share = f" ({removed / words:.1%})" if words else ""
    say(
        f"cut {counted(report['spans'], 'span')} of {report['span_words']} words or more out of "
        f"{report['spanned_documents']:,} of {counted(report['items'], 'document')}: {removed:,} of "
        f"{counted(words, 'word')}{share}, {report['bytes_removed']:,} of {counted(report['bytes'], 'byte')} "
        f"in {elapsed():.1f} s"
    )
    say(f"  {report['certificate']['statement']}")
    if "spans_against" in report:
        say(f"  {counted(report['spans_against'], 'span')} of the other collection cut")
    if report["removed"]:
        say(f"  {counted(report['removed'], 'document')} left out: nothing remained of them")
    notes = (
        (report["null"], "null, taken as empty"),
        (report["empty"], "without any word, left as they are"),
        (report["short"], f"with fewer than {report['span_words']} words, in which there is no span"),
        (report["references"], "of the other collection to compare with"),
    )
    for number, what in notes:
        if number:
            say(f"  {counted(number, 'document')} {what}")
    for warning in report["warnings"]:
        say(f"  warning: {warning}")
