"""Tasks of other programs as specs: the texts that all importers write; a room for each program."""
