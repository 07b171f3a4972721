"""Forms of specs: a module for each, which declares its `EMITTER`."""
