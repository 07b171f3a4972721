"""Functions of the library, by subject."""
