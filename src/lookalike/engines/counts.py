"""What was seen on the way; every cap, skip and replacement is here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Counts"]


@dataclass(slots=True)
class Counts:
    """Of the run's own items, unless it says otherwise."""

    items: int = 0
    rows: int = 0
    null: int = 0
    empty: int = 0
    short: int = 0
    # Items that cannot be compared: vectors of another length, with NaN, or without a direction.
    bad_items: int = 0
    invalid_utf8: int = 0
    # Web pages without a main text, whose whole visible text counts, and those of them that could not be parsed.
    html_fallback: int = 0
    html_broken: int = 0
    # Shingles left out because they stand in too many documents, once for each document, and items left without any.
    dropped_shingles: int = 0
    emptied_items: int = 0
    # Paragraphs or lines of too few words to be items, and items that are repeated too seldom to be removed.
    few_words: int = 0
    seldom: int = 0
    skipped_rows: int = 0
    # Items of the collection that was compared against.
    references: int = 0
    # Items with so many elements that the audit does not look at them.
    unaudited_items: int = 0
    # Items that are identical to an earlier one.
    identical: int = 0
    # Of those that seemed so by their hashes, which ones are not by what they are made of (verify="text").
    refused_identical: int = 0
    refused_matches: int = 0
    candidates: int = 0
    matches: int = 0
    # Items in the largest bucket of any band, and what became of buckets that were too large to compare pair by pair.
    largest_bucket: int = 0
    giant_buckets: int = 0
    giant_items: int = 0
    # Items of giant lists that were compared with leaders only, and those that could not even be examined that way.
    led_items: int = 0
    unexamined_items: int = 0
    # Pairs that the bands missed and the audit found.
    audit_pairs: int = 0
    # Items that were made into sets and keys again, by the slow twins, and those that came out differently; pairs of
    # buckets that were compared again and match, and those of them that are not among the matches.
    checked_items: int = 0
    faulty_items: int = 0
    checked_pairs: int = 0
    lost_pairs: int = 0
