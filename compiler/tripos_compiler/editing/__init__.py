"""Support for editors: the formatter and syntax highlighting."""
