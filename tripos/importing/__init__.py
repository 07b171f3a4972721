"""Imports from elsewhere: data, scores by people or other judges, replies of models, logs of other tools, and their
tasks."""
