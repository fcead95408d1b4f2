"""The only place that knows Dramatiq and Redis."""
