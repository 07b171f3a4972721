"""Verbs about specs: new, check, fmt, describe."""
