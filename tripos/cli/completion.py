"""`tripos completion`: the script that completes commands in a shell.

shtab generates the script from the parser, for all four shells. It is static: a key press starts no Python. The shell
itself reads the names of runs, scenarios and models from the store, the specs and `tripos.toml`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tripos.cli.context import Context, Outcome, Output
from tripos.cli.parser import build_parser
from tripos.settings.options import STORE
from tripos_compiler.diagnostics.codes import CODES


# tripos completion
class Shell(NamedTuple):
    """A shell: how it loads the script, as the help says, and lines to append to the script."""

    help: str
    after: str = ""


# After `openai/` or a folder the word continues, so no space is added.
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


def main(context: Context) -> Outcome:
    """Return the completion script for a shell."""
    import shtab

    shell, parser = context.options.shell, build_parser()
    completions: dict[str, Any] = {
        "model": _models(),
        "run": _runs(),
        "scenario": _scenarios(),
        "folder": shtab.DIRECTORY,
        "file": shtab.FILE,
        "spec": shtab.glob("*.tripos") | {"zsh": "_files -g '*.tripos'"},
    }
    for action in _actions(parser):
        completes = action.option.kind.completes if hasattr(action, "option") else ""
        if completes == "word":
            action.choices = _words()
        elif completes:
            action.complete = completions[completes]  # type: ignore[attr-defined]
    script = shtab.complete(parser, shell)
    if shell == "zsh":
        # shtab excludes further words here, which makes zsh complete neither them nor options.
        script = script.replace('"(*):', '"*:')
    return Outcome(lines=[Output(f"{script}\n{SHELLS[shell].after}")])


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield every option and argument of a parser and its subparsers."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
        else:
            yield action


def _models() -> dict[str, Any]:
    """Return the completion of a model for each shell: mocks, the local model, models in `tripos.toml`, and providers,
    whose `/` is followed by more."""
    from tripos_runtime.models.catalog import NATIVE_PROVIDERS, PROVIDERS
    from tripos_runtime.models.local import WEIGHTS
    from tripos_runtime.models.mocks import CHARACTERS

    providers = [f"{name}/" for name in (*PROVIDERS, *NATIVE_PROVIDERS)]
    mocks = [f"mock/{name}" for name in CHARACTERS if name.islower()]  # `student-A-R` is a pattern
    names = sorted({*providers, *mocks, *(f"local/{name}" for name in WEIGHTS)})
    pattern = '"[a-zA-Z0-9_-]+/[^" ,:]+'
    return _completion(
        "models",
        f"grep -hoE '{pattern}' tripos.toml 2>/dev/null | tr -d '\"' | sort -u",
        f"Select-String -Path tripos.toml -Pattern '{pattern}' -AllMatches -ErrorAction SilentlyContinue |\n"
        "    ForEach-Object { $_.Matches.Value.Trim('\"') } | Sort-Object -Unique",
        names,
    )


def _scenarios() -> dict[str, Any]:
    """Return the completion of a scenario for each shell: those of the specs below the current folder."""
    pattern = "^ *scenario +[a-zA-Z_][a-zA-Z0-9_]*"
    return _completion(
        "scenarios",
        f"find . -maxdepth 3 -name '*.tripos' -exec grep -hoE '{pattern}' {{}} + 2>/dev/null | sed 's/.* //' | sort -u",
        "Get-ChildItem -Depth 2 -Filter *.tripos -ErrorAction SilentlyContinue |\n"
        f"    Select-String -Pattern '{pattern}' | ForEach-Object {{ $_.Matches.Value.Split(' ')[-1] }} |\n"
        "    Sort-Object -Unique",
    )


def _runs() -> dict[str, Any]:
    """Return the completion of a run for each shell: those in the store of `TRIPOS_STORE`, or in `results`.

    The names are read from the Parquet statistics, which contain the least and the greatest name of a file as plain
    text. A file that was not compacted has no others.
    """
    name = "[0-9]{8}-[0-9]{6}-[0-9a-f]{4}"
    return _completion(
        "runs",
        f"grep -raohE '{name}' \"$(printenv {STORE.variable} || echo results)/parts/runs\" 2>/dev/null | sort -ru",
        f"$store = if ($env:{STORE.variable}) {{ $env:{STORE.variable} }} else {{ 'results' }}\n"
        '  Get-ChildItem "$store/parts/runs/*.parquet" -ErrorAction SilentlyContinue |\n'
        f"    Select-String -Pattern '{name}' -AllMatches | ForEach-Object {{ $_.Matches.Value }} |\n"
        "    Sort-Object -Unique -Descending",
    )


def _completion(what: str, found: str, in_powershell: str, words: Sequence[str] = ()) -> dict[str, Any]:
    """Return a completion for each shell: the words `words`, and the output lines of a pipeline that works in bash, zsh
    and fish. A word in `words` may continue, so no space follows it."""
    name, listed = f"_tripos_{what}", " ".join(words)
    first, printed, quoted = "", "", ""
    if words:
        first, printed = f"-S '' -- {listed} ", f"  printf '%s\\n' {listed}\n"
        quoted = "  " + "; ".join(f"'{word}'" for word in words) + "\n"
    return {
        "bash": name,
        "zsh": name,
        "fish": f"({name})",
        "powershell": name,
        "preamble": {
            "bash": f'{name}() {{\n  compgen -W "{listed} $({found})" -- "$1"\n}}',
            "zsh": f'{name}() {{\n  compadd {first or "-- "}${{(f)"$({found})"}}\n}}',
            "fish": f"function {name}\n{printed}  {found}\nend",
            "powershell": f"function {name} {{\n  param([string]$WordToComplete)\n"
            f'  & {{\n{quoted}  {in_powershell}\n  }} | Where-Object {{ $_ -like "$WordToComplete*" }}\n}}',
        },
    }


def _words() -> list[str]:
    """Return the codes and the words of the language for `tripos explain`."""
    from tripos.cli.help import language_words

    return [*CODES, *language_words()]
