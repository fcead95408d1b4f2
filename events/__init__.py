"""The log: event types, encoding, schema, append, read, integrity."""
