"""Data sets that models write: slots, attempts at them, and what becomes of each."""
