"""Import of Inspect's tasks, read in a separate process and translated to a spec.

The task's module runs in the Python environment that has Inspect. A chain of solvers becomes the steps of a scenario,
and each scorer an expression with the Python functions that it calls. The messages that the steps send are compared
with those that Inspect sent for some samples.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any

from tripos.importing.datasets import type_of
from tripos.importing.spec_text import (
    Code,
    ImportedTask,
    Note,
    NotTranslatable,
    benchmark_name,
    commented,
    name_of,
    quoted,
    template,
)
from tripos.importing.tasks.shapes import CODE
from tripos.settings.options import ImportTaskParameters
from tripos.source_files import SourceFolder
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import TriposError
from tripos_runtime.asking.functions.process import run_python

_HINT = "see the module of the task: it is run as a program"
READER = Path(__file__).with_name("inspect_reader.py")
LONGEST_S = 900.0
PARTS = frozenset({"name", "samples", "solvers", "setup", "scorers", "templates", "config", "calls", "failed"})
"""The keys of a reader's result."""


def read_inspect_task(path: Path, task: str | None, python: Path, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run the module of a task, and return its rows, solvers, scorers, and the messages of some calls.

    The module runs with the user's rights, but without the API keys of the environment. Raises `TriposError` R0246 if
    it fails, or if it has several tasks and none with this name.
    """
    if not SourceFolder.around(path).file(path).is_there:
        raise TriposError(CODE, f"there is no file `{path}`", "give the Python module of the task")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "task.json"
        command = [str(READER), str(path.resolve()), task or "", json.dumps(arguments), str(out)]
        try:
            ended = run_python(str(python), command, Path(folder), LONGEST_S)
        except OSError as error:
            raise TriposError(
                CODE,
                f"`{python}` cannot be run: {error.strerror}",
                f"name a Python: {ImportTaskParameters.python} PATH",
            ) from error
        except subprocess.TimeoutExpired as error:
            message = f"`{path.name}` took more than {LONGEST_S / 60:.0f} minutes"
            raise TriposError(CODE, message, "let it read fewer samples") from error
        if ended.failed or not SourceFolder.around(out).file(out).is_there:
            hint = f"install what it needs into a Python, and name that: {ImportTaskParameters.python} PATH"
            raise TriposError(CODE, f"`{path.name}` cannot be read: {ended.last_line}", hint)
        try:
            told = SourceFolder.around(out).file(out).json()
        except (OSError, ValueError) as error:
            raise TriposError(CODE, f"the task of `{path.name}` cannot be read: {error}", _HINT) from error
    if not isinstance(told, dict) or not ("tasks" in told or set(told) >= PARTS):
        raise TriposError(CODE, f"`{path.name}` wrote something else than its task", _HINT)
    if "tasks" in told:
        names = told["tasks"]
        if task is not None and names:
            hint = suggest(task, names, f"it has {', '.join(names)}")
            raise TriposError(CODE, f"`{path.name}` has no task `{task}`", hint)
        text = f"tasks: {', '.join(names)}" if names else "no task"
        raise TriposError(
            CODE,
            f"`{path.name}` has {text}",
            f"name one: {ImportTaskParameters.task} NAME" if names else "see its `@task`",
        )
    return told


# Solvers
Sample = Mapping[str, Any]
Value = Callable[[Sample], str]
TemplateNames = dict[str, Sequence[str | Code]]
"""The values of a template's names."""
Message = tuple[str, list[str | Code]]
"""The role of a message, and the pieces of its text."""
ITEM = "item"
INSPECT = "inspect_ai/"


@dataclass
class Step:
    """A call of a model: the name of the step, the step that it continues, and its messages."""

    name: str
    role: str
    continues: str | None
    messages: list[Message]
    max_tokens: int | None = None


@dataclass
class Chain:
    """The steps of a chain of solvers, and the columns that they need besides those of every sample."""

    samples: Sequence[Sample]
    templates: Mapping[str, Any]
    steps: list[Step] = field(default_factory=list)
    columns: dict[str, Value] = field(default_factory=dict)
    shown_columns: set[str] = field(default_factory=set)
    """Metadata fields that a prompt shows."""
    several: bool = False
    """Whether several options may be right."""
    question: list[str | Code] = field(default_factory=list)
    """The input of a sample, before solvers change it."""
    _messages: list[Message] = field(default_factory=list)

    def begin(self) -> None:
        """Take the input of the samples as the first messages. Raises `NotTranslatable` for chats that contain
        replies."""
        shapes = {
            None if isinstance(sample["input"], str) else tuple(message["role"] for message in sample["input"])
            for sample in self.samples
        }
        if any(sample["files"] for sample in self.samples):
            raise NotTranslatable("samples with files or a sandbox")
        if shapes == {None}:
            self.question = [self._column("input", lambda each: each["input"])]
            self._messages = [("user", list(self.question))]
            return
        if shapes - {None, ("user",), ("system", "user")} or len(shapes) > 1:
            raise NotTranslatable("samples that begin with a chat of several turns")
        [roles] = [shape for shape in shapes if shape is not None]
        if any(message["content"] is None for sample in self.samples for message in sample["input"]):
            raise NotTranslatable("samples with images, recordings or calls of tools")
        for place, role in enumerate(roles):
            name = "input" if role == "user" else "system"
            piece = self._column(name, lambda each, place=place: each["input"][place]["content"])  # type: ignore[misc]
            self._messages.append((role, [piece]))
        self.question = list(self._messages[-1][1])

    def add(self, name: str, params: Mapping[str, Any]) -> None:
        """Apply a solver. Raises `NotTranslatable` for a solver outside Inspect or without counterpart."""
        if not name.startswith(INSPECT):
            raise NotTranslatable(f"the solver `{name}` of its own")
        made = self._solvers().get(name.removeprefix(INSPECT))
        if made is None:
            raise NotTranslatable(f"the solver `{name.removeprefix(INSPECT)}`")
        made(dict(params))

    @property
    def reply(self) -> str:
        """The name of the step whose reply is scored. Raises `NotTranslatable` if there is none."""
        if not self.steps:
            raise NotTranslatable("a chain that asks nothing")
        return self.steps[-1].name

    def _solvers(self) -> Mapping[str, Callable[[dict[str, Any]], None]]:
        return {
            "generate": self._generate,
            "system_message": lambda params: self._message("system", params),
            "user_message": lambda params: self._message("user", params),
            "assistant_message": lambda params: self._message("assistant", params),
            "prompt_template": self._prompt_template,
            "chain_of_thought": self._chain_of_thought,
            "multiple_choice": self._multiple_choice,
            "self_critique": self._self_critique,
        }

    def _generate(self, params: dict[str, Any]) -> None:
        kept = {key: value for key, value in params.items() if value not in (None, "loop")}
        if set(kept) - {"max_tokens"}:
            raise NotTranslatable(f"`generate` with {', '.join(sorted(kept))}")
        self._ask(kept.get("max_tokens"))

    def _ask(self, max_tokens: int | None = None) -> None:
        before = self.steps[-1].name if self.steps else None
        name = "reply" if before is None else f"reply_{sum(step.name.startswith('reply') for step in self.steps) + 1}"
        before = next((step.name for step in reversed(self.steps) if step.name.startswith("reply")), None)
        new = self._messages
        roles = [role for role, _ in new]
        if before is not None and roles != ["user"]:
            raise NotTranslatable("a second question that is not one message")
        if before is None and roles not in (["user"], ["system", "user"]):
            raise NotTranslatable("messages other than a system message and a question")
        self.steps.append(Step(name, "candidate", before, list(new), max_tokens))
        self._messages = []

    def _message(self, role: str, params: dict[str, Any]) -> None:
        text = self.formatted(params.pop("template"), {}, params)
        if role == "system":
            place = sum(each == "system" for each, _ in self._messages)
            if place or self.steps:
                raise NotTranslatable("a second system message")
            self._messages.insert(place, (role, text))
        else:
            self._messages.append((role, text))

    def _user(self) -> int:
        """Return the position of the question that solvers change."""
        place = next(
            (place for place in reversed(range(len(self._messages))) if self._messages[place][0] == "user"), None
        )
        if place is None:
            raise NotTranslatable("a solver that changes a question that was asked already")
        return place

    def _prompt_template(self, params: dict[str, Any]) -> None:
        place = self._user()
        text = self.formatted(params.pop("template"), {"prompt": self._messages[place][1]}, params)
        self._messages[place] = ("user", text)

    def _chain_of_thought(self, params: dict[str, Any]) -> None:
        place = self._user()
        given = params.get("template") or self.templates["chain_of_thought"]
        self._messages[place] = ("user", self.formatted(given, {"prompt": self._messages[place][1]}, {}, fields=False))

    def _multiple_choice(self, params: dict[str, Any]) -> None:
        if params.get("shuffle"):
            raise NotTranslatable("options that are shuffled by chance in each run")
        if not all(sample["choices"] for sample in self.samples):
            raise NotTranslatable("multiple choice of samples without options")
        several, reasons = bool(params.get("multiple_correct")), bool(params.get("cot"))
        self.several = several
        kind = ("multiple_answer" if several else "single_answer") + ("_cot" if reasons else "")
        given = params.get("template") or self.templates["choice"][kind]
        options = self._column("options", _listed)
        counts = {len(sample["choices"]) for sample in self.samples}
        letters: str | Code = ",".join(_letters(self.samples[0]))
        if len(counts) > 1:
            letters = self._column("letters", lambda each: ",".join(_letters(each)))
        place = self._user()
        known: TemplateNames = {"question": self._messages[place][1], "choices": [options], "letters": [letters]}
        self._messages[place] = ("user", self.formatted(given, known, {}, fields=False, strict=True))
        self._ask(params.get("max_tokens"))

    def _self_critique(self, params: dict[str, Any]) -> None:
        if params.get("model") is not None:
            raise NotTranslatable("a critique by another model")
        if not self.steps:
            raise NotTranslatable("a critique before there is a reply")
        answered = self.reply
        number = "" if not any(step.name.startswith("critique") for step in self.steps) else f"_{len(self.steps)}"
        known: TemplateNames = {"question": self.question, "completion": [Code(f"{answered}.text")]}
        asked = self.formatted(params.get("critique_template") or self.templates["critique"], known, {}, strict=True)
        critique = Step(f"critique{number}", "candidate", None, [("user", asked)])
        self.steps.append(critique)
        known["critique"] = [Code(f"{critique.name}.text")]
        given = params.get("completion_template") or self.templates["completion"]
        self._messages = [*self._messages, ("user", self.formatted(given, known, {}, strict=True))]
        self._ask()

    def _column(self, name: str, value: Value) -> Code:
        self.columns[name] = value
        return Code(f"{ITEM}.{name}")

    def formatted(
        self,
        given: str,
        known: Mapping[str, Sequence[str | Code]],
        params: Mapping[str, Any],
        *,
        fields: bool = True,
        strict: bool = False,
    ) -> list[str | Code]:
        """Return a template of `str.format` as pieces. An unknown name is left unchanged, unless `strict` is true.
        Raises `NotTranslatable`."""
        found: list[str | Code] = []
        try:
            parsed = list(Formatter().parse(given))
        except ValueError as error:
            raise NotTranslatable(f"a template that cannot be read: {error}") from error
        for text, name, form, conversion in parsed:
            found.append(text)
            if name is None:
                continue
            first = name.partition(".")[0].partition("[")[0]
            if first != name or form or conversion:
                raise NotTranslatable(f"`{{{name}}}` of a template, with a part or a form of a value")
            if name in params:
                found.append(str(params[name]))
            elif name in known:
                found += known[name]
            elif fields and any(name in sample["metadata"] for sample in self.samples):
                found.append(self._metadata(name))
            elif strict:
                raise NotTranslatable(f"`{{{name}}}` of a template, which nothing gives")
            else:
                found.append(f"{{{name}}}")
        return join_texts(found)

    def _metadata(self, name: str) -> Code:
        """Return a metadata field as the text that a template shows. A sample without it shows the field's name in
        braces."""
        self.shown_columns.add(name)
        column = name_of(name, ("id", "input", "system", "choices", "target", "options", "letters", "language"))

        def shown(each: Sample) -> str:
            value = each["metadata"].get(name)
            return f"{{{name}}}" if value is None else str(value)

        return self._column(column, shown)


def join_texts(pieces: Sequence[str | Code]) -> list[str | Code]:
    """Return pieces with adjacent texts joined."""
    found: list[str | Code] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        elif piece != "":
            found.append(piece)
    return found


def step_lines(step: Step) -> list[str]:
    """Return a step as lines of a scenario."""
    lines = [f"  ask {step.name} by {step.role} {{"]
    if step.continues is not None:
        lines.append(f"    continue {step.continues}")
    for role, pieces in step.messages:
        lines.append(f"    {'system' if role == 'system' else 'prompt'} {template(pieces, 4)}")
    if step.max_tokens is not None:
        lines.append(f"    max_tokens {step.max_tokens}")
    return [*lines, "  }"]


def messages_of(chain: Chain, sample: Sample, reply: str) -> list[list[dict[str, str]]]:
    """Return the messages of every call that the spec makes for a sample, if each reply is the same text."""
    calls: list[list[dict[str, str]]] = []
    kept: dict[str, list[dict[str, str]]] = {}
    for step in chain.steps:
        before = [] if step.continues is None else [*kept[step.continues], {"role": "assistant", "content": reply}]
        new = [{"role": role, "content": _filled(pieces, chain, sample, reply)} for role, pieces in step.messages]
        kept[step.name] = [*before, *new]
        calls.append(kept[step.name])
    return calls


def _filled(pieces: Sequence[str | Code], chain: Chain, sample: Sample, reply: str) -> str:
    texts = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        elif piece.text.startswith(f"{ITEM}."):
            texts.append(chain.columns[piece.text.removeprefix(f"{ITEM}.")](sample))
        else:
            texts.append(reply)
    return "".join(texts)


def _listed(sample: Sample) -> str:
    """Return the options of a sample as a lettered list."""
    return "\n".join(f"{letter}) {text}" for letter, text in zip(_letters(sample), sample["choices"], strict=True))


def _letters(sample: Sample) -> list[str]:
    """Return the names of the options of a sample: letters, and numbers from 1 after the first 26."""
    return [chr(65 + place) if place < 26 else str(place - 25) for place in range(len(sample["choices"]))]


# Scorers
FILE = "inspect_scores.py"
"""The file with the Python functions, next to the spec."""


@dataclass
class ScorerScore:
    """A scorer in the language: its steps, its expression, its functions, and a note on deviations."""

    expression: str
    functions: list[str]
    steps: list[Step] = field(default_factory=list)
    note: str = ""


def score_of(scorer: Mapping[str, Any], chain: Chain) -> ScorerScore:
    """Return a scorer as a score of the chain's last reply. Raises `NotTranslatable`."""
    name, params = scorer["name"], dict(scorer["params"])
    if not name.startswith("inspect_ai/"):
        raise NotTranslatable(f"the scorer `{name}` of its own")
    reply, target = f"{chain.reply}.text", f"{ITEM}.target"
    match name.removeprefix("inspect_ai/"):
        case "includes":
            return ScorerScore(
                f"includes_target({reply}, {target}, {_bool(params.get('ignore_case', True))})", ["includes_target"]
            )
        case "match":
            numeric = bool(params.get("numeric"))
            words = (
                f"{quoted(params.get('location', 'end'))}, {_bool(params.get('ignore_case', True))}, {_bool(numeric)}"
            )
            note = "numbers in Chinese or as small fractions, such as ½, are not read" if numeric else ""
            return ScorerScore(f"matches_target({reply}, {target}, {words})", ["matches_target"], note=note)
        case "exact":
            return ScorerScore(f"same_words({reply}, {target})", ["same_words"])
        case "f1":
            if params.get("answer_fn") or params.get("stop_words"):
                raise NotTranslatable("`f1` with a function or stop words of its own")
            return ScorerScore(f"shared_words({reply}, {target})", ["shared_words"])
        case "answer":
            return ScorerScore(f"answers({reply}, {target}, {quoted(params['pattern'])})", ["answers"])
        case "pattern":
            words = f"{quoted(params['pattern'])}, {_bool(params.get('ignore_case', True))}"
            called = f"finds({reply}, {target}, {words}, {_bool(params.get('match_all', False))})"
            return ScorerScore(called, ["finds"])
        case "choice":
            several = _bool(chain.several)
            return ScorerScore(f"chooses({reply}, {target}, length({ITEM}.choices), {several})", ["chooses"])
        case "model_graded_qa" | "model_graded_fact" as kind:
            return _graded(params, chain, "graded_fact" if kind.endswith("fact") else "graded_qa")
        case other:
            raise NotTranslatable(f"the scorer `{other}`")


def _graded(params: Mapping[str, Any], chain: Chain, template: str) -> ScorerScore:
    odd = [key for key in ("grade_pattern", "include_history") if params.get(key)]
    if isinstance(params.get("model"), list):
        odd.append("model")
    if odd:
        raise NotTranslatable(f"a grader with `{odd[0]}` of its own")
    partial = bool(params.get("partial_credit"))
    own = params.get("instructions")
    known: TemplateNames = {
        "question": [Code(f"unmarked({piece.text})") if isinstance(piece, Code) else piece for piece in chain.question],
        "answer": [Code(f"unmarked({chain.reply}.text)")],
        "criterion": [Code(f'unmarked(join({ITEM}.target, ""))')],
        "instructions": [own or chain.templates["instructions"][partial]],
    }
    given = params.get("template") or chain.templates[template]
    asked = join_texts(chain.formatted(given, known, {}, fields=False, strict=True))
    step = Step("grading", "grader", None, [("user", asked)])
    menu = "CPI" if own or partial else "CI"
    return ScorerScore(
        f"readable(grade({step.name}.text, {quoted(menu)}, {_bool(bool(own))}))",
        ["unmarked", "grade"],
        [step],
        "a grade that cannot be read counts as missing, and the grader is a role of its own",
    )


def _bool(value: Any) -> str:
    return "true" if value else "false"


def untranslated_scorer(scorer: Mapping[str, Any], error: NotTranslatable) -> tuple[Note, str]:
    """Return the note on a scorer that becomes a hole, and its original text."""
    original = scorer.get("source") or f"{scorer['name']}({scorer['params']})"
    return Note(f"scorer {scorer['name'].rpartition('/')[2]}", "not", str(error)), str(original)


NEEDS = {
    "answers": ["finds"],
    "chooses": ["_chosen"],
    "matches_target": ["_matches", "_numbers", "_bare", "_shown", "_number"],
    "same_words": ["_words", "_number"],
    "shared_words": ["_words", "_number"],
}
"""Functions that other functions call."""


def functions_text(names: list[str]) -> str:
    """Return the text of a file with these functions and those that they call."""
    from tripos.importing.tasks import inspect_scorers

    needed = list(dict.fromkeys(each for name in names for each in (*NEEDS.get(name, []), name)))
    body = "\n\n".join(inspect.getsource(getattr(inspect_scorers, name)) for name in needed)
    imports = [f"import {each}" for each in ("math", "re", "string") if f"{each}." in body]
    imports += ["from collections import Counter"] if "Counter(" in body else []
    head = '"""Scores of the standard scorers of Inspect, written by `tripos import task`."""'
    return "\n".join([head, "", *imports, "", "", body])


# The spec
ROWS = "samples.jsonl"
REPLY = "ANSWER: A\nGRADE: C"
"""The reply of the reader's mock model."""
SETTINGS = {
    "temperature": "temperature", "max_tokens": "max_tokens", "top_p": "top_p", "top_k": "top_k", "seed": "seed",
    "frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty",
    "reasoning_effort": "reasoning_effort",
}  # fmt: skip
"""Settings of a task, with their names in an `ask`."""
RUN_SETTINGS = frozenset(
    {"max_connections", "max_retries", "timeout", "attempt_timeout", "adaptive_connections", "batch"}
)
"""Settings of a run rather than of the task."""
MEASURES = frozenset({"accuracy", "mean", "stderr", "ci", "bootstrap_stderr"})
"""Metrics that a mean and its interval already show."""
RESERVED_NAMES = ("reply", "critique", "grading", "item", "language", "sample")


def inspect_spec(told: Mapping[str, Any], module: str, language: str = "en") -> ImportedTask:
    """Return the spec of a task that was read, with its rows as a file."""
    notes: list[Note] = []
    name = benchmark_name(told["name"])
    samples = told["samples"]
    chain = Chain(samples, told["templates"])
    lines = _steps(told, chain, notes)
    scores, functions, roles = _scores(told, chain, notes) if lines else ([], [], [])
    settings = _settings(told, chain, notes)
    rows, fields = _rows(samples, chain)
    notes.insert(0, Note("samples", "exactly", f"{len(samples):,} rows in {ROWS}"))
    opening = [
        *commented(f"Imported by `tripos import task` from `{told['name']}` of {module}, Inspect {told['inspect']}."),
        f'benchmark {name} "1.0.0" {{',
        f"  title {quoted(told['name'])}",
        f"  languages {language}",
        "}",
        "",
        "role candidate compared",
        *roles,
        "",
        *(f"function {function} from {quoted(f'{FILE}:{function}')} pure" for function in functions),
        "",
        f"dataset {ITEM} from {quoted(ROWS)} {{",
        *fields,
        "}",
        "",
        f"scenario {name} {{",
        f"  over {ITEM}",
        *_with_settings(lines, settings),
        *(line for score in scores for line in score[1]),
        "}",
        "",
    ]
    measured = _measures(told, scores, notes) if scores else []
    files = {ROWS: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)}
    files |= {FILE: functions_text(functions)} if functions else {}
    return ImportedTask(name, "\n".join([*opening, *measured]) + "\n", notes, files)


