"""`tripos diff`: what changed between two versions of a benchmark, and what of it can change a score."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tripos.command.terminal import columns
from tripos.failure import GOOD
from tripos.releases.revisions import plan_of
from tripos.releases.staleness import Stale, stale_in
from tripos.settings import chosen_settings
from tripos.terminal_text import harmless
from tripos_compiler.diagnostics.wrap import wrap
from tripos_compiler.plan import Plan
from tripos_compiler.semantics.changes import WEIGHTS, Change, changes
from tripos_compiler.semantics.versions import numbers
from tripos_compiler.versions import least_version

_TITLES = {
    "major": "can change a score, or the items behind it",
    "minor": "adds what no earlier figure takes in",
    "patch": "words about the benchmark",
}


def main(options: Namespace) -> int:
    """Prints what changed, the weightiest first, and the least version that says so."""
    config = chosen_settings(options).config
    releases = (*options.releases, *config.releases)
    given = (options.before, options.after)
    before, after = (plan_of(each, options.data, config.data, releases) for each in given)
    found = changes(before, after)
    prints = frozenset(each for change in found for each in change.stale)
    stale = stale_in(Path(config.store), prints) if options.store is not None else None
    match options.format:
        case "json":
            print(json.dumps(_data(before, after, found, stale), ensure_ascii=False, indent=2))
        case "markdown":
            print(harmless("\n".join(_markdown(before, after, found, stale))))
        case _:
            print(harmless("\n".join(_text(before, after, found, stale))))
    return GOOD


def _demanded(before: Plan, found: Sequence[Change]) -> str | None:
    return least_version(before.benchmark.version, found[0].part) if found else None


def _head(before: Plan, after: Plan, found: Sequence[Change]) -> tuple[str, str]:
    old, new = before.benchmark, after.benchmark
    name = "" if old.name == new.name else f"{new.name} "
    title = f"{old.name} {old.version} → {name}{new.version}"
    demanded = _demanded(before, found)
    if demanded is None:
        return title, "nothing changed"
    if before.benchmark.name != after.benchmark.name:
        if old.name in {each.name for each in after.extends}:
            return title, f"{new.name} extends {old.name}: figures over scenarios that are the same may be compared"
        return title, "another benchmark: no figure of one may be compared with one of the other"
    enough = numbers(new.version) >= numbers(demanded)
    told = f"{found[0].part} changes demand {demanded} or higher"
    return title, told if enough else f"{told}: {new.version} understates them (E0901)"


def _text(before: Plan, after: Plan, found: Sequence[Change], stale: Stale | None) -> Iterator[str]:
    title, demanded = _head(before, after, found)
    yield from (title, demanded)
    for weight in WEIGHTS:
        some = [each for each in found if each.part == weight]
        if some:
            yield from ("", f"{weight}: {_TITLES[weight]}")
        for each in some:
            first, *rest = wrap(each.text, max(columns() - 4, 20)) or [each.text]
            yield from (f"  {first}", *(f"    {line}" for line in rest))
    if stale is not None:
        yield from ("", f"stale in the store: {stale.text}")


def _markdown(before: Plan, after: Plan, found: Sequence[Change], stale: Stale | None) -> Iterator[str]:
    title, demanded = _head(before, after, found)
    yield from (f"### {title}", "", demanded[:1].upper() + demanded[1:] + ".", "")
    if found:
        yield from ("| bump | what | change | can change a score |", "| --- | --- | --- | --- |")
    for each in found:
        name = each.name.replace("|", "\\|")
        what = each.what.replace("|", "\\|")
        yield f"| {each.part} | {each.kind} `{name}` | {what} | {'yes' if each.can_change_scores else 'no'} |"
    if stale is not None:
        yield from ("", f"Stale in the store: {stale.text}.")


def _data(before: Plan, after: Plan, found: Sequence[Change], stale: Stale | None) -> dict[str, Any]:
    told = [
        {
            "part": each.part,
            "kind": each.kind,
            "name": each.name,
            "what": each.what,
            "can_change_scores": each.can_change_scores,
            "stale": sorted(each.stale),
        }
        for each in found
    ]
    return {
        "benchmark": after.benchmark.name,
        "before": {"version": before.benchmark.version, "plan": before.digest},
        "after": {"version": after.benchmark.version, "plan": after.digest},
        "part": found[0].part if found else None,
        "demands": _demanded(before, found),
        "changes": told,
        "stale": None
        if stale is None
        else {
            "samples": stale.samples,
            "judgements": stale.judgements,
            "scores": stale.scores,
            "cost_usd": stale.cost_usd,
        },
    }
