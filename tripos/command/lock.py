"""`tripos lock`: pins what a run depends on outside of its spec."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tripos.api.choices import choices_of, chosen_binding
from tripos.api.lockcheck import lock_now
from tripos.command.check import compile_given
from tripos.failure import GOOD, USAGE, Failure
from tripos.settings import chosen_settings


def main(options: Namespace) -> int:
    """Writes the lock; exit code 2 where the spec does not compile."""
    config = chosen_settings(options).config
    compilation, _ = compile_given(options, config)
    plan = compilation.plan
    if plan is None:
        return USAGE
    binding, _ = chosen_binding(choices_of(options), options.path, config, plan, compilation.releases)
    path = Path(options.output)
    lock = lock_now(plan, binding, config, served=True)
    try:
        path.write_text(lock.to_text(), "utf-8")
    except OSError as error:
        raise Failure(
            "R0260", f"cannot write the lock `{path}`: {error.strerror}", "name another with -o FILE"
        ) from error
    unseen = sum(not model.served for model in lock.models.values())
    print(f"{plan.benchmark.name} {plan.benchmark.version} is pinned in {path}")
    print(f"  {len(lock.data):,} data files, {len(lock.functions):,} functions, {len(lock.models):,} models")
    if unseen:
        models = "1 model was" if unseen == 1 else f"{unseen:,} models were"
        print(f"  {models} not asked yet: run first, to pin the snapshots that are served")
    return GOOD
