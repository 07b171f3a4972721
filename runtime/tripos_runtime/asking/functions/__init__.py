"""Python functions of a plan: called in this process, as external scorers, as tools, and in a sandbox."""
