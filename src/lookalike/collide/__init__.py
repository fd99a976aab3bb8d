"""Step 4, first half: items that share a bucket in at least one band are candidates."""
