"""Pictures of results: figures from the warehouse, drawn as Altair charts of several kinds."""
