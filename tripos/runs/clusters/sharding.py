"""A run as shards: the command of each, which is that of the run, and the shell lines around it.

A shard is started again by running it again: what was answered is in the store. So what is around a command only says
when that is: a job that is told to end passes it on, and Tripos finishes the calls under way.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from tripos.settings import ClusterConfig, without_keys
from tripos.ui import Failure
from tripos_compiler.source import dataclass

WITH_VALUE = ("--on", "--shards", "--time-limit", "--image", "--write")
ALONE = ("--submit", "--dry-run", "--divide")
"""Options that are about the cluster, and none of a shard's."""
NUMBER = "$shard"
LINES = """\
trap 'kill -TERM "$run" 2>/dev/null' TERM
{command} &
run=$!
while :; do
  wait "$run"; code=$?
  kill -0 "$run" 2>/dev/null || break
done
# 100: an expectation does not hold on the items of this shard, which says nothing of the whole.
[ "$code" -eq 100 ] && code=0
"""
"""The command of a shard, which is told to end when the job is."""


@dataclass(frozen=True)
class Sharding:
    """A run of the benchmark `name` as shards of a command, which is kept as typed."""

    name: str
    command: tuple[str, ...]
    """The words of the command of the whole run, after the name of the program."""
    cluster: ClusterConfig

    @property
    def whole(self) -> str:
        """The command that makes one run of all shards."""
        return shlex.join(["tripos", *self.command])

    def lines(self, program: Sequence[str]) -> str:
        """Return the lines of a shell that do a shard, whose number is in the variable `shard`."""
        typed = shlex.join([*program, *self.command])
        return LINES.format(command=f'{typed} --divide --shard "{NUMBER}/{self.cluster.shards}"')


def shard_command(arguments: Sequence[str], secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the words of a command without those about the cluster. Raises `Failure` R0207 where one holds a key.

    >>> shard_command(["run", "quiz", "--on", "slurm", "--shards=9", "--submit", "--model", "mock/a"], ())
    ('run', 'quiz', '--model', 'mock/a')
    """
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in WITH_VALUE:
            next(words, None)
        elif word not in ALONE and word.partition("=")[0] not in WITH_VALUE:
            kept.append(word)
    for number, word in enumerate(kept):
        if without_keys(word, secrets) != word:
            message = f"word {number + 1} of the command holds what looks like a key, and it would be written down"
            raise Failure("R0207", message, "put the key into an environment variable, and leave it out of the command")
    return tuple(kept)
