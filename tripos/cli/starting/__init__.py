"""Verbs that begin something: init, new."""
