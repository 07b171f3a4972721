"""Program that reads a task of Inspect: its rows, solvers, scorers, and the messages that it sends to a model.

Tripos never imports this module. It runs the file with a Python that has `inspect_ai` installed. The result is JSON in
the file of the last argument; nothing is printed.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

MOST_SAMPLES = 25
"""Number of samples that run through the chain with a mock model."""
REPLY = "ANSWER: A\nGRADE: C"
"""The reply of the mock model."""


def main(path: str, name: str, arguments: str, out: str) -> None:
    """Read the task with this name, or the only task, of the module at `path`."""
    tasks = _tasks_in(path)
    if not name and len(tasks) != 1:
        _write(out, {"tasks": sorted(tasks)})
        return
    if name and name not in tasks:
        _write(out, {"tasks": sorted(tasks)})
        return
    made = tasks[name or next(iter(tasks))]
    task = made(**json.loads(arguments))
    told = _describe_task(task, name or next(iter(tasks)))
    told["calls"], told["failed"] = _calls_of(task)
    _write(out, told)


def _write(out: str, told: dict[str, Any]) -> None:
    Path(out).write_text(json.dumps(told, ensure_ascii=False, default=str), "utf-8")


def _tasks_in(path: str) -> dict[str, Any]:
    registry = importlib.import_module("inspect_ai._util.registry")
    folder = Path(path).resolve().parent
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    spec = importlib.util.spec_from_file_location("task_module", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = {}
    for each, value in vars(module).items():
        if callable(value) and registry.is_registry_object(value, type="task"):
            found[each] = value
    return found


def _describe_task(task: Any, name: str) -> dict[str, Any]:
    inspect_ai = importlib.import_module("inspect_ai")
    chain = importlib.import_module("inspect_ai.solver._chain")
    prompt = importlib.import_module("inspect_ai.solver._prompt")
    critique = importlib.import_module("inspect_ai.solver._critique")
    choice = importlib.import_module("inspect_ai.solver._multiple_choice")
    graded = importlib.import_module("inspect_ai.scorer._model")
    scorers = task.scorer if isinstance(task.scorer, list) else [task.scorer] if task.scorer else []
    config = task.config.model_dump(exclude_none=True) if task.config else {}
    reducer = task.epochs_reducer
    return {
        "inspect": inspect_ai.__version__,
        "name": name,
        "version": str(getattr(task, "version", 0)),
        "epochs": task.epochs or 1,
        "reducers": [_named(each)["name"] for each in reducer or []],
        "config": config,
        "sandbox": task.sandbox is not None,
        "approval": task.approval is not None,
        "samples": [_sample(each, number) for number, each in enumerate(task.dataset, 1)],
        "setup": [_named(each) for each in chain.unroll(task.setup)] if task.setup is not None else [],
        "solvers": [_named(each) for each in chain.unroll(task.solver)],
        "scorers": [{**_named(scorer), "metrics": _metrics(task, scorer)} for scorer in scorers],
        "templates": {
            "chain_of_thought": prompt.DEFAULT_COT_TEMPLATE,
            "critique": critique.DEFAULT_CRITIQUE_TEMPLATE,
            "completion": critique.DEFAULT_CRITIQUE_COMPLETION_TEMPLATE,
            "choice": {each.name.lower(): each.value for each in choice.MultipleChoiceTemplate},
            "graded_qa": graded.DEFAULT_MODEL_GRADED_QA_TEMPLATE,
            "graded_fact": graded.DEFAULT_MODEL_GRADED_FACT_TEMPLATE,
            "instructions": [graded.default_instructions(False), graded.default_instructions(True)],
        },
    }


def _named(made: Any) -> dict[str, Any]:
    """Return the registered name of a solver or scorer, its parameters, and its source if it is not part of Inspect."""
    registry = importlib.import_module("inspect_ai._util.registry")
    try:
        info = registry.registry_info(made)
        name, params = info.name, registry.registry_params(made)
    except (ValueError, AttributeError):
        name, params = getattr(made, "__qualname__", type(made).__name__).partition(".")[0], {}
    told: dict[str, Any] = {"name": name, "params": {key: _plain(value) for key, value in params.items()}}
    if not name.startswith("inspect_ai/"):
        try:
            told["source"] = inspect.getsource(made if inspect.isfunction(made) else type(made))
        except (OSError, TypeError):
            told["source"] = ""
    return told


def _plain(value: Any) -> Any:
    try:
        json.dumps(value)
    except TypeError:
        return {"object": str(value)}
    return value


def _metrics(task: Any, scorer: Any) -> list[str]:
    registry = importlib.import_module("inspect_ai._util.registry")
    try:
        found = task.metrics or registry.registry_info(scorer).metadata.get("metrics", [])
    except (ValueError, AttributeError):
        return []
    return [registry.registry_log_name(each) if not isinstance(each, dict) else "by key" for each in found]


def _sample(sample: Any, number: int) -> dict[str, Any]:
    """Return a sample. One without an id gets its number, as in a run."""
    return {
        "id": str(number if sample.id is None else sample.id),
        "input": sample.input if isinstance(sample.input, str) else [_message(each) for each in sample.input],
        "target": [sample.target] if isinstance(sample.target, str) else list(sample.target),
        "choices": sample.choices,
        "metadata": {key: _plain(value) for key, value in (sample.metadata or {}).items()},
        "files": bool(sample.files or sample.sandbox or sample.setup),
    }


def _message(message: Any) -> dict[str, Any]:
    content = message.content
    if isinstance(content, list):
        content = content[0].text if len(content) == 1 and content[0].type == "text" else None
    tools = bool(getattr(message, "tool_calls", None)) or message.role == "tool"
    return {"role": message.role, "content": None if tools else content}


def _calls_of(task: Any) -> tuple[dict[str, list[Any]], str]:
    """Return the messages of every model call by sample, and the reason if there are none."""
    inspect_ai = importlib.import_module("inspect_ai")
    models = importlib.import_module("inspect_ai.model")

    def answer(*_: Any) -> Any:
        output = models.ModelOutput.from_content(model="mockllm/model", content=REPLY)
        output.usage = models.ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    model = models.get_model("mockllm/model", custom_outputs=answer)
    with tempfile.TemporaryDirectory() as folder:
        try:
            [log] = inspect_ai.eval(
                task, model=model, limit=MOST_SAMPLES, epochs=1, display="none", log_dir=folder, log_level="error"
            )
            if log.status != "success":
                return {}, log.error.message if log.error is not None else log.status
            return {
                str(sample.id): [
                    [_message(message) for message in event.input] for event in sample.events if event.event == "model"
                ]
                for sample in map(_with_attachments, log.samples or [])
            }, ""
        except Exception as error:
            return {}, f"{type(error).__name__}: {error}"


def _with_attachments(sample: Any) -> Any:
    """Return a sample with its attachments, the long texts that a log stores separately."""
    return importlib.import_module("inspect_ai.log").resolve_sample_attachments(sample, "full")


if __name__ == "__main__":
    main(*sys.argv[1:5])
