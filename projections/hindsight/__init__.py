"""The Hindsight index: the log folded into Postgres, one schema a generation."""
