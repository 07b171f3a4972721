"""One task asked by Tripos and by lm-eval, over the same rows and with the same replies.

lm-eval is given the reply to each of its requests by the text that Tripos sent: one that differs in a character has
none. Free replies come of a server; likelihoods are those of a mock model.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import tripos
from tests.json_server import Posted, json_server
from tripos.cli.main import run_command
from tripos.importing.spec_text import ImportedTask, name_of
from tripos.importing.tasks.lm_eval import TaskFile

HARNESS = Path(__file__).with_name("harness.py")
CLOSE = 1e-9
SAID = ("", "A", "B", "(B)", " no idea", "The answer is 2.", "best answer is B", "#### 7", "7", "yes", "No.")


@dataclass
class Compared:
    """A task to compare: its file, the spec that was made of it and lies in a folder, and its rows by split."""

    task: TaskFile
    made: ImportedTask
    folder: Path
    rows: Mapping[str, list[dict[str, Any]]]
    shots: int | None = None
    figures: dict[str, float | None] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Return the kind of requests."""
        return str(self.task.get("output_type", "generate_until"))

    def asked(self) -> dict[str, Any]:
        """Return what the program for lm-eval is given."""
        return {"path": str(self.task.path), "rows": dict(self.rows), "shots": self.shots}

    def spec(self) -> Path:
        """Return the spec, which is written."""
        path = self.folder / f"{self.made.name}.tripos"
        path.write_text(self.made.text, "utf-8")
        for name, content in self.made.files.items():
            (self.folder / name).write_text(content, "utf-8")
        return path


def ask_harness(python: str, asked: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what lm-eval says of tasks."""
    (folder / "asked.json").write_text(json.dumps(asked), "utf-8")
    offline = {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf_home")}
    told = folder / "told.json"
    command = [python, "-B", str(HARNESS), str(folder / "asked.json"), str(told)]
    subprocess.run(command, env={"PATH": os.environ["PATH"], **offline}, capture_output=True, check=True)
    return dict(json.loads(told.read_text("utf-8")))


@contextmanager
def replying(targets: Mapping[str, str]) -> Iterator[str]:
    """Serve completions: of some texts what is right, in one form or another, and of others something else."""

    def answer(posted: Posted) -> dict[str, Any]:
        prompt = posted.data["prompt"]
        text = prompt if isinstance(prompt, str) else prompt[0]
        number = int(hashlib.sha256(text.encode()).hexdigest(), 16)
        said = targets[text] if text in targets and number % 4 else SAID[number % len(SAID)]
        forms = (said, f" {said}.", f"The answer is {said}.", f"So, #### {said}", said.upper(), said)
        choice = {"index": 0, "text": forms[number // 1000 % 6], "finish_reason": "stop", "logprobs": None}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "x", "object": "text_completion", "choices": [choice], "usage": usage}

    with json_server(answer) as address:
        yield address


def ask_tripos(compared: Compared, targets: Mapping[str, str]) -> list[list[Any]]:
    """Run the spec, keep its figures, and return its replies by text and option."""
    store = compared.folder / "store"
    free = compared.kind == "generate_until"
    model = "text-completion-openai/scripted" if free else "mock/careful"
    with replying(targets) as address:
        places = {"OPENAI_API_KEY": "-", "OPENAI_API_BASE": address, "TEXT_COMPLETION_OPENAI_API_BASE": address}
        with mock.patch.dict(os.environ, places):
            tripos.compile(compared.spec()).run(models=[model], store=store)
    with redirect_stdout(io.StringIO()) as said:
        assert run_command(["report", "--store", str(store), "--json"]) == 0
    for each in json.loads(said.getvalue())["measures"]:
        compared.figures[each["name"].rpartition(".")[2]] = each["rows"][0]["value"] if each["rows"] else None
    sent = tripos.open(store).sql("select messages, reply from main.samples").to_arrow().to_pylist()
    return [each for row in sent for each in _replies(compared, json.loads(row["messages"]), row["reply"])]


def _replies(compared: Compared, messages: list[dict[str, str]], reply: str) -> Iterator[list[Any]]:
    if not messages:  # a question without a value is not asked
        return
    text, *options = (each["content"] for each in messages)
    if not options:
        yield [text, None, reply or ""]
        return
    link = str(compared.task.get("target_delimiter", " ")) if compared.kind == "multiple_choice" else ""
    assert text.endswith(link)
    for option, told in zip(options, json.loads(reply)["options"], strict=True):
        yield [text.removesuffix(link), f"{link}{option}", [told["logprob"], told["greedy"]]]


def differences(told: Mapping[str, Any], figures: Mapping[str, float | None]) -> list[str]:
    """Return how lm-eval and Tripos differ; nothing where prompts and figures are the same."""
    if "error" in told:
        return [f"lm-eval fails: {told['error']}"]
    if "missing" in told:
        return [f"not sent: {told['missing'][0]!r}, and {len(told['missing']) - 1} more"]
    found = []
    for key, value in told["figures"].items():
        metric, _, chosen = key.partition(",")
        name = name_of(metric.replace("+", "_plus"))
        mine = next((figures[each] for each in (name, f"{name}_{name_of(chosen)}") if each in figures), None)
        if mine is None or abs(mine - value) > CLOSE:
            found.append(f"{key}: {value} in lm-eval, {mine} here")
    return found


def compare(tasks: Mapping[str, Compared], python: str, folder: Path) -> dict[str, list[str]]:
    """Return how lm-eval and Tripos differ in each task."""
    free = {name: each.asked() for name, each in tasks.items() if each.kind == "generate_until"}
    wanted = ask_harness(python, free, folder) if free else {}
    asked = {}
    for name, each in tasks.items():
        targets = {text: _one(target) for text, target in wanted.get(name, {}).get("targets", [])}
        asked[name] = {**each.asked(), "replies": ask_tripos(each, targets)}
    told = ask_harness(python, asked, folder)
    return {name: differences(told[name], each.figures) for name, each in tasks.items()}


def _one(target: Any) -> str:
    return str(target[0] if isinstance(target, list) and target else target)
