"""Output that is whole or not there, in folders that are ours."""
