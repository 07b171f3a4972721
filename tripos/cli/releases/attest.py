"""`tripos attest`: a statement about the result of a run, to be signed and cited."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from tripos.cli.inputs import open_store
from tripos.releases.publishing import OF_RESULTS, attest, check_result, sign
from tripos.settings import chosen_settings
from tripos.ui import GOOD, SOME_FAILED, Failure, print_json, show_message
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import Store


def main(options: Namespace) -> int:
    """Write the statement about a run, and sign it."""
    try:
        lock = None if options.lock is None else Path(options.lock)
        if lock is not None and not lock.is_file():
            raise Failure("R0202", f"there is no lock file `{lock}`", "`tripos lock PATH` writes one")
        made = attest(open_store(options), options.run, lock)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    path = Path(options.output or f"{made.predicate.benchmark}-{made.predicate.run.run_id}.result.json")
    raw = made.to_bytes()
    signature = None
    try:
        path.write_bytes(raw)
        if options.sign_key:
            name = f"{made.predicate.benchmark} {made.predicate.version} {made.predicate.run.run_id}"
            signature = sign(path, Path(options.sign_key), name, os.environ, OF_RESULTS)
    except OSError as error:
        raise Failure(
            "S0102", f"cannot write `{path}`: {error.strerror}", "write it somewhere else: -o FILE"
        ) from error
    if options.json:
        print_json({"statement": str(path), "signature": signature, "run_id": made.predicate.run.run_id})
        return GOOD
    show_message(f"written to {path}")
    if signature is not None:
        show_message(f"signed: {signature}")
    return GOOD


def verify_result(options: Namespace) -> int:
    """Check a statement about a result; exit code 1 where anything in it is not as it was attested, or where nothing
    could be checked."""
    store = None
    try:
        if options.store is not None:
            store = Store.open(chosen_settings(options).config.store, create=False)
        statement, checks = check_result(Path(options.result), store, options.key)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    wrong = [each for each in checks if each.outcome == "wrong"]
    good = sum(each.outcome == "good" for each in checks)
    code = GOOD if good and not wrong else SOME_FAILED
    told = statement.predicate
    if options.json:
        found = [{"what": each.what, "outcome": each.outcome, "told": each.told} for each in checks]
        print_json({"run_id": told.run.run_id, "good": code == GOOD, "checks": found})
        return code
    head = f"{told.benchmark} {told.version}, run {told.run.run_id}"
    outcome = "not as it was attested" if wrong else "as it was attested" if good else "nothing was checked"
    show_message(f"{head}: {outcome}")
    for each in wrong:
        show_message(f"  wrong: {each.what} {each.told}")
    if not wrong:
        show_message(f"  good: {good:,} checks")
    for each in checks:
        if each.outcome == "unchecked":
            show_message(f"  not checked: {each.what}: {each.told}")
    return code
