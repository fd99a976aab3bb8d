"""What engines of many machines are made of: stages from record batches to record batches, and what carries these."""
