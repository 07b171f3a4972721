"""The base of errors that a user can mend: a code, what is wrong, and how to mend it."""

from __future__ import annotations


class CodedError(Exception):
    """An error with a code. `str` of it is the message.

    >>> error = CodedError("R0401", "`3 apples` is no amount", "write `$2`, `500k tokens` or `300 calls`")
    >>> error.code, str(error)
    ('R0401', '`3 apples` is no amount')
    """

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
