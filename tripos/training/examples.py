"""Examples to learn from, made by `export NAME { examples from DATASET … }`: the answers to rows, as chats.

No example may be a question that a model is graded on. The compiler refuses data sets that a scenario runs over, and a
row is left out if one of its texts is similar or equal to a text of such a scenario.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tripos.training.reward_pairs import HELD_OUT_REASON, data_files, held_out_texts, prompt_of, replies_of
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import TriposError
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.near_duplicates import (
    NEAR_DUPLICATE_OVERLAP,
    HeldOutTexts,
    NearTexts,
    is_long,
    letters_and_digits,
    training_texts,
)
from tripos_compiler.library.types import type_notation
from tripos_compiler.plan import (
    Pairing,
    Partner,
    Plan,
    Retrieve,
    ScenarioRequest,
    Settings,
    Shots,
    Treatment,
    Type,
    digest as digest_of,
)
from tripos_compiler.replies.number_tokens import DEFAULT
from tripos_runtime.asking.plan_questions import reply_reader
from tripos_runtime.asking.prompts import chosen_rows
from tripos_runtime.asking.questions import Question
from tripos_runtime.datasets.cases import Case, CaseSource
from tripos_runtime.datasets.sources import SourceRow
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.needs import Answered, Need, PlanContext, ReplyNeed, SimilarityNeed, pending
from tripos_runtime.program.running import drive_now
from tripos_runtime.program.steps import UnitProgram
from tripos_runtime.program.units import BoundTreatment, Unit
from tripos_runtime.program.values import StepValues
from tripos_runtime.reading.schema import schema_of
from tripos_warehouse.exports.training import FORMAT
from tripos_warehouse.files import provenance_path, write_lines

Messages = list[dict[str, str]]


@dataclass(frozen=True)
class ExampleRequest:
    """The messages of a request, and the question that says how a reply to them is read; None if it is any text."""

    messages: Messages
    question: Question | None

    def form_error(self, reply: str) -> str | None:
        """Return why a reply does not have the form that the messages ask for; None if it has."""
        return None if self.question is None else self.question.form_error(reply)


class QuestionBuilder:
    """Runs a scenario up to a question, for any row with its fields."""

    def __init__(self, plan: Plan, source: CaseSource, asks: ScenarioRequest, returns: Type | None) -> None:
        self._source = source
        self._world = PlanContext(plan, source.sources)
        scenario = next(each for each in plan.scenarios if each.name == asks.scenario)
        treatment = _treatment(plan, asks)
        ask = treatment.ask(asks.step)
        if returns is not None:
            ask = ask.model_copy(update={"returns": returns})
        self._ask = ask
        retrieves = (step for step in treatment.steps if isinstance(step, Retrieve) and step.name in ask.needs)
        compared = next(role.name for role in plan.roles if role.kind == "compared")
        binding = RoleBinding({role.name: (role.name,) for role in plan.roles}, compared)  # no model is called
        self._bound = BoundTreatment(scenario, treatment.model_copy(update={"steps": (*retrieves, ask)}), plan, binding)

    @property
    def shot_datasets(self) -> list[str]:
        """The data sets of the worked examples in the request."""
        return [shots.dataset for shots in self._ask.shots]

    def request(self, row: SourceRow) -> ExampleRequest | None:
        """Return the request for a row, or None if the scenario would not run over it or not ask. Raises `Unavailable`
        if the row lacks a value."""
        case = self._source.case_of(self._bound.scenario, row)
        if case is None:
            return None
        unit = Unit(case, self._bound, self._bound.binding.compared, 0)
        program = UnitProgram(self._world, unit, StepValues(case.names))
        asked: list[ReplyNeed] = []

        def meet(need: Need) -> Answered:
            if isinstance(need, SimilarityNeed):  # no embeddings are requested
                return {}
            assert isinstance(need, ReplyNeed)
            asked.append(need)
            return pending(self._ask.name)

        drive_now(program.go(), meet, program.out.clear)
        if not asked:
            return None
        messages = [{"role": message.role, "content": message.content} for message in asked[0].prompt.messages()]
        return ExampleRequest(messages, asked[0].question)


class PartnerRows:
    """Finds the partner row of another row."""

    def __init__(self, plan: Plan, source: CaseSource, partner: Partner) -> None:
        self._source = source
        self._drawn = Shots(
            count=1, dataset=partner.dataset, alias=partner.alias, where=partner.where, prompt={}, reply={}
        )
        self._any = plan.scenarios[0]

    def of(self, dataset: str, row: SourceRow, names: Mapping[str, Any]) -> SourceRow | None:
        """Return the partner of a row of `dataset`, sampled by that row, or None."""
        case = Case(self._any, row.item_id, {}, row.values, dataset, names, row.origin)
        begin = int(digest_of([self._drawn.alias, row.item_id])[:12], 16)
        return next(chosen_rows(self._drawn, case, names, self._source.sources, begin), None)


SHORTEST = 12
"""Minimum letters and digits of a text that is compared by its character n-grams. Shorter texts are a word or two,
which questions share. If a row has no longer text, its longest one is compared exactly."""


def find_examples(plan: Plan, names: Sequence[str]) -> list[Pairing] | None:
    """Return the exports with these names if the first one makes examples, or else None. Raises `TriposError` S0601 for
    a name that does not."""
    pairings = {
        export.name: export for export in plan.exports if isinstance(export, Pairing) and export.kind == "examples"
    }
    if not names or names[0] not in pairings:
        return None
    for name in names:
        if name not in pairings:
            hint = suggest(name, pairings, f"there is {', '.join(f'`{each}`' for each in pairings)}")
            raise TriposError("S0601", f"the spec makes no examples called `{name}`", hint)
    return [pairings[name] for name in names]


def write_examples(plan: Plan, exports: Sequence[Pairing], source: CaseSource, path: Path) -> dict[str, Any]:
    """Write the examples of all `exports` as JSON Lines, and their provenance next to them, which is returned.

    A line has `messages`: the question, and the answer by the assistant. Lines of several exports are mixed evenly. The
    provenance has the export and item of every line, the numbers of rows left out by reason, and the similar questions.
    Raises `TriposError` E0301 if a row has no value for an export's expression, S0821 if there is no example, and
    `StoreError` S0604 if the file cannot be written.
    """
    texts = ScenarioTexts.of(plan, source)
    left_out: Counter[str] = Counter()
    near: dict[str, dict[str, Any]] = {}
    makers = [ExampleMaker.of(plan, export, source, texts, left_out, near) for export in exports]
    kept = {name for maker in makers for name in maker.kept_datasets}
    for name in dict.fromkeys(export.dataset for export in exports):
        rows = source.sources.rows[name] if name in kept else source.sources.rows_of(name)
        for number, row in enumerate(rows, 1):
            for maker in makers:
                if maker.export.dataset == name:
                    maker.examples.extend(maker.from_row(number, row))
    if not any(maker.examples for maker in makers):
        hint = "check `where` and `beside`, and that the rows are not items of a scenario"
        named = " and ".join(f"`{export.name}`" for export in exports)
        raise TriposError("S0821", f"no row gives {named} an example", hint)
    lines = _mixed([maker.examples for maker in makers])
    written = write_lines(path, (line.line for line in lines))
    one = {"export": exports[0].name} if len(exports) == 1 else {"exports": [export.name for export in exports]}
    provenance = {
        "format": FORMAT,
        "file": path.name,
        "sha256": written.sha256,
        "examples": written.rows,
        "kind": "distillation",
        **one,
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "plan_digest": plan.digest,
        "licence": plan.benchmark.license,
        "data": data_files(plan, exports),
        "left_out": dict(sorted(left_out.items())),
        "held_out": {"questions": len(texts), "alike": NEAR_DUPLICATE_OVERLAP, "near": list(near.values())},
        "lines": [{"export": line.export, "item": line.item} for line in lines],
    }
    write_lines(provenance_path(path), [json.dumps(provenance, ensure_ascii=False, indent=1).encode()])
    return provenance


@dataclass(frozen=True)
class ExportedExample:
    """A line of the file with its export and item."""

    export: str
    item: str
    line: bytes


@dataclass(frozen=True)
class ExampleMaker:
    """Makes the examples of one export, row by row. Rows that are left out are recorded in `left_out` and `near`, which
    exports share."""

    plan: Plan
    export: Pairing
    source: CaseSource
    scenario_texts: ScenarioTexts
    left_out: Counter[str]
    near: dict[str, dict[str, Any]]
    question: QuestionBuilder | None
    form: Question | None
    partners: PartnerRows | None
    held_out: HeldOutTexts[str] | None
    examples: list[ExportedExample] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        plan: Plan,
        export: Pairing,
        source: CaseSource,
        scenario_texts: ScenarioTexts,
        left_out: Counter[str],
        near: dict[str, dict[str, Any]],
    ) -> ExampleMaker:
        """Return the maker of an export without examples yet."""
        return cls(
            plan,
            export,
            source,
            scenario_texts,
            left_out,
            near,
            None if export.asks is None else QuestionBuilder(plan, source, export.asks, export.returns),
            _own_form(export, source),
            None if export.beside is None else PartnerRows(plan, source, export.beside),
            held_out_texts(plan, export, source),
        )

    @property
    def kept_datasets(self) -> frozenset[str]:
        """The data sets whose rows are looked up for every row, and so stay in memory."""
        partners = [] if self.export.beside is None else [self.export.beside.dataset]
        return frozenset([*partners, *(() if self.question is None else self.question.shot_datasets)])

    def from_row(self, number: int, row: SourceRow) -> Iterator[ExportedExample]:
        """Yield the examples of a row, which is the `number`-th of its data set. Raises `TriposError`."""
        export, source = self.export, self.source
        rows = {export.alias: row}
        names = {export.alias: row.values, **source.sources.names}
        try:
            if export.where is not None and not evaluate(export.where, names):
                self.left_out["filtered"] += 1
                return
            if self.held_out is not None and self.held_out.find(training_texts(export, names)) is not None:
                self.left_out[HELD_OUT_REASON] += 1
                return
            if export.beside is not None and self.partners is not None:
                partner = self.partners.of(export.dataset, row, names)
                if partner is None:
                    self.left_out["alone"] += 1
                    return
                rows[export.beside.alias] = partner
                names[export.beside.alias] = partner.values
            request = (
                _own_request(self.plan, export, source, names, self.form)
                if self.question is None
                else self.question.request(rows[_about(export)])
            )
            if request is None:
                self.left_out["filtered"] += 1
                return
            replies = [rated for reply in export.replies for rated in replies_of(reply, names)]
        except Unavailable as error:
            message = f"row {number} of `{export.dataset}` gives export `{export.name}` no value: {error}"
            raise TriposError("E0301", message, "fix the row, or guard the value") from error
        similar = map(self.scenario_texts.like, rows.values())
        if (like := next(filter(None, similar), None)) is not None:
            self.left_out["asked, or nearly so"] += 1
            self.near[row.item_id] = {"item": row.item_id, "like": like[0], "overlap": round(like[1], 4)}
            return
        for rated_reply in replies:
            if (reason := request.form_error(rated_reply.text)) is not None:
                raise _form_error(self.plan, export, number, row, reason)
            chat = [*request.messages, {"role": "assistant", "content": rated_reply.text}]
            yield ExportedExample(export.name, row.item_id, orjson.dumps({"messages": chat}))


def _own_form(export: Pairing, source: CaseSource) -> Question | None:
    """Return the question with the form of replies that an export with a prompt of its own asks for."""
    if export.returns is None:
        return None
    axes = tuple(source.axes.values())
    return Question(
        None, None, Settings(), schema_of(export.returns), reply_reader(export.returns, axes, DEFAULT), form="typed"
    )


def _own_request(
    plan: Plan, export: Pairing, source: CaseSource, names: Mapping[str, Any], form: Question | None
) -> ExampleRequest:
    """Return the request of an export with a prompt of its own. It ends with the note on the form, if there is one."""
    prompt = prompt_of(plan, export, source, names)
    note = "" if form is None else form.note(plan.benchmark.languages[0])
    content = f"{prompt}\n\n{note}" if note else prompt
    return ExampleRequest([{"role": "user", "content": content}], form)


def _form_error(plan: Plan, export: Pairing, number: int, row: SourceRow, error: str) -> TriposError:
    returns = export.returns
    if returns is None and export.asks is not None:
        returns = _treatment(plan, export.asks).ask(export.asks.step).returns
    form = "a text" if returns is None else f"JSON of the type `{type_notation(returns)}`"
    subject = f"export `{export.name}`, row {number} of `{export.dataset}` (item {row.item_id})"
    message = f"{subject}: the prompt asks for {form}, and the reply is something else: {error}"
    hint = "write the `reply` in that form, or let the prompt ask for another: `returns TYPE` in the export"
    return TriposError("S0824", message, hint)


def _treatment(plan: Plan, asks: ScenarioRequest) -> Treatment:
    """Return the treatment whose request is exported."""
    scenario = next(each for each in plan.scenarios if each.name == asks.scenario)
    return next(each for each in scenario.treatments if each.arms == asks.arms)


def _about(export: Pairing) -> str:
    return export.alias if export.asks is None else export.asks.about


def _mixed(made: Sequence[Sequence[ExportedExample]]) -> list[ExportedExample]:
    """Return the examples of several exports, each spread evenly over the whole."""
    placed = [
        ((at + 0.5) / len(examples), which, line)
        for which, examples in enumerate(made)
        for at, line in enumerate(examples)
    ]
    return [line for _, _, line in sorted(placed, key=lambda each: each[:2])]


class ScenarioTexts:
    """The texts of all rows that scenarios run over."""

    def __init__(self) -> None:
        self._near: NearTexts[int] = NearTexts()
        self._items: list[str] = []
        self._rows: set[str] = set()
        self._short: dict[str, str] = {}
        """The items by the letters and digits of their longest text, if it is short."""
        self._texts: dict[str, tuple[str, float] | None] = {}
        """Cached results by item, since several exports may have the same rows."""

    def __len__(self) -> int:
        return len(self._rows)

    @classmethod
    def of(cls, plan: Plan, source: CaseSource) -> ScenarioTexts:
        """Return the texts of a plan's rows from files. Rows that a run generates do not exist yet."""
        texts = cls()
        datasets = {dataset.name: dataset for dataset in plan.datasets}
        names = [scenario.rows.dataset for scenario in plan.scenarios if scenario.rows is not None]
        for name in dict.fromkeys(names):
            for row in source.sources.stream(datasets[name]) if name in datasets else ():
                texts._add(row.item_id, row.values)
        return texts

    def like(self, row: SourceRow) -> tuple[str, float] | None:
        """Return the most similar item of a row with the similarity, or None."""
        if row.item_id not in self._texts:
            self._texts[row.item_id] = self._like(row.values)
        return self._texts[row.item_id]

    def _like(self, values: Mapping[str, Any]) -> tuple[str, float] | None:
        found = [hit for text in _texts(values) if (hit := self._near.find(text)) is not None]
        best = max(found, key=lambda hit: hit[1], default=None)
        same = self._short.get(_longest(values))
        if same is not None:
            return same, 1.0
        return None if best is None else (self._items[best[0]], best[1])

    def _add(self, item: str, values: Mapping[str, Any]) -> None:
        self._rows.add(item)
        if 0 < len(longest := _longest(values)) < SHORTEST:
            self._short.setdefault(longest, item)
        for text in _texts(values):
            self._near.add(len(self._items), text)
            self._items.append(item)


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    return (text for text in _every_text(values) if len(letters_and_digits(text)) >= SHORTEST)


def _every_text(value: Any) -> Iterator[str]:
    """Yield the texts of a row at any depth: a dialogue as one text, and of other lists the long entries, since options
    and topics are shared by many rows.

    >>> list(_every_text({"a": "x", "b": {"c": "y"}, "d": ["all of the above"]}))
    ['x', 'y']
    >>> list(_every_text({"talk": [{"speaker": "Ann", "text": "Hi."}, {"speaker": "Ben", "text": "Hello!"}]}))
    ['Hi.\\nHello!']
    """
    match value:
        case str():
            yield value
        case Mapping():
            for inner in value.values():
                yield from _every_text(inner)
        case [_, *_] if all(isinstance(turn, Mapping) and {"speaker", "text"} <= turn.keys() for turn in value):
            yield "\n".join(turn["text"] for turn in value if isinstance(turn["text"], str))
        case list() | tuple():
            yield from (text for inner in value for text in _every_text(inner) if is_long(text))


def _longest(values: Mapping[str, Any]) -> str:
    """Return the letters and digits of the longest text of a row."""
    return max(map(letters_and_digits, _every_text(values)), key=len, default="")
