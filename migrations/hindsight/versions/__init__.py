"""Revisions of the control schema, oldest first."""
