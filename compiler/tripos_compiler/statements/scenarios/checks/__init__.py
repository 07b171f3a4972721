"""Checks of a scenario: contamination, protocol, trial replies, and parts that nothing uses."""
