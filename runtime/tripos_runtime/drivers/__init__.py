"""Drivers of programs: a run over models, recorded replies, and a person who grades."""
