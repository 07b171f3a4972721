"""The constructs of the language: their table, the signatures they are written by, and the statements read by these."""
