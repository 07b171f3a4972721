"""Checks of the machine, the settings, the models and the store."""
