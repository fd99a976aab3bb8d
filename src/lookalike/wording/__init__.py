"""Words for people: what may be shown, how much of what, why something failed, how far a stage is."""
