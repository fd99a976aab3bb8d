"""What carries out a run. An engine is a folder; nothing below them knows of any."""
