"""Tables for readers: one model, written as terminal text, Markdown, LaTeX or HTML."""
