"""Runs as people have them: results in memory, and the run folder."""
