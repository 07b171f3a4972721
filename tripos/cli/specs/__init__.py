"""Verbs about specs: init, new, check, fmt, describe, worlds."""
