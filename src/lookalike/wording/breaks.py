"""Where a name may be broken if it has to be: after what ends a part of it, and nowhere else."""

from __future__ import annotations

import re

__all__ = ["NAME_BREAKS"]

# crawl/|part-|0001.|jsonl.|gz; not after a backslash, which may be half of an escape.
NAME_BREAKS = re.compile(r"(?<=[/_.:\s-])(?=[^/_.:\s-])")
