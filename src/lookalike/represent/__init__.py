"""Steps 1 and 2: from an item to the set of 64-bit hashes that stands for it."""
