"""Verbs about Tripos itself: doctor, explain, lsp."""
