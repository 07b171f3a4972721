"""`tripos lsp`: the language server, which an editor starts and speaks to over standard input and output."""

from __future__ import annotations

import importlib.util
import logging
import sys
from argparse import Namespace

from tripos.ui import GOOD, Failure


def main(options: Namespace) -> int:
    """Serve one editor until it is done. Raises `Failure` where the server is not installed."""
    if importlib.util.find_spec("pygls") is None:
        raise Failure("R0206", "the language server is not installed", "pip install 'tripos[lsp]'")
    from tripos.lsp import serve

    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # the server says what went wrong in lines of its own
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever else is printed must not get into the conversation
    serve(stdin, stdout)
    return GOOD
