"""The inputs of a command: its store, its compiled spec, and the warnings about them.

A store that is only read is opened tolerantly: damaged parts are reported and skipped. The module keeps the stores that
the command has opened, so that `main` can run the command again without damaged rows.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.settings.config import SETTINGS_FILE, Config
from tripos.settings.load import ChosenSettings, chosen_settings, load_config
from tripos.settings.options import ALLOW_OUTSIDE, MODEL, RELEASES, STORE, CheckParameters, RunParameters
from tripos.settings.trust import trust_of
from tripos.terminal import is_colored, show_diagnostic, show_message, show_text, terminal_width
from tripos_compiler.errors import TriposError
from tripos_warehouse.errors import StoreError

if TYPE_CHECKING:
    from tripos.runs.preparation import RunWarning
    from tripos_compiler.compile import Compilation
    from tripos_compiler.diagnostics.diagnostic import Diagnostic
    from tripos_runtime.datasets.data_files import DataFolders
    from tripos_warehouse.store.store import Store


MOST_SHOWN = 4
"""The maximum number of places that a warning names. The rest are counted."""


COMMITTED_DAMAGE = ("S0103", "S0402")
"""Codes of damage that removes committed rows, so that figures lack them."""
_opened: list[Store] = []
"""The stores that the command reads. A second attempt uses the same ones, without their damaged rows."""
_damage: list[StoreError] = []
"""The damage reported for these stores."""


def open_store(options: Namespace, *, writes: bool = False, on_bucket: bool = True) -> Store:
    """Return the store of `--store`, of the settings, or `results`.

    Report damaged parts on standard error and skip them. A store that the command writes to must be undamaged. Raises
    `TriposError` if there is no store, and S0113 for a store on a bucket if `on_bucket` is false.
    """
    from tripos_warehouse.store.paths import address_of
    from tripos_warehouse.store.store import Store

    root = chosen_settings(options).config.store
    if not on_bucket and address_of(root):
        hint = f"use a store in a folder, with {STORE}"
        raise TriposError("S0113", f"this command does not write to a store on a bucket yet: `{root}`", hint)
    if not writes:
        for store in _opened:
            if store.place == (address_of(root) or str(Path(root).expanduser().resolve())):
                return store
    store = Store.open(root, create=False, on_damage=_tell, tolerant=not writes)
    if not writes:
        _opened.append(store)
    return store


def found_damage() -> bool:
    """Check the stores that this command reads, and return true if rows are damaged. The command then skips these
    rows."""
    found = [store.sweep() for store in _opened]
    return any(found)


def left_out() -> bool:
    """Return true if the answer of this command lacks rows that its stores had committed."""
    return any(error.code in COMMITTED_DAMAGE for error in _damage)


def forget() -> None:
    """Release the stores at the end of a command."""
    _opened.clear()
    _damage.clear()


def _tell(error: StoreError) -> None:
    """Print damage of a store, and remember it for `left_out`."""
    from tripos_compiler.diagnostics.i18n import localized

    message = f"{localized(error.message)}{localized(': ')}{localized('what it held is left out')}"
    show_diagnostic("error", error.code, message, error.hint)
    _damage.append(error)


def compile_command_spec(options: Namespace, config: Config) -> tuple[Compilation, DataFolders]:
    """Compile the spec of a command and print its diagnostics. Return the compilation and its data folders."""
    from tripos.releases.network_policy import policy_of
    from tripos.runs.compilation import find_spec
    from tripos.settings.config import chosen_denials

    releases = (*RELEASES.of(options), *config.releases)
    reach = policy_of(options)
    fetch = replace(reach, local_files=False) if RunParameters.fetch.of(options) else None
    spec = find_spec(
        options.path,
        options.data,
        config.data,
        releases,
        fetch,
        allow_outside=ALLOW_OUTSIDE.of(options),
        trust=trust_of(options),
        reach=reach,
    )
    compilation = spec.compile(chosen_denials(options, config))
    show_diagnostics(compilation.diagnostics)
    return compilation, spec.folders


def with_mock_models(options: Namespace, chosen: ChosenSettings, compilation: Compilation) -> ChosenSettings:
    """Return the settings with mock models for a benchmark that comes with Tripos, if no model is given. They come from
    the `tripos.toml` beside its main file. A message says so."""
    from tripos.runs.compilation import is_shipped
    from tripos.runs.selection import names_any_model, request_of

    folder = Path(compilation.sources[0].path).parent
    if names_any_model(request_of(options), chosen.config) or not is_shipped(folder):
        return chosen
    if not (folder / SETTINGS_FILE).is_file():
        return chosen
    config = load_config(folder, environ={})
    show_message(f"no model is given: mock models reply; name real ones with {MODEL}", stderr=True)
    return replace(chosen, config=chosen.config.model_copy(update={"models": config.models, "roles": config.roles}))


def show_diagnostics(diagnostics: Iterable[Diagnostic], *, every: bool = False) -> None:
    """Print diagnostics on standard error: the first hundred, or all with `every`."""
    from tripos_compiler.diagnostics.renderers import MAX_SHOWN, render_text

    most, others = None if every else MAX_SHOWN, f": `tripos check {CheckParameters.all}` shows them"
    text = render_text(diagnostics, color=is_colored(sys.stderr), width=terminal_width(), most=most, others=others)
    if text:
        show_text(text, stderr=True, styled=True)


def warning_printer(options: Namespace, config: Config) -> Callable[[RunWarning], None]:
    """Return a function that prints a warning, or raises `TriposError` if the warning is denied."""
    from tripos.runs.preparation import check_denied
    from tripos.settings.config import chosen_denials

    def warn(warning: RunWarning) -> None:
        check_denied(warning, chosen_denials(options, config))
        places = list(warning.places[:MOST_SHOWN])
        if len(warning.places) > MOST_SHOWN:
            places.append(f"and {len(warning.places) - MOST_SHOWN:,} more")
        show_diagnostic("warning", warning.code, warning.message, warning.hint, places)

    return warn
