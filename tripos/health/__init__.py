"""Whether everything that a run needs is in order: the machine, the settings, the models, the store."""
