"""Random histories of a store, and what a run shows at the end of one: it must be what it shows in a fresh store."""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq

from tripos.command.main import run_command
from tripos.running import Job
from tripos_runtime.engine import Engine
from tripos_runtime.lookup import Task
from tripos_warehouse import sql
from tripos_warehouse.store import Store
from tripos_warehouse.views import connect

SPEC = """\
benchmark {name} "1.0.0" {{ languages en }}
role candidate compared
role parser
role student
role author
role judge panel
axis kind {{ {kinds} }}
dataset item from "items.jsonl" {{ kind, question text, answer text secret{more} }}
dataset extra by author {{
  context kind
  count   2
  prompt  "Write{wording} an exercise that is {{{{ kind }}}}."
  returns {{ question text, solution text secret }}
}}
scorer grader(response: text) by judge {{
  prompt "Grade{graded}: {{{{ response }}}}"
  gives 1..10
}}
scorer better(one: text, two: text) by judge {{
  prompt "One: {{{{ one }}}} Two: {{{{ two }}}} Which is better?"
  gives choice(one, two, tie)
}}
subset part {{ take 2 per scenario }}
scenario sums {{
  context kind
  over item{where}
  ask reply by candidate {{
    prompt "{{{{ item.question }}}} ({{{{ kind }}}}){wording}"
    samples {samples}
  }}
  ask parsed by parser {{
    prompt "Parse: {{{{ reply.text }}}}"
    returns {{ said text, n 1..10 }}
  }}
  score n = parsed.n
  score right = contains(reply.text, item.answer)
  score long = length(item.answer) + length(reply.text)
  score good = grader(response: parsed.said)
  score fair = grader(response: reply.text) / 2
  measure accuracy = mean(right)
  measure quality = mean(good) by evaluator
  measure fairness = mean(fair)
  measure parsing = mean(n)
  measure both = accuracy + parsing
}}
arm teaching {{ none, lesson }}
scenario lesson {{
  over item
  arms teaching
  converse talk when teaching == lesson {{
    candidate {{ system "Teach: {{{{ item.question }}}}{taught}" }}
    student {{ system "You learn." }}
    opens candidate
    until candidate says "that is all"
    limit 3 turns
  }}
  ask exam by student {{
    continue talk
    prompt "{{{{ item.question }}}}"
  }}
  score learnt = length(exam.text) + length(item.answer)
  measure knows = mean(learnt)
  measure gain = knows - knows[teaching: none]
}}
scenario battle {{
  over item
  ask reply by candidate {{ prompt "Explain: {{{{ item.question }}}}" }}
  compare preferred using better(first.reply.text, second.reply.text)
  measure won = win_rate(preferred)
}}
scenario made {{
  context kind
  over extra
  ask reply by candidate {{ prompt "Solve: {{{{ extra.question }}}}" }}
  score solved = length(reply.text) + length(extra.solution)
  measure solving = mean(solved)
}}
"""
MODELS = ("mock/careful:a", "mock/careful:b", "mock/careless")
OTHERS = ("mock/careful:x", "mock/careful:y", "mock/lenient", "mock/severe")
KINDS = ("easy", "hard", "odd")
CIRCUMSTANCES = ("run_id", "shown_run", "created_at", "latency_s", "attempts", "release", "items_of", "source")
VIEWS = (
    *("items", "slots", "samples", "judgements", "scores", "columns", "rationales", "comparisons", "conversations"),
    *("turns", "metrics"),
)


@dataclass
class Project:
    """A benchmark as it is now: what its spec says, its rows, and who fills the roles."""

    rows: list[dict[str, str]]
    name: str = "histories"
    kinds: int = 2
    more: str = ""
    where: str = ""
    wording: str = ""
    graded: str = ""
    taught: str = ""
    samples: int = 1

    def write(self, folder: Path) -> None:
        """Writes the spec and its data."""
        told = {key: value for key, value in vars(self).items() if key not in ("rows", "kinds")}
        (folder / "spec.tripos").write_text(SPEC.format(kinds=", ".join(KINDS[: self.kinds]), **told), "utf-8")
        (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in self.rows), "utf-8")


