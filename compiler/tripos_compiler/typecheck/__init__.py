"""Types: of expressions, calls and templates, and which type fits where."""
