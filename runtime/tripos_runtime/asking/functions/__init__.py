"""Functions of the user in a run: Python that is called in this process, and scorers that are programs."""
