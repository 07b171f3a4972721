"""What the warehouse raises: one exception that carries a code, what is wrong and how to mend it."""

from __future__ import annotations


class StoreError(Exception):
    """A failure that the user can do something about.

    | code  | meaning                                             |
    | ----- | --------------------------------------------------- |
    | W0101 | no store at that path                               |
    | W0102 | the store cannot be written                         |
    | W0103 | a committed file is missing or unreadable           |
    | W0104 | the store was written by a newer Tripos             |
    | W0105 | a row does not fit its table                        |
    | W0106 | a place that is no folder of this machine           |
    | W0107 | a store that leads out of its folder                |
    | W0201 | the database refused a query                        |
    | W0202 | no such answer format                               |
    | W0203 | a statement that does more than read                |
    | W0204 | a table, column or function that is not there       |
    | W0205 | a query that reaches outside the store              |
    | W0301 | no such run                                         |
    | W0302 | no such result                                      |
    | W0303 | several results begin like that                     |
    | W0401 | a part is damaged                                   |
    | W0402 | a commit is damaged                                 |
    | W0403 | a row is about one that is not there                |
    | W0404 | kept rows that could not be committed               |
    | W0601 | no such export                                      |
    | W0602 | no such measure, score, step, dimension or model    |
    | W0603 | nothing to export                                   |
    | W0604 | an export cannot be written                         |
    | W0605 | a file that does not fit its schema                 |
    | W0611 | runs of two benchmarks                              |
    | W0612 | a metric with another scale                         |
    | W0613 | two sides that share no scored item                 |
    | W0614 | models of which it is not clear which to compare    |
    | W0615 | scores that mean different things                   |

    >>> print(StoreError("W0101", "no store at `results`", "run a benchmark first"))
    W0101: no store at `results`
      help: run a benchmark first
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}"
        return f"{text}\n  help: {self.hint}" if self.hint else text
