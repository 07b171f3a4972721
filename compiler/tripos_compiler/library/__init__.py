"""The function library. A Python signature is the Tripos signature; `table.py` lists the functions.

Every function is pure. `Any` takes a value of any type, `T | None` one that may be missing, and a type variable stands
for the same type wherever it occurs. A function that has no value for some arguments raises `Undefined` and declares it
in `table.py` (`partiality`); what depends on it is `undefined` where a reply is the reason, and `not_applicable` where
the item is. Any other exception is a bug.
"""