def _steps(told: Mapping[str, Any], chain: Chain, notes: list[Note]) -> list[list[str]]:
    """Return the lines of each step. A chain without counterpart becomes a hole and a note."""
    try:
        chain.begin()
        for solver in [*told["setup"], *told["solvers"]]:
            chain.add(solver["name"], solver["params"])
        steps = [step_lines(step) for step in chain.steps]
        if told["sandbox"] or told["approval"]:
            raise NotTranslatable("a sandbox, or tools that somebody approves")
        if not steps:
            raise NotTranslatable("a chain that asks nothing")
    except NotTranslatable as error:
        original = "\n".join(each.get("source") or f"{each['name']}({each['params']})" for each in told["solvers"])
        notes.append(Note("solvers", "not", str(error)))
        return [commented(original, "HOLE: the solvers of the task: ")]
    notes.append(_compare_messages(told, chain))
    return steps


def _compare_messages(told: Mapping[str, Any], chain: Chain) -> Note:
    """Compare the messages of the steps with those that Inspect sent when the task was read."""
    graders = sum("model_graded" in each["name"] for each in told["scorers"])
    compared = [each for each in told["samples"] if each["id"] in told["calls"]]
    for sample in compared:
        calls = told["calls"][sample["id"]]
        if messages_of(chain, sample, REPLY) != calls[: len(calls) - graders]:
            return Note("solvers", "approximately", f"sample {sample['id']} was sent other messages by Inspect")
    if not compared:
        return Note("solvers", "approximately", f"the messages were not compared: {told['failed'] or 'no calls'}")
    return Note("solvers", "exactly", f"the messages of {len(compared):,} samples are equal")


