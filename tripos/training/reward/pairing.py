"""Makes the pairs of `export NAME { pairs from DATASET … }`, with the file that says where each comes from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import orjson

from tripos.ui import Failure
from tripos_compiler.language import Unavailable, evaluate, render
from tripos_compiler.language.contamination import HeldOutTexts, learned_texts
from tripos_compiler.plan import PairedReply, Pairing, Plan
from tripos_runtime.datasets import CaseSource
from tripos_warehouse.exports import beside, write_lines

FORMAT = "tripos.training/2"
KEPT_OUT = "rows with a text that is kept out"
"""Why a row is left out."""


@dataclass(frozen=True)
class RatedReply:
    """A reply of a row: its text, how good it is, who wrote it, and which criteria it meets, where that is said."""

    text: str
    worth: float
    by: str
    criteria: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class ReplyPair:
    """Two replies to one prompt, the better first, with what their row shares with others."""

    prompt: str
    chosen: RatedReply
    rejected: RatedReply
    item: str
    groups: tuple[str, ...]

    @property
    def margin(self) -> float:
        """By how much the better one is better."""
        return round(self.chosen.worth - self.rejected.worth, 6)


def pairs_of(plan: Plan, pairing: Pairing, source: CaseSource) -> tuple[list[ReplyPair], Counter[str]]:
    """Return the pairs of every row, in the order of the data, and how many there are not, by reason.

    Raises `Failure` E0301 where a row has no value for what the export says.
    """
    dataset = plan.dataset(pairing.dataset)
    made: list[ReplyPair] = []
    left_out: Counter[str] = Counter()
    kept_out = kept_out_of(plan, pairing, source)
    for number, row in enumerate(source.sources.stream(dataset), 1):
        names = {pairing.alias: row.values, **source.sources.names}
        try:
            if pairing.where is not None and not evaluate(pairing.where, names):
                left_out["filtered"] += 1
                continue
            if kept_out is not None and kept_out.find(learned_texts(pairing, names)) is not None:
                left_out[KEPT_OUT] += 1
                continue
            prompt = "" if pairing.prompt is None else prompt_of(plan, pairing, source, names)
            replies = [told for reply in pairing.replies for told in replies_of(reply, names)]
            groups = tuple(str(found) for each in pairing.groups if (found := evaluate(each, names)))
        except Unavailable as error:
            hint = "mend the row, or guard the value"
            message = f"row {number} of `{pairing.dataset}` gives export `{pairing.name}` no value: {error}"
            raise Failure("E0301", message, hint) from error
        for one, two in combinations(replies, 2):
            apart = one.worth - two.worth
            if one.text == two.text:
                left_out["the same text"] += 1
            elif apart == 0:
                left_out["ties"] += 1
            elif abs(apart) < pairing.margin:
                left_out["below the margin"] += 1
            else:
                better, worse = (one, two) if apart > 0 else (two, one)
                made.append(ReplyPair(prompt, better, worse, row.item_id, groups))
    return made, left_out


def kept_out_of(plan: Plan, pairing: Pairing, source: CaseSource) -> HeldOutTexts[str] | None:
    """Return the texts of the data sets that an export holds out; None where it names none."""
    if not pairing.holds_out:
        return None
    found: HeldOutTexts[str] = HeldOutTexts()
    for name in pairing.holds_out:
        for row in source.sources.stream(plan.dataset(name)):
            found.add(row.item_id, row.values)
    return found


def prompt_of(plan: Plan, pairing: Pairing, source: CaseSource, names: Mapping[str, Any]) -> str:
    """Return what a row asks; `names` has the row."""
    assert pairing.prompt is not None
    return render(pairing.prompt, names, plan.benchmark.languages[0], source.axes)


def replies_of(reply: PairedReply, names: Mapping[str, Any]) -> Iterator[RatedReply]:
    """Yield the texts of a reply, without those that are missing or empty."""
    each = [names] if reply.each is None else [{**names, str(reply.alias): one} for one in evaluate(reply.each, names)]
    for seen in each:
        if reply.when is not None and not evaluate(reply.when, seen):
            continue
        text = evaluate(reply.text, seen)
        if text is not None and str(text).strip():
            by = "" if reply.by is None else str(evaluate(reply.by, seen) or "")
            worth = evaluate(reply.worth, seen)
            met = tuple(bool(each) for each in worth) if isinstance(worth, list | tuple) else None
            yield RatedReply(str(text).strip(), float(worth or 0) if met is None else sum(met), by, met)


def write_pairs(plan: Plan, pairings: Sequence[Pairing], source: CaseSource, path: Path) -> dict[str, Any]:
    """Write the pairs of all `pairings` as JSON Lines and their provenance beside, which is returned.

    A line has `prompt`, `chosen`, `rejected` and `margin`; the provenance has an entry for every line, with the export,
    the item, what it shares with others (`groups`), who wrote the two (`by`), how much they are worth, and, where the
    export lists criteria, which of them they meet. Raises `Failure` S0821 where there is no pair, and `StoreError`
    S0604 where the disk refuses.
    """
    found: list[tuple[str, ReplyPair]] = []
    left_out: Counter[str] = Counter()
    for pairing in pairings:
        pairs, fewer = pairs_of(plan, pairing, source)
        found += [(pairing.name, pair) for pair in pairs]
        left_out += fewer
    if not found:
        hint = "give the replies different `worth`, or check `where` and `when`"
        raise Failure("S0821", f"no two replies of {_names(pairings)} make a pair", hint)
    written = write_lines(path, (_line(pair) for _, pair in found))
    said = {
        "format": FORMAT,
        "file": path.name,
        "sha256": written.sha256,
        "examples": written.rows,
        "kind": "preferences",
        "exports": [each.name for each in pairings],
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "plan_digest": plan.digest,
        "licence": plan.benchmark.license,
        "data": [
            {"dataset": each.dataset, "path": file.path, "sha256": file.sha256, "rows": file.rows}
            for each in pairings
            for file in plan.dataset(each.dataset).files
        ],
        "left_out": dict(sorted(left_out.items())),
        "lines": [
            {
                "export": name,
                "item": pair.item,
                "groups": list(pair.groups),
                "by": [pair.chosen.by, pair.rejected.by],
                "worth": [pair.chosen.worth, pair.rejected.worth],
                **_criteria(pair),
            }
            for name, pair in found
        ],
    }
    write_lines(beside(path), [json.dumps(said, ensure_ascii=False, indent=1).encode()])
    return said


def _criteria(pair: ReplyPair) -> dict[str, Any]:
    """Return which criteria the two meet, as 1 and 0; nothing where the export lists none."""
    both = (pair.chosen.criteria, pair.rejected.criteria)
    return {"criteria": [None if each is None else [int(met) for met in each] for each in both]} if any(both) else {}


def _line(pair: ReplyPair) -> bytes:
    return orjson.dumps(
        {
            "prompt": pair.prompt,
            "chosen": pair.chosen.text,
            "rejected": pair.rejected.text,
            "margin": pair.margin,
        }
    )


def _names(pairings: Sequence[Pairing]) -> str:
    return " and ".join(f"`{each.name}`" for each in pairings)
