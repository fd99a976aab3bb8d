"""How large the parts of a log are, and what is left for later; tests make them small, so that all happens soon."""

__all__ = [
    "CHECKED_FIRST", "FIRST_TABLE", "FIRST_VOLUME", "LAST_TABLE", "LAST_VOLUME", "LEFT_IN_LOG", "RATIO",
]  # fmt: skip

# The bytes of the first volume; each has twice those of the one before, up to the most. Every volume is an open file or
# two, of which a process may have a thousand: 100 GB are 110 volumes.
FIRST_VOLUME, LAST_VOLUME = 1 << 20, 1 << 30
# Items of the first table; each has twice those of the one before, up to the most.
FIRST_TABLE, LAST_TABLE = 1 << 10, 1 << 16
# A segment is merged with those after it when it has less than this many times their items.
RATIO = 3
# Items of a table that are left to be read from the log when the index is opened again: 10 ms.
LEFT_IN_LOG = 1_000
# Bytes of segments whose checksums are compared when an index is opened: 20 ms. Those of more are compared by a thread
# while the first queries are answered; what it finds ends all that come after.
CHECKED_FIRST = 64 << 20
