"""Support for editors: the formatter and the colouring of specs."""
