"""The function library: a Python signature is the Tripos signature, and `registry.py` lists the functions.

Every function is pure. `Any` accepts a value of any type, `T | None` a value that may be missing, and a type variable
stands for the same type wherever it occurs. A function that is undefined for some arguments raises `Undefined` and
declares this in the registry (`partial`). An expression that depends on it is then `undefined` if a reply is the cause,
and `not_applicable` if the item is. Any other exception is a bug.
"""
