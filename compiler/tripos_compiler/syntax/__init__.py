"""Text to syntax tree, without any knowledge of statements."""
