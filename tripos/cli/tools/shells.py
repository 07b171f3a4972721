"""The shells in which commands are completed, and how each is told of the script."""

from __future__ import annotations

from typing import NamedTuple


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