def _scores(
    told: Mapping[str, Any], chain: Chain, notes: list[Note]
) -> tuple[list[tuple[str, list[str]]], list[str], list[str]]:
    """Return the name and lines of each score, the functions that they call, and the roles that they need."""
    found: list[tuple[str, list[str]]] = []
    functions: list[str] = []
    if not chain.steps:
        return [], [], []
    for scorer in told["scorers"]:
        short = scorer["name"].rpartition("/")[2]
        try:
            score = score_of(scorer, chain)
        except NotTranslatable as error:
            note, original = untranslated_scorer(scorer, error)
            notes.append(note)
            found.append(("", [f"  {line}" for line in commented(original, "HOLE: a scorer of the task: ")]))
            continue
        name = name_of(short, [*RESERVED_NAMES, *functions, *score.functions, *(each for each, _ in found)])
        if score.steps and any("grading" in line for _, lines in found for line in lines):
            notes.append(Note(f"scorer {short}", "not", "a second grader"))
            continue
        lines = [line for step in score.steps for line in step_lines(step)]
        found.append((name, [*lines, f"  score {name} = {score.expression}"]))
        functions += [function for function in score.functions if function not in functions]
        notes.append(Note(f"scorer {short}", "approximately" if score.note else "exactly", score.note))
    graded = any(" by grader " in line for _, lines in found for line in lines)
    return found, functions, ["role grader"] if graded else []


