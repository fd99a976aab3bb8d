"""Step 4, second half: candidates are checked on the items themselves, so that precision is 1."""
