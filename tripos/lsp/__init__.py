"""The language server, which editors run over standard input and output."""
