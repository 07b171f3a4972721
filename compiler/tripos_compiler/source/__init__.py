"""Sources: the text of specs, spans within it, and the syntax tree."""
