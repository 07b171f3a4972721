"""Forms of results: a module for each, which declares its `EXPORTER`."""
