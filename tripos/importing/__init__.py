"""Imports of results that were produced elsewhere: scores by people or other judges, and replies of models."""
