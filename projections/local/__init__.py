"""The read model: current facts, threads, messages and notes, in the log's own file."""
