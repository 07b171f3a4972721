"""Makes the examples of `export NAME { examples from DATASET … }`: what a row is answered with, as chats to learn from.

No example may be one of the questions that a model is graded on. By construction: the compiler refuses rows that some
scenario runs over. By likeness: a row is left out where one of its texts is, nearly or word for word, one of theirs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from tripos.failure import Failure
from tripos.training.reward.pairing import FORMAT, prompt_of, replies_of
from tripos_compiler.plan import Pairing, Plan
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_compiler.semantics.near import ALIKE, NearTexts, what_counts
from tripos_runtime.cases import CaseSource
from tripos_warehouse.exports.files import beside, write_lines

SHORTEST = 12
"""Letters and digits that a text has at least to be compared by its runs of characters: below, it is a word or two,
which questions share. Of a row that has no longer one, its longest is compared word for word."""


def find_examples(plan: Plan, name: str) -> Pairing | None:
    """The export of that name, where it is one of examples."""
    exports = (each for each in plan.exports if isinstance(each, Pairing) and each.kind == "examples")
    return next((each for each in exports if each.name == name), None)


def write_examples(plan: Plan, export: Pairing, source: CaseSource, path: Path) -> dict[str, Any]:
    """Writes the examples as JSON Lines and their provenance beside, which is returned.

    A line has `messages`: what is asked, of the user, and the answer, of the assistant. The provenance has an entry for
    every line, with the item, and says how many rows were left out, why, and which were like what question. Raises
    `Failure` E0301 where a row has no value for what the export says, W0821 where there is no example, and `StoreError`
    W0604 where the disk refuses.
    """
    asked = Asked.of(plan, source)
    left_out: Counter[str] = Counter()
    near: list[dict[str, Any]] = []
    lines: list[tuple[str, bytes]] = []
    for number, row in enumerate(source.sources.stream(plan.dataset(export.dataset)), 1):
        names = {export.alias: row.values, **source.sources.names}
        try:
            if export.where is not None and not evaluate(export.where, names):
                left_out["filtered"] += 1
                continue
            prompt = prompt_of(plan, export, source, names)
            replies = [told for reply in export.replies for told in replies_of(reply, names)]
        except Unavailable as error:
            message = f"row {number} of `{export.dataset}` gives export `{export.name}` no value: {error}"
            raise Failure("E0301", message, "mend the row, or guard the value") from error
        like = asked.like(row.values)
        if like is not None:
            left_out["asked, or nearly so"] += 1
            near.append({"item": row.item_id, "like": like[0], "overlap": round(like[1], 4)})
            continue
        for told in replies:
            chat = [{"role": "user", "content": prompt}, {"role": "assistant", "content": told.text}]
            lines.append((row.item_id, orjson.dumps({"messages": chat})))
    if not lines:
        hint = "look at `where`, and at whether the rows are those that are asked"
        raise Failure("W0821", f"no row of `{export.dataset}` gives export `{export.name}` an example", hint)
    written = write_lines(path, (line for _, line in lines))
    said = {
        "format": FORMAT,
        "file": path.name,
        "sha256": written.sha256,
        "examples": written.rows,
        "kind": "distillation",
        "export": export.name,
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "plan_digest": plan.digest,
        "licence": plan.benchmark.license,
        "data": [
            {"dataset": export.dataset, "path": file.path, "sha256": file.sha256, "rows": file.rows}
            for file in plan.dataset(export.dataset).files
        ],
        "left_out": dict(sorted(left_out.items())),
        "held_out": {"questions": len(asked), "alike": ALIKE, "near": near},
        "lines": [{"export": export.name, "item": item} for item, _ in lines],
    }
    write_lines(beside(path), [json.dumps(said, ensure_ascii=False, indent=1).encode()])
    return said


class Asked:
    """The texts of all rows that scenarios run over."""

    def __init__(self) -> None:
        self._near: NearTexts[int] = NearTexts()
        self._items: list[str] = []
        self._rows: set[str] = set()
        self._short: dict[str, str] = {}
        """The items by what counts in their longest text, where that is short."""

    def __len__(self) -> int:
        return len(self._rows)

    @classmethod
    def of(cls, plan: Plan, source: CaseSource) -> Asked:
        """Those of a plan whose rows are read from files; what a run makes is not there yet."""
        found = cls()
        read = {dataset.name: dataset for dataset in plan.datasets}
        names = [scenario.rows.dataset for scenario in plan.scenarios if scenario.rows is not None]
        for name in dict.fromkeys(names):
            for row in source.sources.stream(read[name]) if name in read else ():
                found._add(row.item_id, row.values)
        return found

    def like(self, values: Mapping[str, Any]) -> tuple[str, float] | None:
        """The item that a row is most like, and how much; None where it is like none."""
        found = [hit for text in _texts(values) if (hit := self._near.find(text)) is not None]
        best = max(found, key=lambda hit: hit[1], default=None)
        same = self._short.get(_longest(values))
        if same is not None:
            return same, 1.0
        return None if best is None else (self._items[best[0]], best[1])

    def _add(self, item: str, values: Mapping[str, Any]) -> None:
        self._rows.add(item)
        if 0 < len(longest := _longest(values)) < SHORTEST:
            self._short.setdefault(longest, item)
        for text in _texts(values):
            self._near.add(len(self._items), text)
            self._items.append(item)


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    for value in values.values():
        if isinstance(value, str) and len(what_counts(value)) >= SHORTEST:
            yield value


def _longest(values: Mapping[str, Any]) -> str:
    """What counts in the longest text of a row."""
    return max((what_counts(value) for value in values.values() if isinstance(value, str)), key=len, default="")
