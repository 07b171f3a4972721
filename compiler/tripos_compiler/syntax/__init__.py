"""Text to syntax tree. Nothing here knows what a statement means."""
