"""Language models that run on this machine."""
