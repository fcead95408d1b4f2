"""Recall on public question sets, without a language model: see recall_quality.py beside this folder."""
