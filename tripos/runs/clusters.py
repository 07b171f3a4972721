"""A run as shards on a cluster: a Slurm array script, a Kubernetes Job, or Ray tasks.

Each shard executes the command of the run with `--shard`. Results are in the store, so a shard that was stopped is
continued by running its command again. The shell lines around the command only forward the request to stop, after which
Tripos finishes the calls in progress.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tripos.errors import first_line
from tripos.settings.config import Config
from tripos.settings.environment import set_variables
from tripos.settings.options import (
    CLAIM,
    CPUS,
    DIVIDE,
    IMAGE,
    JSON,
    MEMORY_MB,
    SBATCH,
    SECRET,
    SHARD,
    SHARDS,
    STORE,
    TIME_LIMIT,
    WORK_FOLDER,
    RunParameters,
)
from tripos.settings.secrets import without_keys
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.store.paths import address_of

NUMBER = "$shard"
SHELL_LINES = """\
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
"""The command of a shard, with a trap that forwards SIGTERM to it."""


# The command of a shard
@dataclass(frozen=True)
class Sharding:
    """A run of the benchmark `name` as shards of a command, which is kept as typed."""

    name: str
    command: tuple[str, ...]
    """The words of the command of the whole run, without the program."""
    config: Config

    @property
    def whole_command(self) -> str:
        """The command that runs all shards together."""
        return shlex.join(["tripos", *self.command])

    def lines(self, program: Sequence[str]) -> str:
        """Return shell lines that run a shard, whose number is in the variable `shard`."""
        typed = shlex.join([*program, *self.command])
        return SHELL_LINES.format(command=f'{typed} {DIVIDE} {SHARD} "{NUMBER}/{SHARDS.setting_in(self.config)}"')


def shard_command(arguments: Sequence[str], secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the words of a command without the options for the cluster. Raises `TriposError` R0207 if a word contains
    an API key.

    >>> shard_command(["run", "quiz", "--on", "slurm", "--shards=9", "--submit", "--model", "mock/a"], ())
    ('run', 'quiz', '--model', 'mock/a')
    """
    left_out = {flag: option for option in RunParameters.options if not option.forwarded for flag in option.flags}
    shard_words: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in left_out:
            shard_words.append(word)
        elif not equals and not left_out[name].is_flag:
            next(words, None)
    for number, word in enumerate(shard_words):
        if without_keys(word, secrets) != word:
            message = f"word {number + 1} of the command holds what looks like a key, and it would be written down"
            raise TriposError(
                "R0207", message, "put the key into an environment variable, and leave it out of the command"
            )
    return tuple(shard_words)


MOST_RESTARTS = 20
"""The maximum number of restarts of a shard. A pod that was evicted does not count."""
GRACE_S = 120
"""The time in seconds that a pod has to finish its calls when it is stopped."""


# Kubernetes
def job_manifest(sharding: Sharding, store: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the Kubernetes Job of a run whose results go to `store`. Settings of the environment are copied into it,
    except API keys, which the Secret provides. Raises `TriposError` R0202 if there is no image, or no storage that all
    pods share."""
    config = sharding.config
    if IMAGE.setting_in(config) is None:
        message = f"`{RunParameters.on} k8s` needs an image with Tripos and the benchmark"
        raise TriposError("R0202", message, f"give {IMAGE} IMAGE, or write image under [cluster] into tripos.toml")
    if CLAIM.setting_in(config) is None and not address_of(store):
        hint = f"give {STORE} s3://BUCKET/PREFIX, or write claim = NAME of a volume under [cluster] into tripos.toml"
        raise TriposError("R0202", f"the pods have no folder in common for the store `{store}`", hint)
    name = _label(sharding.name)
    asked = {"cpu": str(CPUS.setting_in(config)), "memory": f"{MEMORY_MB.setting_in(config)}Mi"}
    container: dict[str, Any] = {
        "name": "tripos",
        "image": IMAGE.setting_in(config),
        "workingDir": WORK_FOLDER.setting_in(config),
        "command": ["/bin/sh", "-c", _script(sharding)],
        "env": [
            {"name": variable, "value": text}
            for variable, _, text in set_variables(environ)
            if without_keys(text) == text
        ],
        "envFrom": [{"secretRef": {"name": SECRET.setting_in(config), "optional": True}}],
        "resources": {"requests": asked, "limits": {"memory": asked["memory"]}},
    }
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_S,
        "containers": [container],
    }
    if CLAIM.setting_in(config) is not None:
        container["volumeMounts"] = [{"name": "work", "mountPath": WORK_FOLDER.setting_in(config)}]
        pod["volumes"] = [{"name": "work", "persistentVolumeClaim": {"claimName": CLAIM.setting_in(config)}}]
    job: dict[str, Any] = {
        "completionMode": "Indexed",
        "completions": SHARDS.setting_in(config),
        "parallelism": SHARDS.setting_in(config),
        "backoffLimitPerIndex": MOST_RESTARTS,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
                {
                    "action": "FailIndex",  # an error in the command or the spec, which a restart would repeat
                    "onExitCodes": {"containerName": "tripos", "operator": "In", "values": [int(ExitCode.USAGE)]},
                },
            ]
        },
        "template": {"metadata": {"labels": {"app": "tripos"}}, "spec": pod},
    }
    if (limit_s := TIME_LIMIT.setting_in(config)) is not None:
        job["activeDeadlineSeconds"] = int(limit_s)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": f"tripos-{name}-"}, "spec": job}


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """Return a manifest as YAML, with scripts as literal blocks."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return yaml.dump(manifest, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1_000)


def _script(sharding: Sharding) -> str:
    return f'shard=$((JOB_COMPLETION_INDEX + 1))\n{sharding.lines(["tripos"])}exit "$code"\n'


def _label(name: str) -> str:
    """Return a name in the form of Kubernetes.

    >>> _label("My_Quiz 2"), _label("数学")
    ('my-quiz-2', 'run')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:40].strip("-") or "run"


