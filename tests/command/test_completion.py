"""`tripos completion`: the script of each shell completes verbs, options, values and files in that shell."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.conftest import Command
from tripos.cli.parser import COMMANDS, GROUPS, build_parser

SHELLS = ("bash", "zsh", "fish", "powershell")
RUN = "20261123-082056-e61a"
COMPLETED = (
    ("tripos ru", {"run"}),
    ("tripos run --lim", {"--limit"}),
    ("tripos check q", {"quiz.tripos"}),
    ("tripos run quiz.tripos --model opena", {"openai/"}),
    ("tripos run quiz.tripos --model mock/carele", {"mock/careless"}),
    ("tripos init --template p", {"pairwise"}),
    ("tripos store g", {"gc"}),
    ("tripos report --store sp", {"specs"}),
    ("tripos explain bradley_t", {"bradley_terry"}),
    ("tripos completion f", {"fish"}),
    ("tripos report 2026", {RUN}),
    ("tripos run quiz.tripos --scenario su", {"sums"}),
    ("tripos annotate --scenario ess", {"essay_2"}),
    ("tripos run quiz.tripos --model my_own", {"my_own/tutor-7b"}),
)
"""A command that is begun, and the words that complete it."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "quiz.tripos").write_text('scenario sums "Sums" {\n}\n# scenario summer\n', "utf-8")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/other.tripos").write_text("  scenario essay_2 {\n}\n", "utf-8")
    (tmp_path / "tripos.toml").write_text('models = ["my_own/tutor-7b", "mock/careful"]\n', "utf-8")
    (tmp_path / "quiet.txt").write_text("", "utf-8")
    (tmp_path / "specs").mkdir()
    (tmp_path / "results/parts/runs").mkdir(parents=True)
    parquet.write_table(pa.table({"run_id": [RUN]}), tmp_path / "results/parts/runs/a.parquet", compression="zstd")
    monkeypatch.delenv("TRIPOS_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def needs(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    return found


def script(tripos: Command, folder: Path, shell: str) -> Path:
    done = tripos("completion", shell)
    assert (done.code, done.err) == (0, "")
    path = folder / f".script.{shell}"
    path.write_text(done.out, "utf-8")
    return path


def test_bash_completes(tripos: Command, folder: Path) -> None:
    bash = needs("bash")
    lines = [f"source {script(tripos, folder, 'bash')}"]
    for typed, _ in COMPLETED:
        lines += [
            f"COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()",
            'function=$(complete -p tripos | sed "s/.*-F \\([^ ]*\\).*/\\1/")',
            '"$function" tripos 2>/dev/null; echo "${COMPREPLY[*]}"',
        ]
    done = subprocess.run([bash, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert [set(line.split()) for line in done.stdout.splitlines()] == [wanted for _, wanted in COMPLETED]


def test_fish_completes(tripos: Command, folder: Path) -> None:
    fish = needs("fish")
    commands = [f"source {script(tripos, folder, 'fish')}"]
    for typed, _ in COMPLETED:
        commands += [f"complete -C '{typed}'", "echo ==="]
    done = subprocess.run(
        [fish, "--no-config", "-c", "\n".join(commands)], capture_output=True, text=True, check=True, env=_home(folder)
    )
    found = [
        {line.partition("\t")[0].rstrip("/") for line in part.splitlines() if line}
        for part in done.stdout.split("===\n")[:-1]
    ]
    assert found == [{each.rstrip("/") for each in wanted} for _, wanted in COMPLETED]


def test_zsh_completes(tripos: Command, folder: Path) -> None:
    zsh = needs("zsh")
    path = script(tripos, folder, "zsh")
    begin = f"autoload -Uz compinit; compinit -u -D; eval \"$(cat {path})\"; PS1=; print read''y"
    for typed, [wanted] in COMPLETED:
        shown = _typed(zsh, begin, typed, folder, typed.rpartition(" ")[0] + " " + wanted)
        assert f"{typed.rpartition(' ')[0]} {wanted}" in shown, typed


def _home(folder: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(folder), "TERM": "dumb"}


def _typed(shell: str, begin: str, typed: str, folder: Path, wanted: str) -> str:
    """Return what a shell shows of a command that is begun, after the key that completes it."""
    import pty

    process, terminal = pty.fork()
    if process == 0:
        os.execve(shell, [shell, "-f", "-i"], _home(folder))
    try:
        os.write(terminal, begin.encode() + b"\n")
        _shown(terminal, "ready")
        os.write(terminal, typed.encode() + b"\t")
        return _shown(terminal, wanted)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def _shown(terminal: int, wanted: str, seconds: float = 30) -> str:
    """Return what appears, up to the words that are waited for; all of it where they do not come."""
    shown, end = "", time.monotonic() + seconds
    while wanted not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace").replace("\r", "")
    return shown


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_has_every_verb_and_no_place_of_this_machine(shell: str, tripos: Command) -> None:
    text = tripos("completion", shell).out
    assert [verb for verb in COMMANDS if verb not in text] == []
    assert str(Path(__file__).parents[2]) not in text
    assert "--max-connections" in text


def test_another_shell_is_refused_with_those_that_there_are(tripos: Command) -> None:
    done = tripos("completion", "tcsh")
    assert done.code == 2
    assert "choose from bash, zsh, fish, powershell" in done.err


def test_help_lists_every_verb_once_in_a_group_and_fits_80_columns(tripos: Command) -> None:
    lines = build_parser().format_help().splitlines()
    assert max(map(len, lines)) <= 80
    listed = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("  tripos")]
    assert listed == list(COMMANDS)
    assert [line.removesuffix(":") for line in lines if line.endswith(":")] == [*GROUPS, "examples"]
    assert lines == build_parser("nothing").format_help().splitlines()
    assert tripos().out.splitlines() == lines
