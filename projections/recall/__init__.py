"""Recall: one question over the channels, checked against the log before an answer leaves."""
