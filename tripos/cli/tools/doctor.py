"""`tripos doctor`: whether everything that a run needs is in order, and what to do where it is not."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tripos.cli.tools.installation import Finding, Status, lines_of, verdict
from tripos.settings import (
    ChosenSettings,
    Config,
    key_values,
    load_env,
    load_settings,
    trust_of,
    with_options,
    without_keys,
)
from tripos.ui import GOOD, SOME_FAILED, Failure, harmless, is_colored, print_json, show_text, terminal_width
from tripos_compiler.diagnostics import localized
from tripos_runtime.models.catalog import every_variable

MOST = 80
"""Columns of a line, however wide the terminal is."""
COLOURS: dict[Status, str] = {"ok": "32", "warning": "33", "problem": "31"}


def main(options: Namespace) -> int:
    """Print a table of checks, or the checks as JSON. Exit code 1 where there is a problem."""
    roles = _roles(options)
    checks, secrets = _checks(options, roles)
    # Whatever an endpoint or a file said may hold a key; nothing is printed before it has been through here.
    checks = [
        replace(each, told=without_keys(each.told, secrets), mend=without_keys(each.mend, secrets)) for each in checks
    ]
    failed = any(check.status == "problem" for check in checks)
    if options.json:
        status = "problem" if failed else "warning" if any(each.status == "warning" for each in checks) else "ok"
        table = {"status": status, "checks": [asdict(check) for check in checks]}
        print_json(table)
    else:
        _show(checks)
    return SOME_FAILED if failed else GOOD


def _checks(options: Namespace, roles: dict[str, list[str]]) -> tuple[list[Finding], tuple[str, ...]]:
    from tripos.cli.tools.installation import (
        failed_check,
        machine_checks,
        model_checks,
        project_checks,
        role_table,
        sandbox_check,
        store_checks,
    )

    folder = Path.cwd()
    checks = list(machine_checks())
    of_machine = len(checks)
    readable = True
    try:
        trust = trust_of(options)
        environ = load_env(folder, trust)
        chosen = load_settings(folder, profile=options.profile, environ=environ, trust=trust)
        checks += project_checks(chosen, folder, environ)
    except Failure as failure:
        environ = every_variable()
        chosen = ChosenSettings(Config(), secrets=key_values(environ))
        checks.append(failed_check(failure))
        readable = False
    config = with_options(chosen.config, options)
    checks.insert(of_machine, sandbox_check(config))
    table = role_table(config, _names(options.model), roles)
    if readable or table:  # settings that cannot be read may name models
        checks += model_checks(table, config, environ, ask=options.ask)
    checks += store_checks(config.store, folder)
    return checks, chosen.secrets


def _show(checks: Sequence[Finding]) -> None:
    colored = is_colored(sys.stdout)
    for status, line in lines_of(checks, min(terminal_width(), MOST)):
        show_text(_colored(status, harmless(line)) if colored else line, styled=colored)
    show_text(verdict(checks))


def _colored(status: Status | None, line: str) -> str:
    if status is not None:
        shown = localized(status)
        return line.replace(shown, f"\x1b[{COLOURS[status]}m{shown}\x1b[0m", 1)
    return line if line.startswith(" ") else f"\x1b[1m{line}\x1b[0m"


def _roles(options: Namespace) -> dict[str, list[str]]:
    roles: dict[str, list[str]] = {}
    for text in options.role:
        name, equals, models = text.partition("=")
        if not equals or not _names([models]):
            raise Failure("R0202", f"`--role {text}` names no model", "write --role NAME=PROVIDER/MODEL")
        roles[name] = [*roles.get(name, []), *_names([models])]
    return roles


def _names(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.strip() for value in values for name in value.split(",") if name.strip()))
