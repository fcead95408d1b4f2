"""Revisions of the log, oldest first."""
