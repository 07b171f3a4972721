"""Type checking of expressions, calls and templates."""