TIME_LIMIT_S = 4 * 3600.0
SIGNAL_BEFORE_S = 120
"""The time in seconds before its limit at which Slurm signals a task; at most a quarter of the limit."""
MOST_REQUEUES = 50
"""The maximum number of times that a task is requeued."""
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=tripos-{name}
#SBATCH --array=1-{shards}
#SBATCH --time={minutes}
#SBATCH --cpus-per-task={cpus}
#SBATCH --mem={memory}M
#SBATCH --output=tripos-{name}-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@{before}
{options}
# Keys are not here: they come from the environment in which this script is submitted, or from `.env`.
cd {folder} || exit 2
shard=$SLURM_ARRAY_TASK_ID
again=0
trap 'again=1; kill -TERM "$run" 2>/dev/null' USR1
{lines}\
if [ "$again" -eq 1 ] && [ "$code" -ge 128 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {most} ]; then
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
fi
exit "$code"
"""


# Slurm
def array_script(sharding: Sharding, folder: Path) -> str:
    """Return the array script of a run in a folder that all machines share. Two minutes before its time limit, a task
    finishes the calls in progress and is requeued."""
    config = sharding.config
    limit_s = TIME_LIMIT.setting_in(config) or TIME_LIMIT_S
    return SCRIPT.format(
        name=sharding.name,
        shards=SHARDS.setting_in(config),
        minutes=max(1, int(limit_s // 60)),
        cpus=CPUS.setting_in(config),
        memory=MEMORY_MB.setting_in(config),
        before=int(min(SIGNAL_BEFORE_S, limit_s / 4)),
        options="".join(f"#SBATCH {option}\n" for option in SBATCH.setting_in(config)),
        folder=shlex.quote(str(folder)),
        lines=sharding.lines([sys.executable, "-m", "tripos"]),
        most=MOST_REQUEUES,
    )


SUBMISSION_ERROR = "R0412"


# Submission
def submit(program: Sequence[str], text: str) -> str:
    """Pass a text to a program on its standard input, and return its output. Raises `TriposError` R0412 if the program
    is missing or fails."""
    try:
        done = subprocess.run(program, input=text, capture_output=True, text=True, check=False, encoding="utf-8")
    except OSError as error:
        hint = f"submit on a machine that has it; `{RunParameters.write} FILE` writes what is submitted"
        raise TriposError(
            SUBMISSION_ERROR, f"`{program[0]}` cannot be started: {error.strerror}", hint, ExitCode.SOME_FAILED
        ) from error
    if done.returncode:
        reason = first_line(RuntimeError(done.stderr or done.stdout or f"exit code {done.returncode}"))
        hint = f"`{RunParameters.write} FILE` writes what is submitted, so that you can submit it with other options"
        raise TriposError(SUBMISSION_ERROR, f"`{program[0]}` refused the run: {reason}", hint, ExitCode.SOME_FAILED)
    return done.stdout.strip()


NICENESS_VARIABLE = "RAY_worker_niceness"
"""The variable for the niceness of Ray's workers. Ray's default is 15, which halves the rate of a run on a shared
machine. A cluster that Tripos starts uses the niceness of the command, unless the variable is set."""


# Ray
@dataclass(frozen=True)
class ShardEnd:
    """The result of a shard: its exit code, the number of calls it made, and the first line of its error."""

    number: int
    code: int
    asked: int
    error: str

    @property
    def is_good(self) -> bool:
        """True if its results are in the store. A failed expectation on one shard does not matter."""
        return self.code in (ExitCode.SUCCESS, ExitCode.EXPECTATION_FAILED)


def run_shards(sharding: Sharding, folder: Path) -> Iterator[ShardEnd]:
    """Run every shard on the cluster of `RAY_ADDRESS`, or on a new local one, and yield each result when the shard
    ends. Raises `TriposError` R0412 if Ray is not installed or no cluster is available."""
    with _cluster() as ray:
        task = ray.remote(num_cpus=CPUS.setting_in(sharding.config), max_retries=MOST_RESTARTS)(_run_shard)
        count = SHARDS.setting_in(sharding.config)
        left = [task.remote(sharding.command, number, count, str(folder)) for number in range(1, count + 1)]
        try:
            while left:
                done, left = ray.wait(left, num_returns=1)
                yield ray.get(done[0])
        except ray.exceptions.RayError as error:
            message = f"a shard could not be run: {first_line(error)}"
            raise TriposError(
                SUBMISSION_ERROR, message, "the same command goes on with what is left", ExitCode.SOME_FAILED
            ) from error
        finally:
            for each in left:
                ray.cancel(each)


@contextmanager
def _cluster() -> Iterator[ModuleType]:
    """Connect to a cluster, and provide the Ray module."""
    try:
        import ray
    except ImportError as error:
        hint = 'install it on every machine of the cluster: pip install "tripos[ray]"'
        raise TriposError(
            SUBMISSION_ERROR, f"`{RunParameters.on} ray` needs Ray, which is not installed", hint
        ) from error
    os.environ.setdefault(NICENESS_VARIABLE, "0")
    try:
        ray.init(log_to_driver=False, logging_level="ERROR", configure_logging=True)
    except (ConnectionError, RuntimeError, ValueError) as error:
        message = f"Ray has no cluster for us: {first_line(error)}"
        raise TriposError(
            SUBMISSION_ERROR, message, "set RAY_ADDRESS to one that runs, or unset it", ExitCode.SOME_FAILED
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _run_shard(command: tuple[str, ...], number: int, count: int, folder: str) -> ShardEnd:
    """Run the command of a shard on a Ray worker. Results of an earlier attempt are in the store."""
    words = [sys.executable, "-m", "tripos", *command, DIVIDE.flag, SHARD.flag, f"{number}/{count}"]
    words += [] if JSON.flag in command else [JSON.flag]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    try:
        asked = int(json.loads(done.stdout)["calls"]["asked"])
    except (ValueError, KeyError, TypeError):
        asked = 0
    wrong = [line for line in done.stderr.splitlines() if line.startswith("error")]
    return ShardEnd(number, done.returncode, asked, wrong[0] if wrong else "")
