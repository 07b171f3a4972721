"""Verbs that export results and train models on them: export, train."""
