"""An array script of Slurm: a task for each shard, which is put back into the queue when its time is over."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from tripos.runs.clusters.sharding import Sharding

TIME_LIMIT_S = 4 * 3600.0
BEFORE_S = 120
"""Slurm tells a task so long before the end of its time, or a quarter of the time before."""
AGAIN = 50
"""A task goes back into the queue so often at most."""
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


def array_script(sharding: Sharding, folder: Path) -> str:
    """Return the script of a run in a folder, which all machines see. Two minutes before the end of its time a task
    finishes the calls under way and goes back into the queue."""
    cluster = sharding.cluster
    limit_s = cluster.time_limit_s or TIME_LIMIT_S
    return SCRIPT.format(
        name=sharding.name,
        shards=cluster.shards,
        minutes=max(1, int(limit_s // 60)),
        cpus=cluster.cpus,
        memory=cluster.memory_mb,
        before=int(min(BEFORE_S, limit_s / 4)),
        options="".join(f"#SBATCH {option}\n" for option in cluster.sbatch),
        folder=shlex.quote(str(folder)),
        lines=sharding.lines([sys.executable, "-m", "tripos"]),
        most=AGAIN,
    )
