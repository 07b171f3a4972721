"""Random histories of a store, and what a run shows at the end of one: it must be what it shows in a fresh store."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.graders import Graders
from tests.history_spec import KINDS, Project
from tests.lengths import sized
from tests.shown import differences, shown
from tripos.api.run import Run
from tripos.cli.main import run_command
from tripos.runs.job import Job
from tripos_runtime.drivers.engine import Engine
from tripos_runtime.drivers.lookup import Task
from tripos_runtime.models.base import Reply, Request
from tripos_runtime.models.mocks import MockModel

MODELS = ("mock/careful:a", "mock/careful:b", "mock/careless")
OTHERS = ("mock/careful:x", "mock/careful:y", "mock/lenient", "mock/severe")
ROLES = ("parser", "student", "author", "checker", "judge")


@dataclass
class History:
    """Actions drawn with `seed` in a folder; `told` says which they were."""

    folder: Path
    seed: int
    told: list[str] = field(default_factory=list)
    compared: int = 0
    """How many rows and figures of R were compared."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.number = 10
        first = self._row() | {"kind": "easy"}  # with one that stays so, no condition leaves nothing
        self.project = Project([first, self._row(), self._row()])
        self.graders = Graders(self.folder, self.random)

    def differences(self) -> list[str]:
        """Return what a run shows at the end of a history and not in a fresh store, or the other way round. People have
        said the same of its replies in both."""
        for _ in range(self.random.randint(3, sized(4, 8))):
            self._act()
        self.project.name = "histories"
        arguments = self._run_arguments()
        self._tell("R: " + " ".join(arguments))
        self.project.write(self.folder)
        for store in ("results", "fresh"):
            self._run_with(arguments, store)
        self.graders.repeat("fresh")
        workbook = self.seed % 4 == 0  # which is as much as CSV has, and takes long
        there = shown(self.folder, "results", workbook=workbook)
        self.compared = sum(len(each) if isinstance(each, list | dict) else 1 for each in there.values())
        return differences(there, shown(self.folder, "fresh", workbook=workbook, held=there["held out"]))

    def _act(self) -> None:
        act = self.random.choice(
            [self._run] * 5
            + [self._edit_data, self._edit_spec] * 3
            + [self._grade, self._rate] * 2
            + [self._kill, self._compact, self._import, self._import_scores, self._run_another]
        )
        act()

    def _row(self) -> dict[str, Any]:
        self.number += 1
        kind = self.random.choice(KINDS[:2])
        return {
            "kind": kind,
            "question": f"What is {self.number} + 1?",
            "answer": str(self.number + 1),
            "parts": [{"text": f"Part {i} of {self.number}?", "sure": i} for i in range(self.random.randint(0, 4))],
            "shop": {"kept": [self.number]},
        }

    def _run_arguments(self) -> list[str]:
        models = self.random.sample(MODELS, self.random.randint(1, 2))
        chosen = ["--model", ",".join(models)]
        for role in ROLES:
            chosen += ["--role", f"{role}={self.random.choice(OTHERS)}"]
        if self.random.random() < 0.2:
            chosen[-1] = f"judge={','.join(self.random.sample(OTHERS, 2))}"
        narrowed = self.random.random()
        if narrowed < 0.15:
            chosen += ["--limit", "2"]
        elif narrowed < 0.3:
            chosen += ["--subset", "part"]
        elif narrowed < 0.5:
            chosen += [
                "--scenario",
                self.random.choice(("sums", "lesson", "battle", "made", "drills", "asked", "parted", "service")),
            ]
        elif narrowed < 0.6:
            chosen += ["--only", "kind=easy"]
        elif narrowed < 0.66:
            chosen += ["--only", "teaching=lesson"]
        return chosen

    def _run(self) -> None:
        arguments = self._run_arguments()
        self._tell("run " + " ".join(arguments))
        self.project.write(self.folder)
        self._run_with(arguments, "results")

    def _run_with(self, arguments: list[str], store: str) -> None:
        # A report of every run would take half of the time; whether there was one must not matter either.
        told = (
            contextlib.nullcontext()
            if self.random.random() < 0.2
            else patch.object(Run, "keep_report", lambda run: None)
        )
        with told:
            self._tripos("run", "spec.tripos", *arguments, "--json", "--store", store)

    def _run_another(self) -> None:
        name, self.project.name = self.project.name, "another"
        self._run()
        self.project.name = name

    def _kill(self) -> None:
        """A run that stops on its way and does not say so: between two units, or at a call."""
        at_call = self.random.random() < 0.5
        left = [self.random.randint(1, 40 if at_call else 5)]
        do, ask = Engine._do, MockModel.ask

        async def some(engine: Engine, task: Task) -> None:
            left[0] -= 1
            if left[0] < 0:
                engine.stop()
                return
            await do(engine, task)

        async def few(model: MockModel, request: Request) -> Reply:
            left[0] -= 1
            if left[0] < 0:
                raise asyncio.CancelledError
            return await ask(model, request)

        self._tell("kill at a call" if at_call else "kill")
        killed = patch.object(MockModel, "ask", few) if at_call else patch.object(Engine, "_do", some)
        with killed, patch.object(Job, "_end", lambda job, ending: None):
            self._run()

    def _compact(self) -> None:
        self._tell("compact")
        if (self.folder / "results").exists():
            self._tripos("store", "compact", "--store", "results")

    def _import(self) -> None:
        """Replies from elsewhere, of a model that runs ask too."""
        model = self.random.choice((*MODELS, "lab/other"))
        self._tell(f"import samples of {model}")
        self.project.write(self.folder)
        rows = [
            {"question": row["question"], "reply": f"It is {self.random.randint(1, 30)}.", "scenario": "battle"}
            for row in self.project.rows
        ]
        (self.folder / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        # Replies of a model that R asks would be replies of R, so they are of a model that it does not ask.
        self._tripos(
            "import", "samples", "replies.jsonl", "--spec", "spec.tripos", "--model", f"{model}-elsewhere",
            "--store", "results", check=False,
        )  # fmt: skip

    def _import_scores(self) -> None:
        """Scores from elsewhere, of replies that R does not have: another model's."""
        self._tell("import scores")
        self.project.write(self.folder)
        arguments = ["--model", "mock/careful:graded", "--scenario", "sums"]
        self._run_with(arguments + [each for role in ROLES for each in ("--role", f"{role}={OTHERS[0]}")], "results")
        rows = [
            {"question": row["question"], "metric": "good", "value": 3, "evaluator": "human/anna", "sample": 0}
            for row in self.project.rows
        ]
        (self.folder / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        self._tripos("import", "scores", "scores.jsonl", "--store", "results", check=False)

    def _grade(self) -> None:
        """A person is handed some replies of the last run, and grades them or changes what was said before."""
        self._tell(self.graders.grade("results"))

    def _rate(self) -> None:
        """Ratings of some replies of the last run come in a file."""
        self._tell(self.graders.rate("results"))

    def _edit_data(self) -> None:
        rows, row = self.project.rows, self.random.choice(self.project.rows[1:])
        match self.random.randrange(7):
            case 0:
                row["answer"] = str(self.random.randint(1, 30))
            case 1:
                row["question"] += "?"
            case 2:
                rows.append(self._row())
            case 3 if len(rows) > 2:
                rows.remove(row)
            case 4 if row["parts"]:
                self.random.choice(row["parts"])["sure"] = self.random.randint(0, 4)
            case 5:
                row["shop"] = {"kept": [self.random.randint(1, 9)]}
            case _:
                row["kind"] = self.random.choice(KINDS[:2])
        self._tell("data")

    def _edit_spec(self) -> None:
        project = self.project
        match self.random.randrange(16):
            case 0:
                project.where = "" if project.where else " where item.kind == easy"
            case 1:
                project.wording = self.random.choice(("", " please", " now"))
            case 2:
                project.graded = self.random.choice(("", " strictly"))
            case 3:
                project.samples = self.random.choice((1, 2, 3))
            case 4:
                project.more = "" if project.more else ", hint text?"
            case 5:
                project.kinds = 5 - project.kinds
            case 6:
                project.drilled = self.random.choice(("", " into an exercise"))
            case 7:
                project.checked = self.random.choice(("", " and clear"))
            case 8:
                project.count = 3 - project.count
            case 9 | 10:
                project.over = self.random.randint(6, 18)
            case 11:
                project.least, project.retries = self.random.choice(((3, 2), (3, 1), (60, 2)))
            case 12:
                project.sure = self.random.randint(0, 3)
            case 13:
                project.turns = self.random.randint(1, 4)
            case 14:
                project.refuse = self.random.choice((0, 3, 1000))
            case _:
                project.taught = self.random.choice(("", " slowly"))
        self._tell("spec")

    def _tell(self, what: str) -> None:
        self.told.append(what)

    def _tripos(self, *arguments: str, check: bool = True) -> None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command(arguments)
        if (check and code not in (0, 1, 130)) or "internal error" in err.getvalue():
            raise AssertionError(f"tripos {' '.join(arguments)}: {code}\n{err.getvalue()}\n{self.told}")
