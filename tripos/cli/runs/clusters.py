"""`tripos run --on`: a run as shards on a cluster."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from tripos.api import CompiledSpec, choices_of, prepare
from tripos.cli.inputs import compile_given
from tripos.cli.runs import run
from tripos.runs.clusters import (
    Sharding,
    array_script,
    job_manifest,
    manifest_text,
    run_shards,
    shard_command,
    submit,
)
from tripos.settings import ChosenSettings, check_divisible, chosen_settings, limits_of
from tripos.ui import GOOD, SOME_FAILED, USAGE, Failure, show_message, show_text
from tripos_runtime.models.catalog import every_variable

PROGRAMS = {"slurm": ("sbatch",), "k8s": ("kubectl", "create", "-f", "-")}
OF_CLUSTERS = ("submit", "write", "shards", "time_limit", "image")
OF_THE_WHOLE = ("shard", "junit", "events")
"""Options that a shard cannot share with others."""


def main(options: Namespace) -> int:
    """Write the script or the manifest of a run, and submit it where that is asked for. Mistakes that a shard would
    make are found here. Raises `Failure`."""
    if len(options.paths) > 1:
        raise Failure("R0202", f"`--on {options.on}` takes one benchmark at a time", "submit each by itself")
    options.path = options.paths[0]
    for name in OF_THE_WHOLE:
        if getattr(options, name) is not None:
            hint = "give it to the command that ends the run, without --on"
            raise Failure("R0202", f"`--{name}` is not shared by shards", hint)
    chosen = chosen_settings(options)
    sharding = _sharding(options, chosen)
    if sharding is None:
        return USAGE
    if options.on == "ray":
        return _run_on_ray(options, sharding)
    text = _text(options.on, sharding, chosen)
    if options.write is not None:
        _write(Path(options.write), text)
    if options.submit and not options.dry_run:
        show_message(submit(PROGRAMS[options.on], text))
    elif options.write is None:
        show_text(text.rstrip("\n"))
    show_message(f"when its {sharding.cluster.shards} shards are done: {sharding.whole}", stderr=True)
    return GOOD


def _sharding(options: Namespace, chosen: ChosenSettings) -> Sharding | None:
    """Return the shards of a run, once its first one could be prepared; none where the spec has mistakes."""
    config = chosen.config
    compilation, folders = compile_given(options, config)
    if compilation.plan is None:
        return None
    command = shard_command(options.arguments, chosen.secrets)
    check_divisible(limits_of(config, {}), config.cluster.shards, "shards")
    first = replace(choices_of(options), shard=f"1/{config.cluster.shards}", divide=True)
    spec = CompiledSpec(options.path, compilation, compilation.plan, folders)
    prepare(spec, first, config, locked=options.locked).wiring.close()
    return Sharding(compilation.plan.benchmark.name, command, config.cluster)


def _run_on_ray(options: Namespace, sharding: Sharding) -> int:
    """Run all shards, and then the whole, which finds everything in the store. Raises `Failure`."""
    for name in ("submit", "write", "time_limit", "image"):
        if getattr(options, name):
            message = f"`--{name.replace('_', '-')}` does nothing with --on ray"
            raise Failure("R0202", message, "leave it out")
    if options.dry_run:
        show_text(sharding.whole)
        return GOOD
    count, ended, asked = sharding.cluster.shards, 0, 0
    failed: list[int] = []
    for end in run_shards(sharding, Path.cwd()):
        ended, asked = ended + 1, asked + end.asked
        failed += [] if end.is_good else [end.number]
        show_message(f"{ended} of {count} shards done, {asked:,} calls asked", stderr=True)
        if end.told:
            show_message(f"  shard {end.number}: {end.told}", stderr=True)
    if failed:
        message = f"{len(failed)} of {count} shards did not end well"
        hint = "run the same command again: what was answered is kept"
        raise Failure("R0413", message, hint, SOME_FAILED)
    return run.main(options)


def refuse_without_cluster(options: Namespace) -> None:
    """Raise `Failure` R0202 for an option that does nothing without `--on`."""
    given = [name for name in OF_CLUSTERS if getattr(options, name)]
    if given:
        name = f"--{given[0].replace('_', '-')}"
        raise Failure("R0202", f"`{name}` needs a cluster", "give --on slurm, k8s or ray too, or leave it out")


def _text(on: str, sharding: Sharding, chosen: ChosenSettings) -> str:
    """Return the script or the manifest."""
    if on == "slurm":
        return array_script(sharding, Path.cwd())
    return manifest_text(job_manifest(sharding, chosen.config.store, every_variable()))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise Failure("R0208", f"cannot write `{path}`: {error.strerror}", "give another FILE") from error
    show_message(f"written to {path}", stderr=True)
