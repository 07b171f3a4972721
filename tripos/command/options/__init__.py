"""The options of every verb. Nothing here imports what a verb needs, so that help and mistakes come at once."""
