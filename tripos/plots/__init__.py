"""Pictures of results: a table of figures that the warehouse took, and an Altair chart of it, kind by kind."""