def _settings(told: Mapping[str, Any], chain: Chain, notes: list[Note]) -> list[str]:
    lines = [f"    samples {told['epochs']}"] if told["epochs"] > 1 else []
    for key, value in told["config"].items():
        if key in SETTINGS:
            limited = key == "max_tokens" and any(step.max_tokens is not None for step in chain.steps)
            lines += [] if limited else [f"    {SETTINGS[key]} {value}"]
        elif key == "stop_seqs":
            lines += [f"    stop {quoted(each)}" for each in value]
        elif key not in RUN_SETTINGS:
            notes.append(Note(f"setting {key}", "not", f"{value}"))
    return lines


def _with_settings(steps: Sequence[list[str]], settings: Sequence[str]) -> list[str]:
    """Add the settings to the steps that ask the model under test, and the number of samples to the first of them."""
    lines: list[str] = []
    for place, step in enumerate(steps):
        if not step[0].startswith("  ask "):
            lines += [f"  {line}" for line in step]
            continue
        own = [setting for setting in settings if place == 0 or not setting.startswith("    samples ")]
        lines += [*step[:-1], *own, step[-1]]
    return lines


def _rows(samples: Sequence[Sample], chain: Chain) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of the data set and its fields. Columns in prompts are public; all others are secret."""
    rows: list[dict[str, Any]] = []
    fields = ["  id text", *(f"  {column} text" for column in chain.columns)]
    if any(each["choices"] for each in samples):
        fields.append("  choices list<text>")
    fields.append("  target list<text> secret")
    rest = list(dict.fromkeys(key for each in samples for key in each["metadata"] if key not in chain.shown_columns))
    names = {key: name_of(key, ("id", "target", "choices", "key", "language", *chain.columns)) for key in rest}
    for sample in samples:
        row = {"id": sample["id"], **{column: value(sample) for column, value in chain.columns.items()}}
        if sample["choices"]:
            row["choices"] = sample["choices"]
        row["target"] = sample["target"]
        rows.append(row | {names[key]: value for key, value in sample["metadata"].items() if key in names})
    for key, name in names.items():
        type_ = type_of([each["metadata"].get(key) for each in samples])
        fields.append(f"  {name} secret {type_}" if type_.startswith("{") else f"  {name} {type_} secret")
    return rows, fields


def _measures(told: Mapping[str, Any], scores: Sequence[tuple[str, list[str]]], notes: list[Note]) -> list[str]:
    odd = [each for each in told["reducers"] if each not in ("mean", "mean_score")]
    if odd:
        notes.append(Note("epochs", "not", f"scores of epochs that are joined by {', '.join(odd)}"))
    for scorer in told["scorers"]:
        other = [each for each in scorer["metrics"] if each not in MEASURES]
        if other:
            notes.append(Note(f"metrics of {scorer['name'].rpartition('/')[2]}", "not", ", ".join(other)))
    return [f"measure mean_{name} = mean({name})" for name, _ in scores if name]
