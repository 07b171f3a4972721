"""The command line: one module a verb, imported when the verb is used."""
