"""A stand-in for Slurm: `sbatch` and `scontrol` on a path, and what runs the tasks of an array as processes."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SBATCH = 'n=$(ls {queue} | wc -l); cat > {queue}/$n.sh; echo "Submitted batch job $n"'
SCONTROL = '[ "$1" = requeue ] && echo "$2" >> {requeued}'
LONGEST_S = 60.0


@dataclass
class Task:
    """A task of an array that runs: the shell of its script, with everything below it."""

    number: int
    process: subprocess.Popen[bytes]

    def warn(self) -> None:
        """Send what `--signal=B:USR1@…` sends: to the shell alone."""
        self.process.send_signal(signal.SIGUSR1)

    def kill(self) -> None:
        """End it as at the end of its time, or with its node."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LONGEST_S)

    def end(self) -> int:
        """Wait for its end, and return its exit code."""
        return self.process.wait(LONGEST_S)


@dataclass
class Slurm:
    """The queue of a folder, whose programs are in `bin`."""

    folder: Path
    restarts: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.queue.mkdir(parents=True)
        (self.folder / "bin").mkdir()
        for name, text in (("sbatch", SBATCH), ("scontrol", SCONTROL)):
            path = self.folder / "bin" / name
            filled = text.format(queue=shlex.quote(str(self.queue)), requeued=shlex.quote(str(self.requeue_list)))
            path.write_text(f"#!/bin/sh\n{filled}\n", "utf-8")
            path.chmod(0o755)

    @property
    def queue(self) -> Path:
        """The folder of submitted scripts."""
        return self.folder / "queue"

    @property
    def requeue_list(self) -> Path:
        """The tasks that went back into the queue, a line each."""
        return self.folder / "requeued"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a login node, where the programs are found."""
        return {**os.environ, "PATH": os.pathsep.join([str(self.folder / "bin"), os.environ["PATH"]])}

    def script(self, job: int = 0) -> str:
        """Return what was submitted."""
        return (self.queue / f"{job}.sh").read_text("utf-8")

    def tasks(self, job: int = 0) -> range:
        """Return the numbers of the tasks that a script asks for."""
        found = re.search(r"^#SBATCH --array=(\d+)-(\d+)$", self.script(job), re.M)
        assert found is not None
        return range(int(found[1]), int(found[2]) + 1)

    def start(self, number: int, job: int = 0, more: Mapping[str, str] = {}) -> Task:
        """Start a task, in a session of its own."""
        environment = {
            **self.environment,
            "SLURM_ARRAY_JOB_ID": str(job),
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_RESTART_COUNT": str(self.restarts.get(number, 0)),
            **more,
        }
        self.restarts[number] = self.restarts.get(number, 0) + 1
        log = (self.folder / f"{job}_{number}.log").open("ab")
        command = ["bash", str(self.queue / f"{job}.sh")]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        log.close()
        return Task(number, process)

    def requeued(self) -> list[int]:
        """Return the tasks that `scontrol` was told to put back, and forget them."""
        lines = self.requeue_list.read_text().split() if self.requeue_list.exists() else []
        self.requeue_list.unlink(missing_ok=True)
        return [int(line.partition("_")[2]) for line in lines]

    def told(self) -> str:
        """Return what all tasks said."""
        return "\n".join(path.read_text("utf-8", "replace") for path in sorted(self.folder.glob("*.log")))


ENDS_WHEN_TOLD = (
    f"#!{sys.executable}\n"
    + """\
import signal, sys, time
from pathlib import Path

def told(number, frame):
    time.sleep(0.1)
    sys.exit(130)

signal.signal(signal.SIGTERM, told)
Path("started").write_text(" ".join(sys.argv[1:]))
time.sleep(60)
"""
)
"""A program that ends as Tripos does where it is told to."""
