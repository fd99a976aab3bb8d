"""Threads: work done in order, work lent to idle threads, writing behind the caller."""
