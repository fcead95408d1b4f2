"""Summaries of messages and notes proposed from them: by rules alone, or by a language model."""
