"""Tasks of the LM Evaluation Harness: a YAML file for each score, with prompts as rows of a JSON Lines file.

Prompts are rendered, so that lm-eval sends the same bytes as Tripos; a task reads the column `prompt`. The files refer
to each other relative to their folder, where `lm_eval --include_path .` runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tripos.exporting import Emitter
from tripos_warehouse.files import export_path, write_lines

if TYPE_CHECKING:
    from tripos.exporting.questions import Check, EmittedQuestion, SpecQuestions

GENERATION = {"max_tokens": "max_gen_toks", "temperature": "temperature", "top_p": "top_p", "stop": "until"}
"""The settings that lm-eval has too, with its names."""
SPACES = ("^\\s+", "\\s+$")
"""Patterns that `exact_match` removes from both sides if a reply is trimmed."""
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
"""The beginning of a text that the reader of rows takes for a time, if a whole column has it."""
METRICS = {"likeliest": "acc", "likeliest_by_character": "acc_norm"}
"""Metrics of lm-eval for a choice among options."""


def write_lm_eval(emission: SpecQuestions, folder: Path) -> list[Path]:
    """Write a task for each score that lm-eval can compute (for a prompt without one, a task without a metric), a group
    of the tasks, and the rows. Return their paths."""
    emission.lose_schemas()
    paths, tasks = [], []
    for scenario, questions in emission.by_scenario():
        for step in dict.fromkeys(question.step for question in questions):
            emitted_questions = [
                question for question in questions if question.step == step and _is_expressible(emission, question)
            ]
            if not emitted_questions:
                continue
            name = f"{emission.plan.benchmark.name}_{scenario}"
            name += f"_{step}" if len({question.step for question in questions}) > 1 else ""
            rows = folder / f"{name}.jsonl"
            between = {_delimiter(question) for question in emitted_questions}
            common = between.pop() if len(between) == 1 else None
            lines = (json.dumps(_row(question, common), ensure_ascii=False).encode() for question in emitted_questions)
            paths.append(write_lines(rows, lines).path)
            for task, config in _tasks(emission, name, rows.name, emitted_questions, common):
                tasks.append(task)
                paths.append(_write(folder / f"{task}.yaml", {"task": task, **config}))
    group = emission.plan.benchmark.name
    if tasks:
        paths.append(_write(folder / f"{group}_group.yaml", {"group": group, "task": tasks}))
    return paths


def _is_expressible(emission: SpecQuestions, question: EmittedQuestion) -> bool:
    if question.text is not None or question.options:
        return True
    emission.lose(f"{question.scenario}.{question.step}", "a chat of several messages, or with tools")
    return False


def _row(question: EmittedQuestion, common: str | None) -> dict[str, Any]:
    """Return the row of a question. If the delimiter between text and option is not the `common` one, it is part of the
    options."""
    row: dict[str, Any] = {**question.about}
    if question.options:
        before = _delimiter(question) if common is None else ""
        row |= {"prompt": _context(question), "choices": [before + option for option in question.options]}
    else:
        row["prompt"] = question.text
    return row | {f"target_{check.name}": check.target for check in question.checks}


def _context(question: EmittedQuestion) -> str:
    return "".join(message.content for message in question.messages if message.role != "option").rstrip()


def _delimiter(question: EmittedQuestion) -> str:
    text = "".join(message.content for message in question.messages if message.role != "option")
    return text[len(text.rstrip()) :]


def _tasks(
    emission: SpecQuestions, name: str, rows: str, questions: Sequence[EmittedQuestion], between: str | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and configuration of the task of each score."""
    first = questions[0]
    common: dict[str, Any] = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": rows}},
        "test_split": "test",
        "doc_to_text": "prompt",
        "num_fewshot": 0,
        "metadata": {"version": emission.plan.benchmark.version, "scenario": first.scenario, "step": first.step},
    }
    checks = {check.name: check for question in questions for check in question.checks}
    if first.options:
        if between is None and any(check.kind == "likeliest_by_character" for check in checks.values()):
            emission.lose(f"{first.scenario}.{first.step}", "approximately: spaces before options count as characters")
        shape: dict[str, Any] = {
            "output_type": "multiple_choice",
            "doc_to_choice": "choices",
            "target_delimiter": between or "",
        }
    else:
        shape = {"output_type": "generate_until", "generation_kwargs": _generation(emission, questions)}
        if first.samples > 1:
            emission.lose(f"{first.scenario}.{first.step}", f"{first.samples} samples: lm-eval scores the first one")
            shape["repeats"] = first.samples
    said = 0
    for check in checks.values():
        targets = [one.target for question in questions for one in question.checks if one.name == check.name]
        metric = _metric(emission, first.scenario, check, targets)
        if metric is not None:
            said += 1
            task = f"{name}_{check.name}"
            yield task, common | shape | {"doc_to_target": f"target_{check.name}", "metric_list": [metric]}
    if not said:
        emission.lose(f"{first.scenario}.{first.step}", "no score of it can be said: the task has prompts alone")
        if not first.options:
            bypass = {"metric": "bypass", "aggregation": "bypass", "higher_is_better": True}
            yield name, common | shape | {"doc_to_target": "item_id", "metric_list": [bypass]}


def _metric(emission: SpecQuestions, scenario: str, check: Check, targets: Sequence[Any]) -> dict[str, Any] | None:
    place = f"{scenario}.{check.name}"
    if check.kind in METRICS:
        return {"metric": METRICS[check.kind], "aggregation": "mean", "higher_is_better": True}
    if check.kind == "contains":
        emission.lose(place, "lm-eval has no metric for a part of a reply")
        return None
    if check.field is not None:
        emission.lose(place, "it reads a field of a reply in JSON")
        return None
    if not all(isinstance(target, str) for target in targets):
        emission.lose(place, "its target is no text")
        return None
    if all(DATE.match(target) for target in targets):
        emission.lose(place, "its targets are dates, which the reader of lm-eval's rows makes times of")
        return None
    shaped = [target.strip() if check.trim else target for target in targets]
    shaped = [each.lower() if check.lower else each for each in shaped]
    if shaped != list(targets):
        emission.lose(place, "a target that no reply can equal, which lm-eval would shape as it does replies")
        return None
    metric: dict[str, Any] = {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}
    if check.lower:
        metric["ignore_case"] = True
    if check.trim:
        metric["regexes_to_ignore"] = list(SPACES)
    return metric


def _generation(emission: SpecQuestions, questions: Sequence[EmittedQuestion]) -> dict[str, Any]:
    told: dict[str, Any] = {"until": []}
    place = f"{questions[0].scenario}.{questions[0].step}"
    for name in dict.fromkeys(name for question in questions for name in question.settings):
        value = questions[0].settings.get(name)
        if any(question.settings.get(name) != value for question in questions):
            emission.lose(place, f"the setting `{name}`, which differs from row to row")
        elif name in GENERATION:
            told[GENERATION[name]] = [value] if name == "stop" and isinstance(value, str) else value
        else:
            emission.lose(place, f"the setting `{name}`")
    if isinstance(temperature := told.get("temperature"), int | float):
        told["do_sample"] = temperature > 0
    return told


def _write(path: Path, config: Mapping[str, Any]) -> Path:
    with export_path(path) as new:
        new.write_text(yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True), "utf-8")
    return path


EMITTER = Emitter("tasks of the LM Evaluation Harness", write_lm_eval)
