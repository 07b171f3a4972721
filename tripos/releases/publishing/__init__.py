"""The making of a release: its contents, its descriptions, its version."""
