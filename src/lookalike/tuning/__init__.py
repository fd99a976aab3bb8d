"""Which shingle and threshold suit a collection, with or without a truth."""
