"""Copies of secrets: fields that hold the values of a secret field under another name."""
