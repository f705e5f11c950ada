"""Metrics by what they look at; each module declares them and computes them together."""
