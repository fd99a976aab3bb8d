"""From verified pairs to clusters, and to the one item that stays in each."""
