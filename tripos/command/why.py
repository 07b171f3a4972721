"""`tripos why`: everything that went into one result."""

from __future__ import annotations

from argparse import Namespace

import orjson

from tripos.command.opening import open_store
from tripos.command.provenance import find
from tripos.command.terminal import columns
from tripos.command.why_text import lines_of, to_data
from tripos.failure import GOOD, Failure
from tripos_warehouse.errors import StoreError
from tripos_warehouse.views.views import connect


def main(options: Namespace) -> int:
    """Prints what made a sample, a judgement or a score, and what was made from it."""
    store = open_store(options)
    try:
        connection = connect(store)
        try:
            told = find(connection, options.key)
        finally:
            connection.close()
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if options.json:
        print(orjson.dumps(to_data(told), default=str, option=orjson.OPT_INDENT_2).decode())
    else:
        print("\n".join(lines_of(told, columns(), full=options.full)))
    return GOOD
