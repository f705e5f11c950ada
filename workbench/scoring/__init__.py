"""Scores and their states, derived from evidence and thresholds."""
