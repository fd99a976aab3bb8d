"""Rows that no file holds as they are: items in memory, and sets made of edges."""
