"""Steps of a scenario that ask, converse and retrieve."""
