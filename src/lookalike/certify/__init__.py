"""What a run can say about its own recall."""
