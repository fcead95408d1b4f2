"""The jobs: what keeps memory tidy, by appending events and in no other way."""
