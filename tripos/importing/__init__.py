"""Imports from elsewhere: data, scores, replies of models, and other tools' logs and tasks."""
