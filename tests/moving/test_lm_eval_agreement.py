"""The prompts and figures of imported tasks are those of lm-eval itself, over the same rows and replies.

They need lm-eval (tests/interchange/tools.py); without it they are skipped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.each import each
from tests.interchange.tools import lm_eval_python
from tests.moving.agreement import Compared, compare
from tripos.importing.tasks.lm_eval import read_task, spec_of, write_rows


def rows(things: tuple[str, ...], first: int) -> list[dict[str, Any]]:
    """Return a row for each thing."""
    return [
        {
            "question": f" Question {number}: which {thing}? ",
            "options": [f"{thing} one", f"the second {thing}", thing.upper(), f"ünicode {thing}  "],
            "choices": [f"{thing}.", f"the {thing}", "(B)", "No"],
            "key": "ABCD"[number % 4],
            "label": (number * 3) % 4,
            "number": str(number % 4),
            "answers": [f"{thing} {number}", thing],
            "mixed": f" {number % 4}" if number % 3 else thing,
            "below": number % 4 - 2,
            "hint": f"Not {thing}." if number % 3 else None,
            "passage": f"A {thing} stood here.\n\nIt was  number {number}; nobody saw it — 谁也没看见.",
        }
        for number, thing in enumerate(things, first)
    ]


ROWS = rows(("river", "bird", "tree", "town", "king", "stone", "song", "ship"), 0)
WORKED = rows(("lamp", "cloud", "spoon"), 1)
BASE = "dataset_path: json\ndataset_kwargs: {data_files: {test: test.jsonl, train: train.jsonl}}\ntest_split: test\n"
CHOICE = BASE + "output_type: multiple_choice\nmetric_list: [{metric: acc}, {metric: acc_norm}, {metric: acc_bytes}]\n"
FREE = BASE + "output_type: generate_until\nmetric_list: [{metric: exact_match}]\n"
FEW = "training_split: train\nnum_fewshot: 2\nfewshot_config: {sampler: first_n}\n"
LETTERS = 'doc_to_choice: ["A", "B", "C", "D"]\n'
ASKED = 'doc_to_text: "{{question.strip()}}\\nA. {{options[0]}}\\nB. {{options[1]}}\\n\\n{% if hint %}{{hint}} {% endif %}A:"\n'
TASKS = {
    "letters": CHOICE + FEW + LETTERS + ASKED + "doc_to_target: \"{{['A', 'B', 'C', 'D'].index(key)}}\"\n"
    "metric_list: [{metric: acc}, {metric: brier_score}, {metric: mcc}, {metric: exact_match}]\n",
    "endings": CHOICE + FEW + "doc_to_text: question\ndoc_to_choice: options\ndoc_to_target: label\n"
    'description: "Go on.\\n\\n"\ntarget_delimiter: ""\n',
    "mixed": CHOICE + FEW + LETTERS + 'doc_to_text: question\ndoc_to_target: "{{mixed.strip()}}"\n',
    "renamed": CHOICE
    + "training_split: train\nnum_fewshot: 2\nfewshot_config: {sampler: first_n, doc_to_choice: ['1', '2', '3', '4']}\n"
    + LETTERS
    + "doc_to_text: question\ndoc_to_target: label\n",
    "below": CHOICE + FEW + LETTERS + 'doc_to_text: "{{options[below]}}"\ndoc_to_target: below\n'
    "metric_list: [{metric: acc}, {metric: acc_norm}, {metric: brier_score}, {metric: exact_match}]\n",
    "from_the_end": FREE + FEW + 'doc_to_text: question\ndoc_to_target: "{{options[label - 1]}}"\n',
    "placed": FREE + FEW + LETTERS + "doc_to_text: question\ndoc_to_target: below\n",
    "described": CHOICE
    + FEW
    + LETTERS
    + ASKED
    + 'doc_to_target: key\ndescription: "Take one of {{options|length}}: "\n',
    "printed": CHOICE + LETTERS + 'doc_to_text: ""\ndoc_to_target: "{{number}}"\ndescription: "Which?"\n',
    "prefixed": FREE + FEW + 'doc_to_text: "{{question}}"\ndoc_to_target: "{{options[label]}}"\ngen_prefix: "It is"\n'
    'generation_kwargs: {until: ["\\n\\n", ";"], do_sample: false, max_gen_toks: 20}\n',
    "listed": FREE + 'doc_to_text: "{{passage}}\\n{{question}}"\ndoc_to_target: answers\n'
    "metric_list: [{metric: exact_match, ignore_case: true, ignore_punctuation: true, regexes_to_ignore: [the, ' is']}]\n",
    "filtered": FREE + FEW + 'doc_to_text: "{{question}}"\ndoc_to_target: "{{key}}"\nfilter_list:\n'
    "  - {name: strict, filter: [{function: regex, regex_pattern: 'answer is ([A-D])'}, {function: take_first}]}\n"
    "  - {name: last, filter: [{function: regex, regex_pattern: '([A-D])|(b)', group_select: -1},"
    " {function: uppercase}, {function: take_first}]}\n",
    "looking": FREE + 'doc_to_text: "{{question}}"\ndoc_to_target: "{{key}}"\nfilter_list:\n'
    "  - {name: behind, filter: [{function: regex, regex_pattern: '(?<=answer is )(.*)(?=.)'}, {function: take_first}]}\n"
    "  - {name: empty, filter: [{function: regex, regex_pattern: '([A-Z]*)', group_select: -1}, {function: take_first}]}\n"
    "  - {name: groups, filter: [{function: regex, regex_pattern: '(a)?n(s)?', fallback: B}, {function: take_first}]}\n",
    "choosing": FREE + 'doc_to_text: "{{question}}"\ndoc_to_target: "({{key}})"\nfilter_list:\n'
    "  - {name: choice, filter: [{function: multi_choice_regex, regex_pattern: '(\\([A-Z]\\))', ignore_case: true,"
    " ignore_punctuation: true, regexes_to_ignore: ['so,']}, {function: take_first}]}\n",
    "translated": FREE + 'doc_to_text: "{{question}}"\ndoc_to_target: passage\n'
    "metric_list: [{metric: bleu}, {metric: chrf}, {metric: ter}]\n",
    "continued": BASE + "output_type: loglikelihood\ndoc_to_text: \"{{passage.split(' ')[:-1]|join(' ')}}\"\n"
    "doc_to_target: \"{{' ' + passage.split(' ')[-1]}}\"\nmetric_list: [{metric: acc}, {metric: perplexity}]\n",
    "read": BASE + 'output_type: loglikelihood_rolling\ndoc_to_text: ""\ndoc_to_target: "{{passage}}"\n',
    "blanks": CHOICE + 'doc_to_text: "{{label}}"\ndoc_to_choice: "{{[options[0] + question, options[1]+question]}}"\n'
    'doc_to_target: "{{options[2]}}"\n',
}
PYTHONS = {
    "made": CHOICE + FEW + "process_docs: !function marks.docs\ndoc_to_text: !function marks.text\n"
    "doc_to_choice: !function marks.choices\ndoc_to_target: !function marks.target\n"
    "metric_list: [{metric: acc}, {metric: f1, aggregation: !function marks.weighted}]\n",
    "titled": FREE + 'doc_to_text: "{{question.title()}}"\ndoc_to_target: "{{options[label].title()}}"\n',
}
MARKS = """
from sklearn.metrics import f1_score

