"""Facts from a model's name, without opening the model: its identity, its settings, whether it can be reached."""
