"""People who say something of the replies of runs: who was handed some, and who sent ratings in a file.

What they said is a reply like any other, and belongs to every run that has what they said it of. So `repeat` has them
say the same in another store, of whatever its last run has of it: the same reply, by what it was shown as.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tripos.annotation.assignment import Assignment, AssignmentDesk, AssignmentOptions
from tripos.annotation.sheet import GradesFile
from tripos.cli.main import run_command
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Grade, Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan

PEOPLE = ("anna", "ben")
RATERS = ("human/carl", "lab/judge")
EVERYTHING = AssignmentOptions(None, {}, (), None, None, 0)
Said = tuple[float, str | None]


class Graders:
    """All that people say in a history; `random` draws what."""

    def __init__(self, folder: Path, random: random.Random) -> None:
        self.folder, self.random = folder, random
        self.graded: dict[tuple[Any, ...], dict[str, Said]] = {}
        """What a person said, by who, the judgement and what was seen of it: by metric, with a reason."""
        self.rated: dict[tuple[Any, ...], Said] = {}
        """What a rater said, by who, the round, the metric, what stands for it in the plan, the reply, its text and who
        parsed it."""
        self._files = 0

    def grade(self, store: str) -> str:
        """Hand some replies of the last run to a person, who grades some of them, and change a grade; say what."""
        name = self.random.choice(PEOPLE)
        sample = self.random.choice((None, 1, 2, 4))
        try:
            hand = self._hand(store, name, AssignmentOptions(None, {}, (), sample, None, self.random.randrange(3)))
        except (TriposError, StoreError):
            return f"{name} is handed nothing"
        part = self.random.random() < 0.3
        for _ in range(1 + (self.random.random() < 0.3)):
            said = {}
            for row in hand.batch.rows:
                if part and self.random.random() < 0.5:
                    continue
                reason = self.random.choice((None, "well put"))
                said[row.row] = {
                    mark.metric: (float(self.random.randint(mark.low or 1, mark.high or 10)), reason)
                    for mark in row.marks
                }
                self.graded[self._key(hand, row)] = said[row.row]
            self._take(store, hand, said)
        return f"{name} grades {len(said)} of {len(hand.batch.rows)}"

    def rate(self, store: str) -> str:
        """Imports ratings of some replies of the last run; says what."""
        rater, round_ = self.random.choice(RATERS), self.random.choice((1, 1, 2))
        rows = []
        for key, row in self._gradable(store, rater, round_):
            if self.random.random() < 0.6:
                self.rated[key] = (float(self.random.randint(1, 10)), self.random.choice((None, "hm")))
                rows.append((key, row))
        self._import(store, rows)
        return f"{rater} rates {len(rows)}"

    def repeat(self, store: str) -> None:
        """Have all of them say the same of the last run of another store, so far as it is the same that they say it
        of."""
        for name in PEOPLE:
            if not any(key[0] == name for key in self.graded):
                continue
            with contextlib.suppress(TriposError):  # there is nothing to grade
                hand = self._hand(store, name, EVERYTHING)
                said = {row.row: self.graded.get(self._key(hand, row)) for row in hand.batch.rows}
                self._take(store, hand, {row: each for row, each in said.items() if each is not None})
        for rater, round_ in sorted({key[:2] for key in self.rated}):
            self._import(store, [each for each in self._gradable(store, rater, round_) if each[0] in self.rated])

    def _hand(self, store: str, name: str, choice: AssignmentOptions) -> Assignment:
        opened = Store.open(self.folder / store, create=False)
        connection, run = connect_run(opened)
        with connection:
            desk = AssignmentDesk(opened, connection, get_plan(connection, run), run, "judge", name)
            return desk.assign(choice, lambda: datetime.now(UTC))

    def _key(self, hand: Assignment, row: Any) -> tuple[Any, ...]:
        return hand.batch.name, row.judgement_id, hand.views[row.row].texts

    def _take(self, store: str, hand: Assignment, said: dict[str, dict[str, Said]]) -> None:
        """Take back a file of the page with these grades by row."""
        if not said:
            return
        path = self._file()
        file = GradesFile(path, hand.batch, "now")
        for row, marks in said.items():
            for metric, (value, reason) in marks.items():
                file.grade(row, metric, value, "now")
                if reason is not None:
                    file.explain(row, reason, "now")
        file.close()
        self._tripos("annotate", "--take", str(path), "--partial", "--store", store)

    def _gradable(self, store: str, rater: str, round_: int) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Yield all that could be rated in the last run of a store, with the row of a file that rates it."""
        try:
            connection, run = connect_run(Store.open(self.folder / store, create=False))
        except StoreError:
            return
        with connection:
            plan = get_plan(connection, run)
            query = f"select sample_id, scenario, step, reply from {run.benchmark}.samples order by sample_id"
            for sample, scenario, step, reply in connection.execute(query).fetchall():
                if reply is None:
                    continue
                # What is graded of a reply to a sum is what the parser made of it.
                parser = run.roles["parser"] if scenario == "sums" else ()
                for grade in _grades(plan, scenario, step):
                    key = (rater, round_, grade.name, grade.judgement, sample, reply, parser)
                    about = {"sample_id": sample, "metric": grade.name}
                    yield key, about | {"evaluator": rater, "round": round_}

    def _import(self, store: str, rows: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> None:
        if not rows:
            return
        told = [row | dict(zip(("value", "rationale"), self.rated[key], strict=True)) for key, row in rows]
        path = self._file()
        path.write_text("".join(json.dumps(row) + "\n" for row in told), "utf-8")
        self._tripos("import", "scores", str(path), "--replace", "--store", store)

    def _file(self) -> Path:
        self._files += 1
        return self.folder / f"said-{self._files}.jsonl"

    def _tripos(self, *arguments: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command(arguments)
        assert code == 0, f"tripos {' '.join(arguments)}: {code}\n{err.getvalue()}"


def _grades(plan: Plan, scenario: str, step: str) -> list[Grade]:
    """Return what grades the replies to a step. No scenario has a grade that is another in another arm."""
    own = next((each for each in plan.scenarios if each.name == scenario), None)
    if own is None:
        return []
    found = [each for treatment in own.treatments for each in treatment.steps if isinstance(each, Grade)]
    return list({each.name: each for each in found if each.of == step}.values())
