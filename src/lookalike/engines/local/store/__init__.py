"""What a run keeps between its stages: in memory while it fits, otherwise in files of the work folder."""
