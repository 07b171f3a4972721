"""Source text, spans, the syntax tree, and the protocols of data readers and release finders."""
