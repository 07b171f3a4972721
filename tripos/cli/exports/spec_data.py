"""`tripos export NAME --spec PATH`: pairs and examples that a spec makes of its data, without a run."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tripos.cli.exports.training_data import REASONS
from tripos.cli.inputs import compile_given
from tripos.settings import load_config, trust_of
from tripos.training import find_examples, write_examples
from tripos.training.reward import write_pairs
from tripos.ui import GOOD, Failure, show_json, show_message, show_text
from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import Pairing, Plan
from tripos_runtime.datasets import CaseSource
from tripos_warehouse.exports import beside

LEFT_OUT = {**REASONS, "alone": "rows without another beside them"}
"""The reasons why rows give no example, in words."""


def export_pairs(options: Namespace) -> int:
    """Write the pairs and their provenance, and say how many there are. Raises `Failure` and `StoreError`."""
    options.deny = getattr(options, "deny", [])
    plan, source = compiled_pairs(options, options.spec)
    path = Path(options.output)
    named = list(dict.fromkeys(name.strip() for name in options.what.split(",") if name.strip()))
    if (examples := find_examples(plan, named)) is not None:
        return _export_examples(options, plan, source, examples, path)
    said = write_pairs(plan, found_pairings(plan, named), source, path)
    if options.json:
        show_json(json.dumps({name: value for name, value in said.items() if name != "lines"}, indent=2))
        return GOOD
    topics = {group for line in said["lines"] for group in line["groups"]}
    grouped = f" of {len(topics):,} topic{'' if len(topics) == 1 else 's'}" if topics else ""
    show_message(f"{said['examples']:,} pair{'' if said['examples'] == 1 else 's'}{grouped}, written to {path}")
    wrote = Counter(name for line in said["lines"] for name in set(line["by"]) if name)
    for name, count in wrote.most_common():
        show_message(f"  with a reply of {name}: {count:,}")
    for reason, count in said["left_out"].items():
        show_message(f"  left out, {REASONS.get(reason, reason)}: {count:,}")
    show_message(f"where it comes from: {beside(path)}")
    return GOOD


def _export_examples(options: Namespace, plan: Plan, source: CaseSource, exports: Sequence[Pairing], path: Path) -> int:
    said = write_examples(plan, exports, source, path)
    if options.json:
        show_json(json.dumps({name: value for name, value in said.items() if name != "lines"}, indent=2))
        return GOOD
    count = said["examples"]
    show_message(f"{count:,} {'example' if count == 1 else 'examples'}, written to {path}")
    if len(exports) > 1:
        for name, lines in Counter(line["export"] for line in said["lines"]).items():
            show_text(f"  {name}: {lines:,}")
    for reason, count in said["left_out"].items():
        show_message(f"  left out, {LEFT_OUT.get(reason, reason)}: {count:,}")
    show_message(f"where it comes from: {beside(path)}")
    return GOOD


def compiled_pairs(options: Namespace, path: str) -> tuple[Plan, CaseSource]:
    """Return the plan of a spec, and where its rows come from. Raises `Failure` S0821 where it has mistakes."""

    spec = Namespace(**{**vars(options), "path": path})
    compilation, folders = compile_given(spec, load_config(Path.cwd(), trust=trust_of(options)))
    if compilation.plan is None:
        raise Failure("S0821", f"`{path}` has mistakes, so nothing is made of it", "mend those above")
    return compilation.plan, CaseSource(compilation.plan, folders, tuple(each.path for each in compilation.sources))


def pairings_of(plan: Plan) -> list[Pairing]:
    """Return the exports that make pairs of data."""
    return [each for each in plan.exports if isinstance(each, Pairing) and each.kind == "paired"]


def found_pairings(plan: Plan, names: Sequence[str]) -> list[Pairing]:
    """Return the exports of these names. Raises `Failure` S0601 for another."""
    known = {each.name: each for each in pairings_of(plan)}
    for name in names:
        if name not in known:
            close = nearest(name, known)
            some = ", ".join(f"`{each}`" for each in known) or "none"
            hint = f"did you mean `{close}`?" if close else f"there is {some}"
            raise Failure("S0601", f"the spec makes no pairs called `{name}`", hint)
    return [known[name] for name in names]
