"""A task as a scenario with its data sets, and the spec of one task or of a group of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tripos.importing.tasks.lm_eval.configs import TaskFile
from tripos.importing.tasks.lm_eval.forms import PythonName
from tripos.importing.tasks.lm_eval.prompts import Asking, WorkedExamples, asking
from tripos.importing.tasks.lm_eval.scoring import FunctionTexts, KnownFigure, TaskScores, scored
from tripos.importing.tasks.lm_eval.sources import TaskData, TaskSplit
from tripos.importing.tasks.lm_eval.templates import TaskColumns, TaskFields
from tripos.importing.tasks.spec_text import Note, Untranslated, commented, name_of, quoted
from tripos.settings import SourceFile

QUESTION = ("description", "doc_to_text", "doc_to_choice", "doc_to_target", "gen_prefix")
SCORING = ("filter_list", "metric_list", "process_results")
_PASSES = 3
"""Translations of a task: each learns from how the one before used the columns."""


@dataclass
class TaskScenario:
    """A task as a scenario."""

    name: str
    declared: list[str]
    """The data sets."""
    ask: list[str]
    scored: TaskScores
    notes: list[Note]
    files: dict[str, str] = field(default_factory=dict)
    copies: dict[str, SourceFile] = field(default_factory=dict)
    """Files of this machine that the data sets name, by their path beside the spec."""

    @property
    def figures(self) -> Mapping[str, KnownFigure]:
        """Return the aggregates in Python that the measures take."""
        return {name: each for name, each in self.scored.figures.items() if each.source}

    def whole(self) -> bool:
        """Return true if no part is a hole."""
        return all(each.how != "not" for each in self.notes)

    def lines(self, more: Mapping[str, str] | None = None) -> list[str]:
        """Return the scenario as lines; `more` are scores that a group takes the mean of."""
        scores = [f"  score {name} = {code}" for name, code in (more or {}).items()]
        return [
            *self.declared,
            "",
            f"scenario {self.name} {{",
            f"  over {self.name}_tested as doc",
            *self.ask,
            *self.scored.scores,
            *scores,
            *self.scored.measures,
            "}",
        ]


def scenario_of(task: TaskFile, data: TaskData, shots: int | None = None) -> TaskScenario:
    """Return a task as a scenario, with a hole where a part has no translation. `shots` is the number of worked
    examples, in place of that of the task."""
    name = name_of(task.name)
    notes: list[Note] = []
    try:
        tested = data.tested()
    except Untranslated as why:
        notes.append(Note("data", "not", str(why)))
        tested = TaskSplit("tested", f"rows/{name}.tested.jsonl", TaskColumns())
    count = int(task.get("num_fewshot", 0)) if shots is None else shots
    drawn = _shots(task, data, tested, count, name, notes) if count else None
    assumed: dict[str, None] = {}
    for _ in range(_PASSES):
        fields = TaskFields(task.config, tested.columns, "doc", tested.written, assumed)
        asked, hole = _asked(task, fields, drawn)
        made, lack = _scored(task, fields, asked, hole)
    notes += [*hole, *asked.notes, *made.notes, *lack]
    notes += [Note("assumed", "approximately", each) for each in assumed if not tested.columns.closed]
    shown_again = drawn is not None and drawn.fields.columns is tested.columns
    declared = [f"dataset {name}_tested from {quoted(tested.source)} {{"]
    declared += [f"  {line}" for line in tested.columns.declared(secret=not shown_again)]
    if tested.written:
        own = name_of("row", tuple(tested.columns.names.values()))
        declared += [f'  {own} integer from "_row"']
    declared += ["}"]
    files: dict[str, str] = {}
    splits = [tested]
    if drawn is not None and not shown_again:
        split = drawn.split
        splits.append(split)
        declared += _shot_dataset(drawn.dataset, split, tested, name)
        files = {split.source: split.content} if split.content else {}
    copies = {each.source: each.local for each in splits if each.local is not None}
    return TaskScenario(name, declared, asked.lines, made, _complete(notes), files, copies)


def _shot_dataset(dataset: str, split: TaskSplit, tested: TaskSplit, name: str) -> list[str]:
    lines = ["", f"dataset {dataset} from {quoted(split.source)} {{"]
    return [*lines, *(f"  {line}" for line in split.columns.declared(secret=False)), "}"]


@dataclass
class DrawnShots(WorkedExamples):
    """Worked examples, and the split that they are of."""

    split: TaskSplit = field(default_factory=lambda: TaskSplit("", "", TaskColumns()))


def _shots(
    task: TaskFile, data: TaskData, tested: TaskSplit, count: int, name: str, notes: list[Note]
) -> DrawnShots | None:
    own = task.get("fewshot_config", {})
    if isinstance(own, PythonName):
        notes.append(Note("worked examples", "not", "`fewshot_config` is Python"))
        return None
    try:
        split = data.shots(tested)
    except Untranslated as why:
        notes.append(Note("worked examples", "not", str(why)))
        split = TaskSplit("shots", f"rows/{name}.shots.jsonl", TaskColumns())
    same = split is tested
    if same:
        notes.append(Note("worked examples", "exactly", "of the rows that are asked about: no column is secret"))
        if (own.get("split") or task.get("fewshot_split")) != task.get("test_split"):
            remark = (
                "no row is an example for itself, as it may be in the Harness where `fewshot_split` is no `test_split`"
            )
            notes.append(Note("worked examples", "approximately", remark))
    fields = TaskFields(task.config, split.columns, "shot", split.written)
    dataset = f"{name}_tested" if same else f"{name}_shots"
    indices = own.get("fewshot_indices")
    if indices:
        notes.append(Note("worked examples", "not", "`fewshot_indices`"))
    return DrawnShots(count, dataset, str(own.get("sampler", "default")), fields, own, split=split)


def _asked(task: TaskFile, fields: TaskFields, shots: WorkedExamples | None) -> tuple[Asking, list[Note]]:
    try:
        return asking(task.config, fields, shots), []
    except Untranslated as why:
        lines = ["  # HOLE: the question. " + str(why).replace("\n", " ")]
        for key in QUESTION:
            if task.get(key) is not None:
                lines += [f"  {line}" for line in commented(str(task.get(key)), f"{key}: ")]
        lines += ["  ask reply by candidate {", '    prompt "{{ hole_of_the_question }}"', "  }"]
        return Asking(lines), [Note("question", "not", str(why))]


def _scored(task: TaskFile, fields: TaskFields, asked: Asking, hole: list[Note]) -> tuple[TaskScores, list[Note]]:
    try:
        if hole and (task.get("output_type") == "multiple_choice"):
            raise Untranslated("there is no question to score")
        return scored(task.config, fields, asked, FunctionTexts(task.path.parent, task.folder)), []
    except Untranslated as why:
        lines = ["  # HOLE: the scores. " + str(why).replace("\n", " ")]
        for key in SCORING:
            if task.get(key) is not None:
                lines += [f"  {line}" for line in commented(str(task.get(key)), f"{key}: ")]
        made = TaskScores([*lines, "  score hole = hole_of_the_scores"], ["  measure hole = mean(hole)"])
        return made, [Note("scores", "not", str(why))]


def _complete(notes: list[Note]) -> list[Note]:
    """Return the notes, with those on parts that were translated exactly."""
    told = {each.part for each in notes}
    exact = [Note(part, "exactly") for part in ("data", "question", "scores") if part not in told]
    return [*exact, *dict.fromkeys(notes)]
