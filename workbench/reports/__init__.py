"""Findings, reports and the gate."""
