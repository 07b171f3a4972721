"""The program of a unit: its steps, from the first question to the last score."""
