"""People who grade: what they are handed, how it comes back, and what it becomes."""
