"""Configurations, tasks, logs and tables of other programs, and values of each type for each of their keys."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tripos.importing import datasets
from tripos.importing.datasets import propose
from tripos.importing.logs.opening import find_logs, open_logs
from tripos.importing.logs.runs import LogCollector
from tripos.importing.rows import parse_constants, read_mapping, read_table
from tripos.importing.tasks.lm_eval import group_of, read_folder, read_task, spec_of, spec_of_group
from tripos.importing.tasks.promptfoo import is_promptfoo, promptfoo_spec
from tripos.source_files import SourceFolder
from tripos_compiler.editing.formatter import Unparsable, format_text
from tripos_compiler.errors import TriposError

LOGS = Path(__file__).parents[1] / "data" / "logs"
HOLE = "@@here@@"
DEEP = 200
SEED = 5
ODD_JSON = (
    *("null", "true", "false", "0", "-1", "3", "1.5", "-0.0", "1e70", "1e400", "NaN", "Infinity", "9" * 25, "9" * 5000),
    *('""', '"x"', '" "', '"a\\nb"', '"\\u0000"', '"\\ud800"', '"é"', '"1"', '"none"', '"../../x"', '"/etc/passwd"'),
    *('"{{ x }}"', '"{% if x %}"', '"{{"', '"file://x.txt"', '"file://../x.csv"', '"(a"', '"' + "(" * 3000 + '"'),
    *("[]", "[null]", "[1]", '["x"]', "[[]]", "[[1, [2]]]", "[{}]", '[{"a": 1}]', "{}", '{"": 1}', '{"a": {"b": []}}'),
    *('{"1": 2}', '{"function": 1}', '{"type": []}', "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP),
    *(
        '[{"role": 1}]',
        '"[1]"',
        '"[{}]"',
        '"[{\\"role\\": \\"user\\"}]"',
        '"{' * 1 + '"',
        f'"{"x" * 300}"',
        '"²"',
        f'"{"9" * 5000}"',
        '"٣"',
        '"=1+1"',
    ),
)
"""Values of each type of JSON, as text, with what some parser or some file system takes exception to."""
ODD_YAML = (
    *ODD_JSON,
    *("~", "yes", ".nan", "-.inf", "1_000", "0x1F", "1:30:00", "2024-01-31", "2024-01-31 10:00:00", "'2024'", "2."),
    *("{1: 2}", "{null: 1}", "{true: x, 2.5: y}", "{[a]: 1}", "{{a: 1}: 2}", "{2024-01-31: x}", "? x", "!!binary aGk="),
    *("!!set {a}", "!!omap [a: 1]", "!!python/name:os.system", "!!str 5", "!!int x", "!!float x", "!function a.b"),
    *("!function [a]", "!own x", "&a [*a]", "*none", "{<<: {a: 1}}", "{<<: 1}", "|\n  x", "[a, b", "'", "`x`", "%x"),
)
"""The same in YAML, with its dates, bytes, tags, aliases and names that are no texts."""
PROMPTFOO: dict[str, Any] = {
    "description": "Translations",
    "prompts": ["Say {{text}}", '[{"role": "user", "content": "{{text}}"}]', {"raw": "{{text}}!", "label": "own"}],
    "providers": ["echo"],
    "defaultTest": {"vars": {"shared": "s"}, "assert": [{"type": "not-contains", "value": "sorry"}]},
    "tests": [
        {"vars": {"text": "a", "n": 1}, "assert": [{"type": "contains-any", "value": ["x", "{{text}}"]}]},
        {"vars": {"text": "b"}, "assert": {"type": "llm-rubric", "value": "is kind", "weight": 1}, "threshold": 0.5},
        {"vars": {"text": "c"}, "assert": [{"type": "assert-set", "assert": [{"type": "regex", "value": "c"}]}]},
        "tests.jsonl",
    ],
    "env": {"A": "b"},
}
LM_EVAL: dict[str, Any] = {
    "task": "quiz",
    "task_alias": "Quiz",
    "tag": ["all", "own"],
    "include": "above.yaml",
    "dataset_path": "json",
    "dataset_name": "main",
    "dataset_kwargs": {"data_files": {"test": "rows.jsonl", "train": "rows.jsonl"}},
    "training_split": "train",
    "test_split": "test",
    "fewshot_split": "train",
    "num_fewshot": 2,
    "fewshot_config": {"sampler": "first_n", "split": "train", "fewshot_delimiter": "\n\n", "gen_prefix": "A:"},
    "output_type": "generate_until",
    "description": "Answer.\n\n",
    "doc_to_text": "Q: {{question}}\nA:",
    "doc_to_target": "{{answer}}",
    "doc_to_choice": None,
    "gen_prefix": "So",
    "target_delimiter": " ",
    "fewshot_delimiter": "\n\n",
    "generation_kwargs": {"until": ["\n"], "max_gen_toks": 20, "temperature": 0.5, "do_sample": True, "top_p": 0.9},
    "filter_list": [
        {"name": "strict", "filter": [{"function": "regex", "regex_pattern": "(\\d+)", "group_select": 0}]},
        {
            "name": "mapped",
            "filter": [
                {"function": "map", "mapping_dict": {"a": "b"}, "default_value": "c"},
                {"function": "lowercase"},
            ],
        },
        {
            "name": "chosen",
            "filter": [
                {"function": "multi_choice_regex", "regexes_to_ignore": ["a"], "fallback": "x", "ignore_case": True}
            ],
        },
    ],
    "metric_list": [
        {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True, "regexes_to_ignore": [","]},
        {"metric": "bleu"},
    ],
    "process_docs": None,
    "process_results": None,
    "custom_dataset": None,
    "metadata": {"version": 1.0},
    "repeats": 1,
}
CHOICES = {**LM_EVAL, "output_type": "multiple_choice", "doc_to_choice": ["yes", "no"], "doc_to_target": "answer"}
CHOICES |= {"metric_list": [{"metric": "acc"}, {"metric": "brier_score"}], "gen_prefix": None, "fewshot_config": None}
CHOICES |= {"fewshot_config": {"samples": [{"question": "1", "answer": "2"}], "sampler": "first_n"}}
GROUP = {
    "group": "all_of_it",
    "group_alias": "All",
    "task": ["quiz", {"task": "quiz", "num_fewshot": 0}, {"group": "inner", "task": ["quiz"], "tag": "x"}],
    "aggregate_metric_list": [{"metric": "exact_match", "aggregation": "mean", "filter_list": ["strict"]}],
    "metadata": {"version": 1},
}
EVERY_EVAL_EVER = {
    "evaluation_id": "b/m/1",
    "evaluation_timestamp": "1",
    "model_info": {"id": "org/m"},
    "eval_library": {"name": "own", "version": "1"},
    "evaluation_results": [
        {
            "evaluation_result_id": "r1",
            "evaluation_name": "b/sums/right",
            "metric_config": {"metric_name": "right", "lower_is_better": False},
            "score_details": {"score": 1.0, "uncertainty": {"standard_error": {"value": 0.1}}},
            "generation_config": {"temperature": 0},
        }
    ],
    "detailed_evaluation_results": {"file_path": "eee_samples.jsonl"},
}
EEE_SAMPLE = {
    "evaluation_result_id": "r1",
    "sample_id": "a",
    "input": {"raw": "1 + 1", "formatted": [{"role": "user", "content": "1 + 1"}], "reference": ["2"]},
    "output": {"raw": ["2"]},
    "evaluation": {"score": 1.0, "is_correct": True},
    "metadata": {"sample_number": "0", "status": "ok"},
    "token_usage": {"input_tokens": 1, "output_tokens": 1},
    "performance": {"latency_ms": 5},
    "error": None,
}
TABLE_ROW = {
    "item_id": "abc",
    "question": "1 + 1",
    "options": ["2", "3"],
    "answer": "2",
    "model": "a/b",
    "sample": 1,
    "reply": "2",
    "value": 3,
    "round": 1,
    "language": "en",
    "entries": [{"reply": "x", "value": 1}],
}

Path_ = tuple[str | int, ...]


def places_in(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the paths of all values in a document, the document itself first."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places_in(each, (*path, key))


def with_value(document: Any, path: Path_, text: str) -> str:
    """Return a document as JSON, with a text in the place of one of its values."""
    copy = json.loads(json.dumps({"in": document}))
    around: Any = copy
    for key in ("in", *path[:-1]) if path else ():
        around = around[key]
    around[path[-1] if path else "in"] = HOLE
    return json.dumps(copy["in"]).replace(f'"{HOLE}"', text)


@dataclass(frozen=True)
class Format:
    """A format: its document, the values that its keys are given, and what imports it. `put` writes the files of a
    folder, given the document as text."""

    document: Any
    values: tuple[str, ...]
    put: Callable[[Path, str], Path]
    import_: Callable[[Path], object]
    refused: tuple[type[Exception], ...] = (TriposError,)


# --- what imports them, as the command does ---


def _named(name: str) -> Callable[[Path, str], Path]:
    def put(folder: Path, text: str) -> Path:
        (folder / name).write_text(text, "utf-8")
        return folder / name

    return put


def _promptfoo(path: Path) -> object:
    is_promptfoo(path)
    return _whole(promptfoo_spec(path))


def _task(path: Path) -> object:
    return _whole(spec_of(read_task(path), (path.parent,)))


def _group(path: Path) -> object:
    found = read_folder(path.parent)
    task = read_task(path)
    if task.kind != "group":
        return _whole(spec_of(task, (path.parent,)))
    return _whole(spec_of_group(group_of(task, found), task, (path.parent,)))


def _whole(made: Any) -> object:
    """Go through all that is written of a task."""
    with suppress(Unparsable):
        format_text(made.text, made.name)
    return [made.text.encode(), made.name, made.is_complete, *(text.encode() for text in made.files.values())]


def _log(path: Path) -> object:
    for file in find_logs(path):
        opened = open_logs(file)
        for log in opened.logs if opened is not None else ():
            gathering = LogCollector("log", path.parent / "imported")
            try:
                gathered = gathering.take(log, opened.source)
                list(gathered.check.differences(log.header.figures))
                gathered.check.means_without_scores(log.header.figures)
                json.dumps([gathered.skipped.to_json(), log.header.about], default=str)
                gathering.whole_spec.text.encode()
            finally:
                gathering.close()
    return path


def _rows(path: Path) -> object:
    rows, folder = datasets.rows_of_files(path.name, path.parent / "spec.tripos", [])
    return propose("item", path.name, rows, (), folder).text.encode()


def _table(path: Path) -> object:
    table = read_table(str(path), read_mapping(None, (), parse_constants(()), "entries"))
    return [[row.get(name) for name in ("item", "reply", "value", "sample", "model")] for row in table.records]


def _lines(name: str) -> Callable[[Path, str], Path]:
    def put(folder: Path, text: str) -> Path:
        (folder / name).write_text(f"{json.dumps(TABLE_ROW)}\n{text}\n", "utf-8")
        return folder / name

    return put


def _promptfoo_lines(folder: Path, text: str) -> Path:
    (folder / "tests.jsonl").write_text(text, "utf-8")
    return _named("promptfooconfig.yaml")(folder, json.dumps({**PROMPTFOO, "tests": "file://tests.jsonl"}))


def _helm(name: str) -> Callable[[Path, str], Path]:
    def put(folder: Path, text: str) -> Path:
        for each in (LOGS / "helm" / "suite" / "quiz").iterdir():
            shutil.copy(each, folder)
        (folder / name).write_text(text, "utf-8")
        return folder / "run_spec.json"

    return put


def _lm_eval_results(folder: Path, text: str) -> Path:
    for each in (LOGS / "lm-eval" / "run").glob("samples_*"):
        shutil.copy(each, folder)
    return _named(_results().name)(folder, text)


def _lm_eval_samples(folder: Path, text: str) -> Path:
    shutil.copy(_results(), folder)
    lines = _samples().read_text("utf-8").splitlines()
    (folder / _samples().name).write_text("\n".join([text, *lines[1:]]), "utf-8")
    return folder / _results().name


def _results() -> Path:
    return next((LOGS / "lm-eval" / "run").glob("results_*"))


def _samples() -> Path:
    return next((LOGS / "lm-eval" / "run").glob("samples_sums_*"))


def _eee_samples(folder: Path, text: str) -> Path:
    (folder / "eee_samples.jsonl").write_text(f"{text}\n{json.dumps(EEE_SAMPLE)}\n", "utf-8")
    return _named("eee.json")(folder, json.dumps(EVERY_EVAL_EVER))


def _eval(header: bool) -> Callable[[Path, str], Path]:
    def put(folder: Path, text: str) -> Path:
        head, sample = _inspect()
        with zipfile.ZipFile(folder / "odd.eval", "w") as file:
            file.writestr("header.json", text if header else json.dumps(head))
            file.writestr("samples/1_epoch_1.json", json.dumps(sample) if header else text)
        return folder / "odd.eval"

    return put


@cache
def _inspect() -> tuple[Any, Any]:
    path = LOGS / "inspect" / "quiz.eval"
    archive = SourceFolder.around(path).file(path).archive()
    try:
        return archive.json("header.json"), archive.json("samples/1_epoch_1.json")
    finally:
        archive.close()


def _openai(folder: Path, text: str) -> Path:
    lines = (LOGS / "openai-evals" / "quiz.jsonl").read_text("utf-8").splitlines()
    (folder / "events.jsonl").write_text("\n".join([lines[0], text, *lines[2:]]), "utf-8")
    return folder / "events.jsonl"


@cache
def formats() -> Mapping[str, Format]:
    """Return the formats by name."""
    helm = LOGS / "helm" / "suite" / "quiz"
    odd = (OSError, ValueError)
    head, sample = _inspect()
    events = [json.loads(line) for line in (LOGS / "openai-evals" / "quiz.jsonl").read_text("utf-8").splitlines()]
    lines = [json.loads(line) for line in _samples().read_text("utf-8").splitlines()]
    results = json.loads((LOGS / "promptfoo" / "results.json").read_text("utf-8"))
    results["results"]["results"] = results["results"]["results"][:2]
    found = {
        "promptfoo": Format(PROMPTFOO, ODD_YAML, _named("promptfooconfig.yaml"), _promptfoo),
        "promptfoo tests": Format(PROMPTFOO["tests"][0], ODD_JSON, _promptfoo_lines, _promptfoo),
        "lm-eval task": Format(LM_EVAL, ODD_YAML, _named("quiz.yaml"), _task),
        "lm-eval choices": Format(CHOICES, ODD_YAML, _named("quiz.yaml"), _task),
        "lm-eval group": Format(GROUP, ODD_YAML, _named("group.yaml"), _group),
        "inspect header": Format(head, ODD_JSON, _eval(header=True), _log, odd),
        "inspect sample": Format(sample, ODD_JSON, _eval(header=False), _log, odd),
        "inspect json": Format({**head, "samples": [sample]}, ODD_JSON, _named("log.json"), _log, odd),
        "lm-eval results": Format(json.loads(_results().read_text("utf-8")), ODD_JSON, _lm_eval_results, _log, odd),
        "lm-eval samples": Format(lines[0], ODD_JSON, _lm_eval_samples, _log, odd),
        "promptfoo results": Format(results, ODD_JSON, _named("results.json"), _log, odd),
        "every eval ever": Format(EVERY_EVAL_EVER, ODD_JSON, _named("eee.json"), _log, odd),
        "every eval ever samples": Format(EEE_SAMPLE, ODD_JSON, _eee_samples, _log, odd),
        "dataset": Format(TABLE_ROW, ODD_JSON, _lines("rows.jsonl"), _rows),
        "table": Format(TABLE_ROW, ODD_JSON, _lines("rows.jsonl"), _table),
    }
    for name in ("run_spec", "scenario_state", "per_instance_stats", "stats"):
        document = json.loads((helm / f"{name}.json").read_text("utf-8"))
        found[f"helm {name}"] = Format(document, ODD_JSON, _helm(f"{name}.json"), _log, odd)
    for number, event in enumerate(events[:6]):
        found[f"openai evals {number}"] = Format(event, ODD_JSON, _openai, _log, odd)
    return found


@cache
def keys_of(name: str) -> tuple[Path_, ...]:
    """Return a path for each key of a format: of the entries of a list, the first few stand for all."""
    seen: dict[tuple[str | int, ...], Path_] = {}
    for path in places_in(formats()[name].document):
        seen.setdefault(tuple(min(key, 2) if isinstance(key, int) else key for key in path), path)
    return tuple(seen.values())


def prepared(folder: Path) -> Path:
    """Return a folder with the files that documents name."""
    (folder / "rows.jsonl").write_text('{"question": "1 + 1", "answer": "2", "options": ["a"]}\n' * 3, "utf-8")
    (folder / "tests.jsonl").write_text('{"vars": {"text": "d"}}\n', "utf-8")
    (folder / "above.yaml").write_text("validation_split: test\nshould_decontaminate: true\n", "utf-8")
    (folder / "quiz.yaml").write_text(json.dumps(LM_EVAL), "utf-8")
    return folder


@cache
def every() -> tuple[tuple[str, Path_, str], ...]:
    """Return every value for every key of every format, in an order that is drawn."""
    found = [(name, path, value) for name in formats() for path in keys_of(name) for value in formats()[name].values]
    Random(SEED).shuffle(found)
    return tuple(found)


def tried(name: str, path: Path_, value: str, folder: Path) -> bool:
    """Import a document with that value; whether it was taken. Raises what no user may see."""
    format_ = formats()[name]
    place = format_.put(folder, with_value(format_.document, path, value))
    try:
        format_.import_(place)
    except format_.refused:
        return False
    return True
