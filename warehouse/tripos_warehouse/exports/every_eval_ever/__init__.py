"""Every Eval Ever 0.3.0: a run in the form of the format's schemas."""
