"""Kept rows from the input to the output, with all that their format has."""
