"""The sample conversation that `foldlog demo` loads."""
