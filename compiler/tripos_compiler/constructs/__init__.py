"""The constructs of the language: their table, their signatures, and the reading of statements."""
