"""`tripos completion`: the script that completes commands in a shell.

shtab writes it from the parser, for all four shells. It is static: a key stroke starts no Python. Names of runs are
read by the shell itself, from the files of the store.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from tripos.cli.parser import build_parser
from tripos.ui import GOOD, show_output

SPECS = ("PATH", "URL|PATH", "A", "B")
"""How options call a benchmark; A and B are those of `tripos diff`."""
FOLDERS = ("DIR", "FOLDER")
FILES = ("FILE", "TOML")
MODELS = ("A[,B]", "A,B", "MODEL")
RUNS = ("RUN", "RUN[,RUN]")


class Shell(NamedTuple):
    """A shell: how it loads the script, and the lines that stand below it."""

    install: str
    after: str = ""


# Behind `openai/` or a folder the word goes on: no space is wanted there.
_BASH = """
_tripos_without_space() {
  _shtab_tripos "$@"
  if [[ ${#COMPREPLY[@]} = 1 && ${COMPREPLY[0]} == */ ]]; then
    compopt -o nospace 2>/dev/null || :
  fi
}
complete -o bashdefault -F _tripos_without_space tripos
"""

SHELLS = {
    "bash": Shell("echo 'eval \"$(tripos completion bash)\"' >> ~/.bashrc", _BASH),
    "zsh": Shell("echo 'eval \"$(tripos completion zsh)\"' >> ~/.zshrc  (below compinit)"),
    "fish": Shell("tripos completion fish > ~/.config/fish/completions/tripos.fish"),
    "powershell": Shell("tripos completion powershell >> $PROFILE"),
}


def main(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    import shtab

    parser = build_parser()
    models, runs = _models(), _runs()
    for action in _actions(parser):
        if action.metavar in MODELS:
            action.complete = models  # type: ignore[attr-defined]
        elif action.metavar in RUNS:
            action.complete = runs  # type: ignore[attr-defined]
        elif action.metavar in FOLDERS or action.dest == "output":
            action.complete = shtab.DIRECTORY if action.metavar in FOLDERS else shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in SPECS:
            action.complete = shtab.glob("*.tripos") | {"zsh": "_files -g '*.tripos'"}  # type: ignore[attr-defined]
        elif action.metavar == "CODE|WORD":
            action.choices = _words()
    script = shtab.complete(parser, options.shell)
    if options.shell == "zsh":
        # shtab excludes all further words here, and zsh then completes neither them nor an option.
        script = script.replace('"(*):', '"*:')
    show_output(f"{script}\n{SHELLS[options.shell].after}")
    return GOOD


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield every option and argument of a parser and of the parsers below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
        else:
            yield action


def _models() -> dict[str, Any]:
    """Return how each shell completes a model: by the names of mocks and of the local model, and by providers, after
    whose `/` the word goes on."""
    from tripos_runtime.models.catalog import FOREIGN, PROVIDERS
    from tripos_runtime.models.local import WEIGHTS
    from tripos_runtime.models.mocks import CHARACTERS

    providers = [f"{name}/" for name in (*PROVIDERS, *FOREIGN)]
    mocks = [f"mock/{name}" for name in CHARACTERS if name.islower()]  # `student-A-R` is a pattern
    names = sorted({*providers, *mocks, *(f"local/{name}" for name in WEIGHTS)})
    listed = " ".join(names)
    quoted = ", ".join(f"'{name}'" for name in names)
    return {
        "bash": "_tripos_models",
        "zsh": "_tripos_models",
        "fish": listed,
        "powershell": "_tripos_models",
        "preamble": {
            "bash": f'_tripos_models() {{\n  compgen -W "{listed}" -- "$1"\n}}',
            "zsh": f"_tripos_models() {{\n  compadd -S '' -- {listed}\n}}",
            "powershell": "function _tripos_models {\n  param([string]$WordToComplete)\n"
            f'  @({quoted}) | Where-Object {{ $_ -like "$WordToComplete*" }}\n}}',
        },
    }


def _runs() -> dict[str, Any]:
    """Return how each shell completes the name of a run: by those in the store that `TRIPOS_STORE` names, or in
    `results`. The statistics of a file of runs have the first and the last of its names as they are: of every file but
    one that was compacted, these are all."""
    name = "[0-9]{8}-[0-9]{6}-[0-9a-f]{4}"
    found = f"grep -raohE '{name}' \"${{TRIPOS_STORE:-results}}/parts/runs\" 2>/dev/null | sort -ru"
    in_fish = f'grep -raohE "{name}" $s/parts/runs 2>/dev/null | sort -ru'
    return {
        "bash": "_tripos_runs",
        "zsh": "_tripos_runs",
        "fish": "(_tripos_runs)",
        "powershell": "_tripos_runs",
        "preamble": {
            "bash": f'_tripos_runs() {{\n  compgen -W "$({found})" -- "$1"\n}}',
            "zsh": f'_tripos_runs() {{\n  compadd -- ${{(f)"$({found})"}}\n}}',
            "fish": "function _tripos_runs\n  set -l s results\n  set -q TRIPOS_STORE; and set s $TRIPOS_STORE\n"
            f"  {in_fish}\nend",
            "powershell": "function _tripos_runs {\n  param([string]$WordToComplete)\n"
            "  $store = if ($env:TRIPOS_STORE) { $env:TRIPOS_STORE } else { 'results' }\n"
            '  Get-ChildItem "$store/parts/runs/*.parquet" -ErrorAction SilentlyContinue |\n'
            f"    Select-String -Pattern '{name}' -AllMatches | ForEach-Object {{ $_.Matches.Value }} |\n"
            '    Sort-Object -Unique -Descending | Where-Object { $_ -like "$WordToComplete*" }\n}',
        },
    }


def _words() -> list[str]:
    """Return the codes and the words of the language, which `tripos explain` takes."""
    from tripos.cli.tools.explain import language_words
    from tripos_compiler.diagnostics import CODES

    return [*CODES, *language_words()]