def docs(rows): return rows.filter(lambda row: row["label"] != 1).map(lambda row: {"made": row["question"] * 2})
def text(row): return f"{row['made']}?"
def choices(row): return list(reversed(row["options"]))
def target(row): return 3 - row["label"]
def weighted(items):
    golds, preds = list(zip(*items))
    return f1_score(golds, preds, average="weighted")
"""


def put(folder: Path, name: str, config: str) -> Path:
    """Write a task with its rows into a folder of its own."""
    place = folder / name
    place.mkdir()
    for split, some in (("test", ROWS), ("train", WORKED)):
        (place / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some), "utf-8")
    (place / "marks.py").write_text(MARKS, "utf-8")
    (place / "task.yaml").write_text(f"task: {name}\n{config}", "utf-8")
    return place


def test_prompts_and_figures_are_those_of_lm_eval(tmp_path: Path) -> None:
    python = lm_eval_python()
    tasks = {}
    for name, config in TASKS.items():
        place = put(tmp_path, name, config)
        task = read_task(place / "task.yaml")
        made = spec_of(task, (place,))
        assert made.is_complete, (name, made.notes)
        tasks[name] = Compared(task, made, place, {"test": ROWS, "train": WORKED})
    assert compare(tasks, python, tmp_path) == {name: [] for name in tasks}
    assert sum(0 < (value or 0) < 1 for each in tasks.values() for value in each.figures.values()) > 10


@each(
    "change,told",
    [
        ("", None),
        (
            "doc_to_target: hint\n",
            "an answer is empty where `hint` is, and the Harness puts no delimiters around it then",
        ),
        ("fewshot_config: {sampler: default}\n", "drawn by the text of the question"),
        ("fewshot_split: test\n", None),
        ("test_split: null\nvalidation_split: test\n", None),
        ("test_split: null\nvalidation_split: test\nfewshot_split: test\n", "no row is an example for itself"),
    ],
)
def test_worked_examples_that_may_differ_are_told(change: str, told: str | None, tmp_path: Path) -> None:
    blank = [{**row, "hint": row["hint"] or ""} for row in (*ROWS, *WORKED)]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in blank), "utf-8")
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in blank), "utf-8")
    config = FREE + FEW + 'doc_to_text: "{{question}}"\ndoc_to_target: "{{key}}"\n'
    config = yaml.safe_dump({"task": "told", **yaml.safe_load(config), **(yaml.safe_load(change) or {})})
    (tmp_path / "task.yaml").write_text(config, "utf-8")
    made = spec_of(read_task(tmp_path / "task.yaml"), (tmp_path,))
    [*notes] = [each.why for each in made.notes if (each.part, each.how) == ("worked examples", "approximately")]
    assert made.is_complete
    assert [told is not None and each.startswith(told) for each in notes] == [True] * (told is not None)


def test_what_python_gives_is_asked_as_lm_eval_asks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = lm_eval_python()
    tasks = {}
    for name, config in PYTHONS.items():
        place = put(tmp_path, name, config)
        monkeypatch.chdir(place)
        task = read_task(place / "task.yaml")
        made = spec_of(task, (place,), write_rows(task, place, python))
        assert made.is_complete, (name, made.notes)
        tasks[name] = Compared(task, made, place, {"test": ROWS, "train": WORKED})
    assert compare(tasks, python, tmp_path) == {name: [] for name in tasks}
