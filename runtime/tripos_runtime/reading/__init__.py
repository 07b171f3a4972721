"""Reads what models really return: tolerant of form, strict about content.

The invariant: a reader never raises and never makes a value up. What cannot be read is an error with a reason.
"""
