"""What carries out a run. An engine is a folder, and beside them stands what they share; nothing below knows of any."""
