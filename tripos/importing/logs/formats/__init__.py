"""Log formats of other tools: a module for each, which declares its `IMPORTER`."""
