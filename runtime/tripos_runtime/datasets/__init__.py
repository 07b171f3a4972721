"""Data sets: files and generated rows to cases, and which of them a run covers."""
