"""From places to rows: which files there are, what is in them, and what may be wrong with it."""
