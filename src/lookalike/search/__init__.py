"""The nearest items of each query."""
