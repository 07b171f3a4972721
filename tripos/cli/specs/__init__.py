"""Verbs about specs: check, fmt, describe."""
