"""Embedders: text as vectors, each behind the protocol in `embedder`, made by name in `registry`."""
