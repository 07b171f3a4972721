"""Reading of what models return: tolerant of form, strict about content.

A reader never raises and never makes a value up. An unreadable reply is an error with a reason."""
