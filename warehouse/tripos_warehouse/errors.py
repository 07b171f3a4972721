"""The exception of the warehouse: an error code, what is wrong, and how to fix it."""

from __future__ import annotations

import errno
from pathlib import Path

from tripos_compiler.errors import TriposError

FIND_DAMAGE = "find the damaged file with `tripos store check`"
"""The hint for a store whose rows cannot be read."""


class StoreError(TriposError):
    """A failure that the user can do something about.

    | code  | meaning                                                       |
    | ----- | ------------------------------------------------------------- |
    | S0101 | no store at that path                                         |
    | S0102 | the store cannot be written                                   |
    | S0103 | a committed file is missing or unreadable                     |
    | S0104 | the store was written by a newer Tripos                       |
    | S0105 | a row does not fit its table                                  |
    | S0106 | the path is not a folder of this machine                      |
    | S0107 | a link in the store leads out of its folder                   |
    | S0108 | no such bucket                                                |
    | S0109 | the bucket refuses access                                     |
    | S0110 | the bucket is out of reach                                    |
    | S0111 | the object store has no conditional writes                    |
    | S0112 | a worker lost its lease                                       |
    | S0113 | the command does not write to a bucket yet                    |
    | S0114 | the mirror cannot be made                                     |
    | S0201 | the database refused a query                                  |
    | S0202 | no such output format                                         |
    | S0203 | the statement does more than read                             |
    | S0204 | no such table, column or function                             |
    | S0205 | the query reaches outside the store                           |
    | S0210 | the plan is of another benchmark than the run                 |
    | S0211 | an aggregate in Python failed                                 |
    | S0212 | an aggregate in Python was not run on this machine before     |
    | S0301 | no such run                                                   |
    | S0302 | no such result                                                |
    | S0303 | several results begin with this prefix                        |
    | S0401 | a part is damaged                                             |
    | S0402 | a commit is damaged                                           |
    | S0403 | a row refers to a row that is missing                         |
    | S0404 | journal rows could not be committed                           |
    | S0405 | two stores have different runs with one id                    |
    | S0406 | another process compacts the store or merges into it          |
    | S0506 | another import of scores is running                           |
    | S0601 | no such export                                                |
    | S0602 | no such measure, score, step, dimension or model              |
    | S0603 | nothing to export                                             |
    | S0604 | the export cannot be written                                  |
    | S0605 | a file does not fit its schema                                |
    | S0606 | the libraries for telemetry are not installed                 |
    | S0607 | the endpoint takes no telemetry                               |
    | S0611 | the runs are of two benchmarks                                |
    | S0612 | a metric has another scale                                    |
    | S0613 | the two sides share no scored item                            |
    | S0614 | it is not clear which models to compare                       |
    | S0615 | the scores mean different things                              |
    | S0616 | the margin of equivalence fits no row                         |
    | S0621 | the picture has no figures                                    |
    | S0622 | the libraries for drawing are not installed                   |
    | S0623 | no font with Chinese, Japanese or Korean                      |
    | S0624 | the labels leave no room for the picture                      |

    >>> print(StoreError("S0101", "no store at `results`", "run a benchmark first"))
    S0101: no store at `results`
      help: run a benchmark first
    """


def is_full(error: Exception) -> bool:
    """Return true if an error means that the disk is full, which Arrow's errors only say in their message."""
    has_code = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return has_code or "No space left on device" in str(error)


def unreadable_table_error(table: str, error: Exception) -> StoreError:
    """Return the error of a table of a store that DuckDB cannot read."""
    message = f"the table `{table}` cannot be read: {' '.join(str(error).split())}"
    return StoreError("S0103", message, FIND_DAMAGE)


def store_write_error(root: Path, error: Exception) -> StoreError:
    """Return the error of a store that cannot be written, with a reason and a hint taken from the system error."""
    match error:
        case _ if is_full(error):
            why, hint = "the disk is full", "free some space and run the same command again"
        case OSError(errno=errno.EACCES | errno.EPERM | errno.EROFS):
            why, hint = "permission denied", "give yourself write access to it, or choose another with `--store`"
        case OSError(errno=errno.ENOTDIR | errno.EEXIST):
            why, hint = "a file is in the way", "name a folder with `--store`"
        case _:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            hint = "fix the disk and run the same command again"
    return StoreError(
        "S0102",
        f"cannot write to the store at `{root}`: {why}",
        f"{hint}; everything committed so far is kept and is not asked for twice",
    )
