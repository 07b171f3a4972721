"""Tables for readers: one model (`model`), how values are written (`values`), and a renderer for each format."""
