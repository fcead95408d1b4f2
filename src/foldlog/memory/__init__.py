"""The memory facade: everything a program does with a log goes through one object."""

from foldlog.memory.memory import Memory

__all__ = ["Memory"]
