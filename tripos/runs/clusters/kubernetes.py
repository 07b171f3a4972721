"""An indexed Job of Kubernetes: a pod for each shard, which is started again where it ends early."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tripos.runs.clusters.sharding import Sharding
from tripos.settings import set_variables, without_keys
from tripos.ui import USAGE, Failure
from tripos_warehouse.store import address_of

AGAIN = 20
"""A shard is started again so often at most; a pod that was taken from its node does not count."""
GRACE_S = 120
"""How long a pod that is told to end may finish its calls."""


def job_manifest(sharding: Sharding, store: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the Job of a run whose results lie in `store`. Settings in the environment go with it, and no key: the
    Secret has these. Raises `Failure` R0202 where there is no image, or no place that all pods see."""
    cluster = sharding.cluster
    if cluster.image is None:
        message = "`--on k8s` needs an image with Tripos and the benchmark"
        raise Failure("R0202", message, "give --image IMAGE, or write image under [cluster] into tripos.toml")
    if cluster.claim is None and not address_of(store):
        hint = "give --store s3://BUCKET/PREFIX, or write claim = NAME of a volume under [cluster] into tripos.toml"
        raise Failure("R0202", f"the pods have no folder in common for the store `{store}`", hint)
    name = _label(sharding.name)
    asked = {"cpu": str(cluster.cpus), "memory": f"{cluster.memory_mb}Mi"}
    container: dict[str, Any] = {
        "name": "tripos",
        "image": cluster.image,
        "workingDir": cluster.folder,
        "command": ["/bin/sh", "-c", _script(sharding)],
        "env": [
            {"name": variable, "value": text}
            for variable, _, text in set_variables(environ)
            if without_keys(text) == text
        ],
        "envFrom": [{"secretRef": {"name": cluster.secret, "optional": True}}],
        "resources": {"requests": asked, "limits": {"memory": asked["memory"]}},
    }
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_S,
        "containers": [container],
    }
    if cluster.claim is not None:
        container["volumeMounts"] = [{"name": "work", "mountPath": cluster.folder}]
        pod["volumes"] = [{"name": "work", "persistentVolumeClaim": {"claimName": cluster.claim}}]
    job: dict[str, Any] = {
        "completionMode": "Indexed",
        "completions": cluster.shards,
        "parallelism": cluster.shards,
        "backoffLimitPerIndex": AGAIN,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
                {
                    "action": "FailIndex",  # a mistake in the command or the spec: another try makes it again
                    "onExitCodes": {"containerName": "tripos", "operator": "In", "values": [USAGE]},
                },
            ]
        },
        "template": {"metadata": {"labels": {"app": "tripos"}}, "spec": pod},
    }
    if cluster.time_limit_s is not None:
        job["activeDeadlineSeconds"] = int(cluster.time_limit_s)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": f"tripos-{name}-"}, "spec": job}


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """Return a manifest as YAML, in which a script stands line by line."""
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
    """Return a name as Kubernetes takes it.

    >>> _label("My_Quiz 2"), _label("数学")
    ('my-quiz-2', 'run')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:40].strip("-") or "run"
