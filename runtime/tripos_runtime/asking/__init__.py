"""Asking: what is sent to a model, how its reply is read, and what is kept of it."""
