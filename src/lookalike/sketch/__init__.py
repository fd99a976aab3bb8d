"""Step 3: from a set to a short sketch whose slots agree as often as the sets are similar."""
