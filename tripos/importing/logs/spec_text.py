"""The generated spec of imported logs: a benchmark with a scenario for each task, scored from outside."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tripos.importing.logs.formats.inspect import MEAN, is_reducer, reduced_measure
from tripos.importing.spec_text import OPERATORS, unused_name
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.lowering.declarations import RESERVED_BENCHMARKS
from tripos_compiler.plan import Ask, Grade, Plan

MODEL, RATER = "model", "rater"
STEP = "reply"


@dataclass
class LoggedTask:
    """A task of a log, which becomes a scenario. `scores` are its scores in order. `lower` are those for which lower is
    better, and `numbers` those with values other than 0 and 1. `samples` is the number of replies to an item."""

    name: str
    title: str
    samples: int = 1
    scores: list[str] = field(default_factory=list)
    lower: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    reducers: dict[str, None] = field(default_factory=dict)
    """Inspect's reducers of the scores of an item's epochs; empty if it is the mean."""
    whole_set_scores: set[str] = field(default_factory=set)
    """Scores without a measure, since the log's figure is computed from the whole set."""

    def covers(self, other: LoggedTask) -> bool:
        """Return true if this task has everything that another one needs."""
        more = self.samples >= other.samples and set(self.scores) >= set(other.scores)
        reduced = set(self.reducers or (MEAN,)) >= set(other.reducers or (MEAN,))
        return more and reduced and self.numbers >= other.numbers

    def add(self, other: LoggedTask) -> None:
        """Extend this task by what another one needs."""
        self.samples = max(self.samples, other.samples)
        self.scores = list(dict.fromkeys([*self.scores, *other.scores]))
        if not set(self.reducers or (MEAN,)) >= set(other.reducers or (MEAN,)):
            self.reducers = dict.fromkeys([*(self.reducers or (MEAN,)), *(other.reducers or (MEAN,))])
        self.lower |= other.lower
        self.whole_set_scores |= other.whole_set_scores
        self.numbers |= other.numbers


@dataclass
class LogSpec:
    """The content of the spec of imported logs."""

    name: str
    tasks: dict[str, LoggedTask] = field(default_factory=dict)

    def covers(self, other: LogSpec) -> bool:
        """Return true if this spec has everything that another one needs."""
        return all(name in self.tasks and self.tasks[name].covers(task) for name, task in other.tasks.items())

    def add(self, other: LogSpec) -> None:
        """Extend this spec by what another one needs."""
        for name, task in other.tasks.items():
            if name not in self.tasks:
                self.tasks[name] = LoggedTask(name, task.title, reducers=dict(task.reducers))
            self.tasks[name].add(task)

    @property
    def numbers(self) -> set[str]:
        """Numeric scores: a number in any task. The others are booleans."""
        return {score for task in self.tasks.values() for score in task.numbers}

    @property
    def text(self) -> str:
        """The text of the spec."""
        parts = [self._head()]
        for number, task in enumerate(self.tasks.values()):
            parts.append(_dataset(task.name, like=next(iter(self.tasks)) if number else None))
        for score in dict.fromkeys(score for task in self.tasks.values() for score in task.scores):
            parts.append(_scorer(score, score in self.numbers))
        parts += [_scenario(task, self.numbers) for task in self.tasks.values()]
        return "\n".join(parts)

    def _head(self) -> str:
        named = [(task, list(_measures(task, self.numbers))) for task in self.tasks.values()]
        first = [f"{task.name}.{measures[0][0]}" for task, measures in named if measures]
        headline = f"  headline  {', '.join(first)}\n" if first else ""
        return (
            f"# Made by `tripos import logs`. The scores are those of the logs: no run gives them.\n"
            f'benchmark {self.name} "1.0.0" {{\n  languages en\n{headline}}}\n\n'
            f"role {MODEL} compared\nrole {RATER} panel\n"
        )


