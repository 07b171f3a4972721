"""The language server, which editors speak with over standard input and output."""
