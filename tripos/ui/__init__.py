"""Text for terminals: width, colours, and text that no terminal obeys."""
