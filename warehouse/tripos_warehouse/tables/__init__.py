"""Tables for people to read elsewhere: one form, written as Markdown, LaTeX or HTML."""
