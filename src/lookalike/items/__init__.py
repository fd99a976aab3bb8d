"""From rows of an input to the items of a run: which columns, which units, which ids, in which order."""
