"""The warehouse: results in, answers in SQL out."""
