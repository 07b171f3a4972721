"""Puts together the tree that a run has drafted: the outlines that one of its steps replied, one for each item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tripos.failure import SOME_FAILED, Failure
from tripos.importing.outlines import read_outline
from tripos.importing.trees import sound
from tripos_compiler.diagnostics import nearest
from tripos_compiler.semantics.trees import Tree
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.views import connect_run

CODE = "W0838"
QUERY = """
select samples.model, samples.status, samples.reply, any_value(items.fields) as fields, samples.sample_id
from {schema}.samples as samples
left join {schema}.items as items on samples.item_id = items.item_id and samples.scenario = items.scenario
where samples.step = ? and samples.sample_number = 0
group by all
"""
STEPS = "select distinct step from {schema}.samples order by 1"


@dataclass(frozen=True)
class Draft:
    """A tree, and in words where it comes from."""

    tree: Tree
    said: str


def read_draft(store: Store, run: str | None, step: str, only: Sequence[str]) -> Draft:
    """The tree of the outlines that a step of a run has replied to its items, in the order of their first field. What
    several of them call by one name is one branch. `only` are conditions `FIELD=VALUE` of the items.

    Raises `StoreError` where there is no such run, and `Failure`: W0838 where the step has no replies, not all of them
    or those of several models, W0835 where one is no outline.
    """
    wanted = _conditions(only)
    connection, found = connect_run(store, run)
    with connection:
        schema = '"' + found.benchmark.replace('"', '""') + '"'
        rows = connection.execute(QUERY.format(schema=schema), [step]).fetchall()
        steps = [name for (name,) in connection.execute(STEPS.format(schema=schema)).fetchall()]
    replies = []
    for model, status, reply, text, _ in rows:
        fields = orjson.loads(text or "{}")
        if wanted.items() <= {name: str(value) for name, value in fields.items()}.items():
            replies.append((_order(fields), model, status, reply))
    replies.sort(key=lambda each: each[:2])
    if not replies:
        raise _nothing(found.run_id, step, steps, len(rows), only)
    models = sorted({model for _, model, _, _ in replies})
    if len(models) > 1:
        hint = "run the spec with one model in each role: a draft is by one"
        raise Failure(CODE, f"`{step}` was replied by {len(models)} models: {', '.join(models)}", hint)
    bad = [status for _, _, status, reply in replies if status != "ok" or not reply]
    if bad:
        message = f"{len(bad)} of {len(replies)} replies of `{step}` cannot be used: {', '.join(sorted(set(bad)))}"
        raise Failure(CODE, message, "run the spec again; what is there is not asked again", SOME_FAILED)
    branches: dict[str, Any] = {}
    for number, (_, model, _, reply) in enumerate(replies, 1):
        _merge(branches, sound(read_outline(reply), f"reply {number} of {model}", "W0835").branches)
    said = f"Drafted by run {found.run_id}, step {step} by {models[0]}."
    return Draft(Tree(branches), said)


def _nothing(run_id: str, step: str, steps: Sequence[str], replies: int, only: Sequence[str]) -> Failure:
    """That no reply fits, and whether that is for the step or for the conditions."""
    if replies:
        message = f"none of the {replies} replies of `{step}` in run {run_id} has {' and '.join(only)}"
        return Failure(CODE, message, "`--only FIELD=VALUE` names a field of the items, as it is in the data")
    if steps:
        close = nearest(step, steps)
        there = f"its steps are {', '.join(steps)}; `tripos list` shows other runs"
        return Failure(CODE, f"run {run_id} has no step `{step}`", f"did you mean `{close}`?" if close else there)
    hint = "`tripos run specs/teachbench/drafting.tripos` makes one; `tripos list` shows the runs"
    return Failure(CODE, f"run {run_id} has no replies", hint)


def _conditions(only: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in only:
        field, parted, value = each.partition("=")
        if not parted:
            raise Failure("R0202", f"`--only {each}` says no value", "write it as `--only subject=mathematics`")
        found[field.strip()] = value.strip()
    return found


def _order(fields: Mapping[str, Any]) -> tuple[float, str]:
    """Where an item stands: by its first field that is a number, else by all of them."""
    number = next((value for value in fields.values() if isinstance(value, int | float)), 0)
    return float(number), orjson.dumps(fields).decode()


def _merge(into: dict[str, Any], branches: Mapping[str, Any]) -> None:
    for name, below in branches.items():
        _merge(into.setdefault(name, {}), below)
