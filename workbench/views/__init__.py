"""Widgets and figures; each is a view of a function that works without it."""
