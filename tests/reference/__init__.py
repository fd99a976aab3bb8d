"""The slow twins: the specification in plain Python, written to be obviously right."""