@dataclass
class History:
    """Actions drawn with `seed` in a folder; `told` says which they were."""

    folder: Path
    seed: int
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.number = 10
        first = self._row() | {"kind": "easy"}  # with one that stays so, no condition leaves nothing
        self.project = Project([first, self._row(), self._row()])

    def differences(self) -> list[str]:
        """What a run shows at the end of a history and not in a fresh store, or the other way round."""
        for _ in range(self.random.randint(3, 8)):
            self._act()
        self.project.name = "histories"
        self.project.write(self.folder)
        arguments = self._run_arguments()
        self._tell("R: " + " ".join(arguments))
        found = []
        for store in ("results", "fresh"):
            self._tripos("run", "spec.tripos", *arguments, "--json", "--store", store)
            found.append(shown(self.folder, store))
        there, fresh = found
        for name, value in there["leaderboard"].items():
            if value is None:
                fresh["leaderboard"][name] = None
        return [f"{name}: {_apart(there.get(name), fresh.get(name))}" for name in sorted({*there, *fresh})
                if there.get(name) != fresh.get(name)]  # fmt: skip

    def _act(self) -> None:
        act = self.random.choice(
            [self._run] * 5
            + [self._edit_data, self._edit_spec] * 3
            + [self._kill, self._compact, self._import, self._grade, self._run_another]
        )
        act()

    def _row(self) -> dict[str, str]:
        self.number += 1
        kind = self.random.choice(KINDS[:2])
        return {"kind": kind, "question": f"What is {self.number} + 1?", "answer": str(self.number + 1)}

    def _run_arguments(self) -> list[str]:
        models = self.random.sample(MODELS, self.random.randint(1, 2))
        chosen = ["--model", ",".join(models)]
        for role in ("parser", "student", "author", "judge"):
            chosen += ["--role", f"{role}={self.random.choice(OTHERS)}"]
        if self.random.random() < 0.2:
            chosen += ["--role", f"judge={','.join(self.random.sample(OTHERS, 2))}"]
            del chosen[-4:-2]
        narrowed = self.random.random()
        if narrowed < 0.15:
            chosen += ["--limit", "2"]
        elif narrowed < 0.3:
            chosen += ["--subset", "part"]
        elif narrowed < 0.5:
            chosen += ["--scenario", self.random.choice(("sums", "lesson", "battle", "made"))]
        elif narrowed < 0.6:
            chosen += ["--only", "kind=easy"]
        return chosen

    def _run(self) -> None:
        arguments = self._run_arguments()
        self._tell("run " + " ".join(arguments))
        self.project.write(self.folder)
        self._tripos("run", "spec.tripos", *arguments, "--json", "--store", "results")

    def _run_another(self) -> None:
        name, self.project.name = self.project.name, "another"
        self._run()
        self.project.name = name

    def _kill(self) -> None:
        """A run that stops on its way and does not say so."""
        left = [self.random.randint(1, 5)]
        do = Engine._do

        async def some(engine: Engine, task: Task) -> None:
            left[0] -= 1
            if left[0] < 0:
                engine.stop()
                return
            await do(engine, task)

        self._tell("kill")
        with patch.object(Engine, "_do", some), patch.object(Job, "_end", lambda job, ending: None):
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

    def _grade(self) -> None:
        """Scores from elsewhere, of replies that R does not have: another model's."""
        self.project.write(self.folder)
        self._tell("import scores")
        arguments = ["--model", "mock/careful:graded", "--scenario", "sums"]
        arguments += [
            each for role in ("parser", "student", "author", "judge") for each in ("--role", f"{role}={OTHERS[0]}")
        ]
        self._tripos("run", "spec.tripos", *arguments, "--json", "--store", "results")
        rows = [
            {"question": row["question"], "metric": "good", "value": 3, "evaluator": "human/anna", "sample": 0}
            for row in self.project.rows
        ]
        (self.folder / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        self._tripos("import", "scores", "scores.jsonl", "--store", "results", check=False)

    def _edit_data(self) -> None:
        rows, row = self.project.rows, self.random.choice(self.project.rows[1:])
        match self.random.randrange(5):
            case 0:
                row["answer"] = str(self.random.randint(1, 30))
            case 1:
                row["question"] += "?"
            case 2:
                rows.append(self._row())
            case 3 if len(rows) > 2:
                rows.remove(row)
            case _:
                row["kind"] = self.random.choice(KINDS[:2])
        self._tell("data")

    def _edit_spec(self) -> None:
        project = self.project
        match self.random.randrange(7):
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


def shown(folder: Path, store: str) -> dict[str, Any]:
    """Everything that the last run of a store shows, without the circumstances."""
    opened = Store.open(folder / store, create=False)
    found: dict[str, Any] = {}
    with connect(opened) as latest:
        query = "select run_id from main.runs order by started_at desc, run_id desc limit 1"
        [(run,)] = latest.execute(query).fetchall()
        for view in VIEWS:
            of_run = "" if view == "metrics" else f"where shown_run = '{run}'"
            found[f"latest {view}"] = _content(latest, f"from histories.{view} {of_run}")
    with connect(opened, run) as alone:
        for view in VIEWS:
            found[f"run {view}"] = _content(alone, f"from histories.{view}")
        found["macro leaderboard"] = _content(alone, "from histories.leaderboard()")
    report = json.loads(_printed(folder, "report", "--json", "--store", store))
    found["report"] = {key: _rounded(value) for key, value in report.items() if key != "run"}
    boards = json.loads(_printed(folder, "leaderboard", "histories", "--json", "--store", store))
    told = ("model", "value", "low", "high", "items", "coverage", "graders", "company")
    # What two models come to that are compared side by side may stand on an earlier run too, and says so.
    found["leaderboard"] = {
        f"{board['measure']} {each['model']}": _rounded([each[key] for key in told]) if each["runs"] == [run] else None
        for board in boards["boards"]
        for each in board["models"]
        if run in each["runs"]
    }
    shutil.rmtree(folder / "exported", ignore_errors=True)
    _printed(folder, "export", "parquet", "-o", "exported", "--store", store)
    for path in sorted((folder / "exported").glob("*.parquet")):
        rows = pq.read_table(path).to_pylist()
        found[f"export {path.name}"] = sorted(repr(_rounded(_without(row))) for row in rows)
    return found


def _content(connection: Any, query: str) -> list[str]:
    relation = connection.sql(query)
    names = [name for name in relation.columns if name not in CIRCUMSTANCES]
    rows = connection.execute(f"select {', '.join(map(sql.name, names))} {query}").fetchall()
    return sorted(repr(_rounded(list(row))) for row in rows)


def _rounded(value: Any) -> Any:
    """The value without the digits that the order of a sum decides."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def _without(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in CIRCUMSTANCES}


def _printed(folder: Path, *arguments: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(arguments)
    if code not in (0, 1) or not out.getvalue():
        raise AssertionError(f"tripos {' '.join(arguments)}: {code}\n{err.getvalue()}")
    return out.getvalue()


def _apart(one: Any, other: Any) -> str:
    if isinstance(one, list) and isinstance(other, list):
        lost, new = [each for each in other if each not in one], [each for each in one if each not in other]
        return f"{len(one)} and {len(other)}; only here {str(new[:2])[:600]}; only fresh {str(lost[:2])[:600]}"
    if isinstance(one, dict) and isinstance(other, dict):
        return "; ".join(f"{key}: {str(one.get(key))[:400]} and {str(other.get(key))[:400]}" for key in {*one, *other}
                         if one.get(key) != other.get(key))  # fmt: skip
    return f"{str(one)[:500]} and {str(other)[:500]}"


def histories(folder: Path, seeds: range) -> Iterator[tuple[History, list[str]]]:
    """A history for each seed, with its differences."""
    for seed in seeds:
        here = folder / f"history-{seed}"
        here.mkdir()
        history = History(here, seed)
        yield history, history.differences()
        shutil.rmtree(here)
