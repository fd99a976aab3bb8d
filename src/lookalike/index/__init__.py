"""An index that is kept: items are looked up and added one by one."""

from lookalike.index.answers import Answer, Match, Near
from lookalike.index.index import Index

__all__ = ["Answer", "Index", "Match", "Near"]