def spec_of(plan: Plan) -> LogSpec:
    """Return the content of the spec of imported logs, given its plan."""
    spec = LogSpec(plan.benchmark.name)
    lower = {measure.name for measure in plan.measures if measure.lower_is_better}
    for scenario in plan.scenarios:
        asks = [step for step in scenario.steps if isinstance(step, Ask)]
        by = {step.name: plan.scorer(step.scorer).gives for step in scenario.steps if isinstance(step, Grade)}
        scores = list(by)
        task = LoggedTask(scenario.name, scenario.title, max((ask.samples for ask in asks), default=1), scores)
        task.numbers = {name for name, gives in by.items() if gives is None or gives.kind != "bool"}
        own = [
            measure.name.removeprefix(f"{scenario.name}.")
            for measure in plan.measures
            if measure.scenario == scenario.name
        ]
        reduced = {name: (score, name.removeprefix(f"{score}_")) for name in own for score in scores}
        reduced = {name: pair for name, pair in reduced.items() if name not in scores and is_reducer(pair[1])}
        task.reducers = {} if set(own) & set(scores) else dict.fromkeys(reducer for _, reducer in reduced.values())
        measured = {score: {score} | {n for n, (of, _) in reduced.items() if of == score} for score in scores}
        task.whole_set_scores = {score for score, names in measured.items() if not names & set(own)}
        below = {name.removeprefix(f"{scenario.name}.") for name in lower}
        task.lower = {score for score, names in measured.items() if names & below}
        spec.tasks[scenario.name] = task
    return spec


def identifier(text: str, fallback: str) -> str:
    """Return a valid name as close to a text as possible.

    >>> identifier("exact_match,strict-match", "x"), identifier("7 + 7?", "task"), identifier("数学", "task")
    ('exact_match_strict_match', 'task_7_7', '数学')
    """
    found = re.sub(r"[\W_]+", "_", unicodedata.normalize("NFKC", text).lower()).strip("_")[:60].strip("_")
    if not found:
        return fallback
    return found if found[0].isalpha() and found not in RESERVED_BENCHMARKS | OPERATORS else f"{fallback}_{found}"


def distinct(texts: Iterable[str], fallback: str) -> dict[str, str]:
    """Return a distinct name for each text.

    >>> distinct(["a b", "a-b"], "x")
    {'a b': 'a_b', 'a-b': 'a_b_2'}
    """
    found: dict[str, str] = {}
    for text in texts:
        found[text] = unused_name(identifier(text, fallback), found.values())
    return found


def items_file(task: str) -> str:
    """Return the name of a task's file of items."""
    return f"{task}.jsonl"


def _dataset(task: str, like: str | None) -> str:
    head = f'dataset {task}_item from "{items_file(task)}"'
    if like is not None:
        return f"{head} like {like}_item\n"
    fields = ("id        text", "system    text", "history   dialogue", "question  text", "target    text? secret")
    return f"{head} {{\n" + "".join(f"  {each}\n" for each in fields) + "}\n"


def _scorer_of(score: str) -> str:
    """Return the name of a score's scorer: the same name, unless the library has a function with it."""
    return f"{score}_rating" if score in FUNCTIONS else score


def _scorer(name: str, number: bool) -> str:
    gives = "number" if number else "bool"
    head = f"scorer {_scorer_of(name)}(response: text) by {RATER}"
    return f'{head} {{\n  prompt "{{{{ response }}}}"\n  gives  {gives}\n}}\n'


def _measures(task: LoggedTask, numbers: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the measures of a task: the name, the figure and the score. The mean of all replies is named like its
    score, unless the task has reducers."""
    for score in task.scores:
        if score in task.whole_set_scores:
            continue
        if not task.reducers:
            yield score, f"mean({score})", score
            continue
        truth = score not in numbers
        figures = {
            reducer: reduced_measure(score, reducer, truth=truth, samples=task.samples) for reducer in task.reducers
        }
        known = {name: figure for name, figure in figures.items() if figure is not None}
        for name, figure in (known or {MEAN: f"mean({score})"}).items():
            if f"{score}_{name}" not in task.scores:
                yield f"{score}_{name}", figure, score


def _scenario(task: LoggedTask, numbers: set[str]) -> str:
    scores = "".join(f"  score {name} = {_scorer_of(name)}(response: {STEP}.text)\n" for name in task.scores)
    if not scores:  # a scenario needs a score
        scores = f'  score replied = {STEP}.text != ""\n'
    lower = {name: " lower is better" if name in task.lower else "" for name in task.scores}
    measures = "".join(f"  measure {name} = {it}{lower[score]}\n" for name, it, score in _measures(task, numbers))
    samples = f"    samples {task.samples}\n" if task.samples > 1 else ""
    return (
        f"scenario {task.name} {json.dumps(task.title, ensure_ascii=False)} {{\n"
        f"  over {task.name}_item as item\n"
        f"  ask {STEP} by {MODEL} {{\n"
        f'    system "{{{{ item.system }}}}" when item.system != ""\n'
        f"    chat   item.history\n"
        f'    prompt "{{{{ item.question }}}}"\n'
        f"{samples}  }}\n{scores}{measures}}}\n"
    )
