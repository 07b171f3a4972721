"""Models that litellm reaches, and what it knows of models."""
