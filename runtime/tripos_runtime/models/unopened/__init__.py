"""What a model's name says, without opening it: its identity, its settings, whether it can be reached."""
