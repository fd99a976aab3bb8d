"""The slow twins of the kernels that make sets and sketches: `docs/hash-spec.md` in plain Python, obviously right.

Tests compare every kernel with them, and every run compares a few of its own items (`certify/step_checks.py`).
"""
