"""Imports: what other systems wrote, taken over as events."""
