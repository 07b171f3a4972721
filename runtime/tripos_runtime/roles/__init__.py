"""Roles: which models fill them, and which may."""
