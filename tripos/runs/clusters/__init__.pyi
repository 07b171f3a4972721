from .kubernetes import (
    job_manifest as job_manifest,
    manifest_text as manifest_text,
)
from .ray_tasks import (
    run_shards as run_shards,
)
from .sharding import (
    Sharding as Sharding,
    shard_command as shard_command,
)
from .slurm import (
    array_script as array_script,
)
from .submission import (
    submit as submit,
)
