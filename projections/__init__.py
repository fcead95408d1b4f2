"""Everything folded from the log."""
