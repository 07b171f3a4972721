"""One attempt at a row of a generated data set: writing, walks over trees, computed fields, reviews, and the checks.

Each condition is checked as soon as its values are known, so that no model is asked to verify a row that is rejected
anyway. A walk descends a tree level by level: a role chooses among the branches of each node reached. A row is also
rejected if it is too similar to accepted rows (`unique`, which `maker.py` checks) or to given texts that its author
does not see (`distinct`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, assert_never

from tripos_compiler.language.evaluation import TREES, Unavailable, evaluate
from tripos_compiler.language.near_duplicates import NearTexts, letters_and_digits
from tripos_compiler.language.references import paths_in, without_reveal
from tripos_compiler.language.rendering import Placeholders
from tripos_compiler.library.functions.trees import BETWEEN
from tripos_compiler.library.media import unmarked
from tripos_compiler.plan import (
    Ask,
    ChoiceType,
    Data,
    Derived,
    Distinct,
    Expr,
    GeneratedDataset,
    RecordType,
    SetType,
    Type,
    Verify,
    Walk,
    digest,
)
from tripos_compiler.plan.outcomes import OK, PARSE_FAILURE, REFUSED, RETRIED_NEXT_RUN, TRUNCATED
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import Ledger
from tripos_runtime.asking.plan_questions import Questions
from tripos_runtime.asking.prompts import messages
from tripos_runtime.asking.questions import Question, ReadOutcome, dumps
from tripos_runtime.datasets.generated_rows import Origins, Reason, Rejection, one_of_several, retry_note
from tripos_runtime.datasets.slots import RowSlot, data_sets_read
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.generate.author import (
    Asker,
    GenerationCall,
    GenerationNeed,
    LedgerEntries,
    MakingProgram,
    NobodyAsked,
    PlannedCalls,
)
from tripos_runtime.models.base import Message
from tripos_runtime.program.binding import RoleBinding, generation_binding, generators_of
from tripos_runtime.reading.schema import schema_of


@dataclass(frozen=True)
class CheckSchedule:
    """The checks after each step, by the number of the step; number 0 is before the first. They are the `required`
    conditions with their numbers, and in `compared` the numbers of the `distinct` texts that a row is compared with."""

    required: Mapping[int, tuple[tuple[int, Expr], ...]]
    compared: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, made: GeneratedDataset) -> CheckSchedule:
        """Return the schedule of checks of a data set."""
        required: dict[int, list[tuple[int, Expr]]] = {}
        compared: dict[int, list[int]] = {}
        for number, expr in enumerate(made.require, 1):
            required.setdefault(_available_after(made, expr), []).append((number, expr))
        for number, distinct in enumerate(made.distinct, 1):
            compared.setdefault(_available_after(made, distinct.value), []).append(number)
        return cls(
            {step: tuple(exprs) for step, exprs in required.items()},
            {step: tuple(numbers) for step, numbers in compared.items()},
        )


def _available_after(made: GeneratedDataset, expr: Expr) -> int:
    """Return the number of the step after which everything in an expression is available."""
    row_name, by_field = made.name.rpartition(".")[2], _steps_by_field(made)
    after = [
        len(made.steps) if len(path) == 1 else by_field.get(path[1], 0)
        for path in paths_in(expr)
        if path[0] == row_name
    ]
    return max(after, default=0)


def _steps_by_field(made: GeneratedDataset) -> Mapping[str, int]:
    """Return for every field of the row that a step fills the number of that step."""
    by_field: dict[str, int] = {}
    for number, step in enumerate(made.steps, 1):
        match step:
            case Ask(returns=returns):
                fields = returns.fields if returns is not None and returns.kind == "record" else ()
                by_field |= dict.fromkeys(fields, number)
            case Walk() | Derived():
                by_field[step.name] = number
    return by_field


Path = tuple[str, ...]
"""The names of the nodes from the root of a tree to one of them."""
Choose = Callable[[Path, list[str]], MakingProgram]
"""A function that returns the program which asks about a node, given its path and its branches. The result of the
program is the answer, whose value is the branches that fit, and the name of the reply."""
MOST_NAMED = 200
"""With more branches than this, the schema of a reply does not list them, since providers limit its size."""
MARKS = re.compile(r"^(?:[-*•·]|\(?\d{1,3}[.)、:])\s*")
"""A list marker at the beginning of a text."""


@dataclass(frozen=True)
class Walked:
    """The chosen paths down to leaves, in the order of the tree, and the names of the replies. If a reply was unusable,
    `unknown` is its error, and there are no paths."""

    paths: tuple[str, ...]
    replies: tuple[str, ...]
    unknown: str | None = None


def walk(tree: Mapping[str, Any], choose: Choose, start: Path = ()) -> MakingProgram:
    """Return the program that walks down a tree from the node `start`, with the result as `Walked`. If that node is a
    leaf, it is chosen without asking. All nodes of a level are asked about at once; an unusable reply ends the walk."""
    level: list[Path] = [start] if children(tree, start) else []
    leaves: set[Path] = set() if level else {start}
    names: list[str] = []
    while level:
        answers = yield [choose(path, list(children(tree, path))) for path in level]
        next_level: list[Path] = []
        for path, (answer, name) in zip(level, answers, strict=True):
            names.append(name)
            if answer.value is None:
                return Walked((), tuple(names), str(answer.columns["error"]))
            for branch in answer.value:
                (next_level.append if children(tree, (*path, branch)) else leaves.add)((*path, branch))
        level = next_level
    return Walked(tuple(BETWEEN.join(path) for path in _in_order(tree, leaves)), tuple(names))


def question_at_node(question: Question, branches: Sequence[str], ask: Ask) -> Question:
    """Return the question of a walk at one node. Its schema allows only the branches, and a reply that names another
    one is repaired like an unreadable one. If the reply is a record, the branches are in its field with the name of the
    walk; its other fields are kept."""
    record = ask.returns if isinstance(ask.returns, RecordType) else None

    def reader(text: str) -> ReadOutcome:
        outcome = question.reader(text)
        if outcome.value is None:
            return outcome
        chosen = match_branches(outcome.value if record is None else outcome.value[ask.name], branches)
        if isinstance(chosen, str):
            return ReadOutcome(None, None, chosen, PARSE_FAILURE)
        return ReadOutcome(chosen, chosen if record is None else {**outcome.parsed, ask.name: chosen})

    schema = question.schema
    if len(branches) <= MOST_NAMED:
        type_: Type = SetType(of=ChoiceType(values=tuple(branches)))
        if record is not None:
            type_ = RecordType(fields={**record.fields, ask.name: type_})
        schema = schema_of(type_)
    return replace(question, schema=schema, reader=reader)


def path_to_node(tree: Mapping[str, Any], path: str) -> Path:
    """Return the names from the root to the node of that path. Raises `Unavailable` if the tree has no such node.

    >>> path_to_node({"Algebra": {"Sets": {}}}, "Algebra / Sets")
    ('Algebra', 'Sets')
    """
    names = tuple(path.split(BETWEEN)) if path else ()
    try:
        children(tree, names)
    except KeyError:
        raise Unavailable("below", "no_value", f"the tree has no branch `{path}`") from None
    return names


def match_branches(chosen: Collection[str], branches: Sequence[str]) -> list[str] | str:
    """Return the branches that a reply chose, in the order of the tree, or an error that names a text which is no
    branch. Case, list markers and the path above a branch are ignored.

    >>> match_branches(["- sets", "Algebra / Groups"], ["Groups", "Sets", "Rings"])
    ['Groups', 'Sets']
    >>> match_branches(["Logic"], ["Groups"]), match_branches(["pH"], ["pH", "PH"])
    ('`Logic` is none of the branches', ['pH'])
    """
    exact, known = set(branches), {_plain(branch): branch for branch in branches}
    matches: set[str] = set()
    for text in sorted(chosen):
        # An exact name comes first: branches may differ only in case.
        branch = (
            text if text in exact else next((known[reading] for reading in _readings(text) if reading in known), None)
        )
        if branch is None:
            return f"`{text}` is none of the branches"
        matches.add(branch)
    return [branch for branch in branches if branch in matches]


def _readings(text: str) -> Iterator[str]:
    """Yield the plain names that a text may mean: itself, and without its list marker and the path above the branch."""
    yield _plain(text)
    bare = MARKS.sub("", text.strip())
    yield _plain(bare)
    yield _plain(bare.rpartition(BETWEEN)[2])


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()


def children(tree: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Return the node of a tree at a path, as a mapping of its branches with everything below. Raises `KeyError` if
    there is none."""
    for name in path:
        tree = tree[name]
    return tree


def _in_order(tree: Mapping[str, Any], paths: Collection[Path]) -> Iterator[Path]:
    """Yield the paths in the order of the tree. Only nodes on them are visited: trees may be large, and rows many."""
    below: dict[str, list[Path]] = {}
    for path in paths:
        if path:
            below.setdefault(path[0], []).append(path[1:])
        else:
            yield ()
    for name in tree if below else ():
        for rest in _in_order(tree[name], below[name]) if name in below else ():
            yield (name, *rest)


@dataclass
class DistinctTexts:
    """The texts that rows of a data set must be distinct from, read on first use."""

    dataset: GeneratedDataset
    sources: Sources
    _texts: dict[int, NearTexts[int]] = field(default_factory=dict)

    def rejection(self, number: int, names: Mapping[str, Any]) -> Rejection | None:
        """Return the rejection of a row if it is too similar to a text of `distinct` number `number`, counted from 1.
        `names` are the row's values. Raises `Unavailable` if the row has no value to compare."""
        distinct = self.dataset.distinct[number - 1]
        near = self._near(number).find(evaluate(distinct.value, names))
        if near is None:
            return None
        place, similarity = near
        details = {"number": number, **self._named(distinct, place), "similarity": round(similarity, 3)}
        return Rejection("too_near", details)

    def _near(self, number: int) -> NearTexts[int]:
        if number not in self._texts:
            distinct = self.dataset.distinct[number - 1]
            texts = self._texts[number] = NearTexts(distinct.above)
            for place, text in enumerate(evaluate(distinct.others, self.sources.names)):
                if isinstance(text, str):
                    texts.add(place, text)
        return self._texts[number]

    def _named(self, distinct: Distinct, place: int) -> Mapping[str, Any]:
        """Return the details that name the row with a text, if the texts are a column of a data set."""
        expr = without_reveal(distinct.others)
        return {"of": self.sources.rows[expr.dataset][place].item_id} if isinstance(expr, Data) else {}


NEAR = 0.8
"""The overlap from which texts are near-duplicates (`near_duplicates.overlap`)."""


@dataclass(frozen=True)
class Repeat:
    """A repetition of a value: the place of the other slot, and the similarity of the two, 1 if equal."""

    place: int
    similarity: float


@dataclass
class AcceptedValues:
    """The values of one `unique` expression in the accepted rows of one cell of the context.

    >>> pool = AcceptedValues()
    >>> pool.add(0, "What is the capital of France, and why is it so?")
    >>> pool.repeats("what is the capital of France - and why is it so")
    Repeat(place=0, similarity=1.0)
    >>> pool.repeats("What is the capital of France, and why was it so?").place
    0
    >>> pool.repeats("Name the capital of Italy.") is None
    True
    """

    exact: dict[str, int] = field(default_factory=dict)
    texts: NearTexts[int] = field(default_factory=lambda: NearTexts(NEAR, few=0))

    def repeats(self, value: Any) -> Repeat | None:
        """Return the most similar accepted value that this one repeats; the first one if there is a tie."""
        place = self.exact.get(_name(value))
        if place is not None:
            return Repeat(place, 1.0)
        near = self.texts.find(value) if isinstance(value, str) else None
        return Repeat(*near) if near is not None else None

    def add(self, place: int, value: Any) -> None:
        """Add an accepted value."""
        self.exact[_name(value)] = place
        if isinstance(value, str):
            self.texts.add(place, value)


def _name(value: Any) -> str:
    """Return a key that equal values share: for a text, its normalised form, unless that is empty."""
    return digest(["text", letters_and_digits(value) or value] if isinstance(value, str) else ["value", value])


@dataclass(frozen=True)
class Outcome:
    """The result of a slot: the item, or `None` if the slot was given up."""

    slot: RowSlot
    language: str
    item_id: str | None
    origins: Origins


def origin_columns(origins: Origins | None) -> dict[str, Any]:
    """Return the columns of `items` that say how an item was generated.

    >>> origin_columns(None)["attempts"] is None
    True
    >>> origin_columns(Origins("mock/author", 2, ({"reason": "verify"},)))["rejections"]
    '[{"reason":"verify"}]'
    """
    if origins is None:
        return {"written_by": None, "attempts": None, "rejections": None}
    return {
        "written_by": origins.written_by,
        "attempts": origins.attempts,
        "rejections": dumps(list(origins.rejections)),
    }


def place_of(made: GeneratedDataset) -> str:
    """Return the scenario that a data set is in, else the data set."""
    return made.scenario or made.name


def keep_outcomes(
    ledger: Ledger, made: GeneratedDataset, models: Sequence[str], outcomes: Iterable[Outcome], row: Mapping[str, Any]
) -> list[str]:
    """Keep the outcomes that the ledger does not have, and return the names of all. `models` generated the rows; `row`
    has the columns that they share. The name contains the outcome, since a slot may have different outcomes in
    different runs: its row may repeat the row of another slot, which only one of the runs has."""
    rows: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        slot = outcome.slot
        columns = {
            "status": "given_up" if outcome.item_id is None else "made",
            "item_id": outcome.item_id,
            **origin_columns(outcome.origins),
        }
        name = digest(["slot", made.fingerprint, slot.name, *models, columns])
        rows[name] = {
            **row,
            "slot_id": name,
            "scenario": place_of(made),
            "dataset": made.name,
            "fingerprint": made.fingerprint,
            "context": {**_inherited(made, slot), "language": outcome.language, **slot.cell},
            "number": slot.number,
            **columns,
        }
    kept = ledger.rows("slots", rows.keys()) if rows else {}
    new = [each for name, each in rows.items() if name not in kept]
    if new:
        ledger.keep({"slots": new})
    return list(rows)


def _inherited(made: GeneratedDataset, slot: RowSlot) -> dict[str, str]:
    """Return the values of axes that the row of a slot inherits from its source row."""
    source = slot.source if isinstance(slot.source, Mapping) else {}
    return {name: str(source[name]) for name in carried_axes(made) if source.get(name) is not None}


def carried_axes(made: GeneratedDataset) -> tuple[str, ...]:
    """Return the axes whose values the rows of a data set inherit from those of its source."""
    fields = (
        data_field.name
        for data_field in made.fields
        if data_field.type.kind == "choice" and data_field.type.axis == data_field.name
    )
    return tuple(name for name in fields if name not in made.axes)


@dataclass(frozen=True)
class PreviousAttempt:
    """The previous attempt at a slot: why it was rejected, the author's reply, and the names of all its replies."""

    rejection: Rejection
    reply: str | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """The result of an attempt: a row or a rejection. If it has neither, a call or a Python function failed, which a
    later run retries.

    `reply` is the author's, `names` are those of all replies, `asked_steps` counts the steps that asked a model. `last`
    is true if another attempt would have the same result."""

    row: dict[str, Any] | None = None
    rejection: Rejection | None = None
    reply: str | None = None
    names: tuple[str, ...] = ()
    asked_steps: int = 0
    last: bool = False


@dataclass(frozen=True)
class Attempts:
    """The attempts at the slots of one data set."""

    dataset: GeneratedDataset
    asker: Asker

    @property
    def sources(self) -> Sources:
        """The data of the run."""
        return self.asker.run.sources

    @property
    def binding(self) -> RoleBinding:
        """The models of the run."""
        return self.asker.run.binding

    @cached_property
    def row_name(self) -> str:
        """The name of the row in expressions."""
        return self.dataset.name.rpartition(".")[2]

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The calls of the steps that ask a model."""
        return self.dataset.asks

    @cached_property
    def author(self) -> Ask | None:
        """The step that writes the row, if any."""
        return next((step for step in self.dataset.steps if isinstance(step, Ask)), None)

    @property
    def can_vary(self) -> bool:
        """True if another attempt can give another row: a model writes it, or chooses paths for it."""
        return any(isinstance(step, Ask | Walk) for step in self.dataset.steps)

    @property
    def questions(self) -> Questions:
        """The questions of the steps."""
        return self.asker.questions

    @cached_property
    def due(self) -> CheckSchedule:
        """The schedule of checks."""
        return CheckSchedule.of(self.dataset)

    @cached_property
    def distinct_texts(self) -> DistinctTexts:
        """The texts that rows must be distinct from."""
        return DistinctTexts(self.dataset, self.sources)

    @cached_property
    def makers(self) -> tuple[str, ...]:
        """The models that generate the data sets which this one reads; they are part of the name of every reply."""
        return generators_of(self.sources.plan, data_sets_read(self.dataset), self.binding.answering)

    def language(self, slot: RowSlot) -> str:
        """Return the language in which models are asked for the row: that of its cell, else of its source row, else the
        first one of the benchmark."""
        if "language" in slot.cell:
            return slot.cell["language"]
        of_source = slot.source.get("language") if isinstance(slot.source, Mapping) else None
        languages = self.sources.plan.benchmark.languages
        return of_source if of_source in languages else languages[0]

    def first_row(self, slot: RowSlot) -> dict[str, Any]:
        """Return the row before the first step: the fields of its source and its cell."""
        row: dict[str, Any] = {}
        if self.dataset.alias is not None:
            row |= slot.source if isinstance(slot.source, Mapping) else {self.dataset.alias: slot.source}
        return row | dict(slot.cell)

    def names_at(self, slot: RowSlot, row: dict[str, Any]) -> dict[str, Any]:
        """Return the values for expressions about a slot and its row."""
        names = {**slot.cell, **self.sources.names, self.row_name: row}
        return names if self.dataset.alias is None else {**names, self.dataset.alias: slot.source}

    def names_of(self, slot: RowSlot, number: int, before: PreviousAttempt | None) -> list[str]:
        """Return the names of the replies of an attempt, as far as they are known before it: up to the first walk, as
        if every step succeeded."""
        upstream = _built_on(before)
        names: list[str] = []
        for step in self.dataset.steps:
            if isinstance(step, Walk):
                break
            if not isinstance(step, Derived):
                names.append(self.call(_ask_of(step), slot, slot.name, number, (*upstream, *names)).name)
        return names

    async def make(self, slot: RowSlot, number: int, before: PreviousAttempt | None, entries: LedgerEntries) -> Attempt:
        """Make attempt `number`, counted from 0, at a slot. `entries` are the ledger's entries of its replies. Raises
        `NobodyAsked` if it needs a missing reply and no model may be asked, and the errors of callers."""
        self.asker.observer.on_attempt(self.dataset.name, slot.place, number)
        program = _RunningAttempt(self, slot, number, before).go()
        attempt: Attempt = await self.asker.drive(program, entries)
        if attempt.row is None and attempt.rejection is None:
            self.asker.complete = False
        return attempt

    def messages(
        self, ask: Ask, slot: RowSlot, names: Mapping[str, Any], placeholders: Placeholders | None = None
    ) -> tuple[Message, ...]:
        """Return the messages of a step about a slot, without the notes on an earlier attempt."""
        language = self.language(slot)
        question = self.questions.of(ask, language, names)
        sent = messages(question, names, language, self.sources.axes, placeholders=placeholders)
        if ask is self.author and slot.number:
            text = one_of_several(language, slot.number + 1)
            sent = (*sent[:-1], replace(sent[-1], content=f"{sent[-1].content}\n\n{unmarked(text)}"))
        return sent

    def call(self, ask: Ask, slot: RowSlot, item: str, number: int, upstream: tuple[str, ...]) -> GenerationCall:
        """Return the call of a step about `item`, which builds on the replies with the names `upstream`."""
        model = self.binding.of(ask.role)[0]
        return GenerationCall(
            slot.place,
            ask,
            ask is self.author,
            self.dataset.name,
            place_of(self.dataset),
            item,
            slot.cell,
            self.language(slot),
            number,
            model,
            self.binding.identity_of(model),
            (*upstream, *self.makers),
            self.binding_of(ask.fingerprint),
        )

    def binding_of(self, fingerprint: str) -> str:
        """Return the binding of the replies to the step with this fingerprint, or, for the fingerprint of the data set,
        that of the outcomes of slots."""
        if fingerprint not in self._bindings:
            binding = generation_binding(self.sources.plan, self.dataset, fingerprint, self.binding.answering)
            self._bindings[fingerprint] = binding
        return self._bindings[fingerprint]

    @cached_property
    def _bindings(self) -> dict[str, str]:
        return {}


class _RunningAttempt:
    """A running attempt. `row` grows from step to step, `reply` is the author's, and `replies` are the names of all
    replies."""

    def __init__(self, attempts: Attempts, slot: RowSlot, number: int, before: PreviousAttempt | None) -> None:
        self.attempts, self.slot, self.number, self.before = attempts, slot, number, before
        self.row = attempts.first_row(slot)
        self.names = attempts.names_at(slot, self.row)
        self.reply: str | None = None
        self.replies: tuple[str, ...] = ()
        self.asked_steps = 0

    def go(self) -> MakingProgram:
        """Return the program of the attempt; its result is the `Attempt`."""
        dataset = self.attempts.dataset
        try:
            rejection = self._checked(0)
            for number, step in enumerate(dataset.steps, 1):
                if rejection is not None:
                    break
                rejection = (yield from self._step(step)) or self._checked(number)
        except _NoReply:
            return Attempt(names=self.replies, asked_steps=self.asked_steps + 1)
        except Unavailable as reason:
            if reason.status in RETRIED_NEXT_RUN:
                return Attempt(names=self.replies, asked_steps=self.asked_steps)
            rejection = Rejection("no_value", {"error": str(reason)})
        if rejection is not None:
            return Attempt(None, rejection, self.reply, self.replies, self.asked_steps, self._is_last(rejection))
        return Attempt(
            {data_field.name: self.row[data_field.name] for data_field in dataset.fields},
            None,
            self.reply,
            self.replies,
            self.asked_steps,
        )

    def _step(self, step: Ask | Walk | Derived | Verify) -> MakingProgram:
        """Do a step, and return the rejection of the row, if any."""
        match step:
            case Ask():
                answer = yield from self._next(step, tell=True)
                self.reply = answer.text
                if answer.value is None:
                    return Rejection(_reason(answer.status), {"step": step.name, "error": answer.columns["error"]})
                self.row |= answer.value
            case Walk():
                return (yield from self._walk(step))
            case Derived():
                self.row[step.name] = evaluate(step.value, self.names)
            case Verify():
                answer = yield from self._next(step.ask)
                if answer.value is None:
                    return Rejection("unverified", {"step": step.ask.name, "error": answer.columns["error"]})
                names = {**self.names, **answer.value}
                if not all(evaluate(expr, names) for expr in step.require):
                    return Rejection("verify", {"step": step.ask.name})
            case _:
                assert_never(step)
        return None

    def _walk(self, step: Walk) -> MakingProgram:
        """Walk down a tree, and return the rejection of the row, if any. The prompt says why the previous attempt was
        rejected if no other step writes the row."""
        tell, tree = self.attempts.author is None, self.names[TREES][step.tree]
        lane, start = (step.ask.role, self.attempts.dataset.name), self._start(step, tree)

        def choose(path: tuple[str, ...], branches: list[str]) -> MakingProgram:
            if path != start:  # one call was planned; further ones are added as nodes are reached
                yield PlannedCalls(lane, 1)
            # The branches are part of the name: if the tree gets another branch, the node is asked about again.
            item = digest([self.slot.name, step.name, path, branches])
            names = {**self.names, "branches": branches}
            asked = self.attempts.questions.of(step.ask, self.attempts.language(self.slot), names)
            question = question_at_node(asked, branches, step.ask)
            return (
                yield from self._ask(step.ask, item, names, tell=tell, question=question, node=children(tree, path))
            )

        walked = yield from walk(tree, choose, start)
        self.replies = (*self.replies, *walked.replies)
        self.asked_steps += 1
        if not walked.replies:
            yield PlannedCalls(lane, -1)
        if walked.unknown is not None:
            return Rejection("unreadable", {"step": step.name, "error": walked.unknown})
        self.row[step.name] = list(walked.paths)
        return None

    def _start(self, step: Walk, tree: Mapping[str, Any]) -> Path:
        """Return the start node of a walk. Raises `Unavailable` if the tree has no such node."""
        if step.below is None:
            return ()
        value = evaluate(step.below, self.names)
        return path_to_node(tree, step.starts.get(value, value))

    def _next(self, ask: Ask, *, tell: bool = False) -> MakingProgram:
        """Return the answer to a step. Later steps build on it: their names contain the name of its reply."""
        answer, name = yield from self._ask(ask, self.slot.name, self.names, tell=tell)
        self.replies = (*self.replies, name)
        self.asked_steps += 1
        return answer

    def _ask(
        self,
        ask: Ask,
        item: str,
        names: Mapping[str, Any],
        *,
        tell: bool,
        question: Question | None = None,
        node: Mapping[str, Any] | None = None,
    ) -> MakingProgram:
        """Return the answer to a step about `item` and the name of the reply; with `tell`, the prompt says why the
        previous attempt was rejected. The value is `None` if the reply is unusable. Raises `_NoReply` if the call
        failed, and `NobodyAsked` if the reply is missing and no model may be asked."""
        attempts = self.attempts
        call = attempts.call(ask, self.slot, item, self.number, (*_built_on(self.before), *self.replies))
        step_question = attempts.questions.of(ask, call.language, names)
        sent = attempts.messages(ask, self.slot, names)
        if tell and self.before is not None:
            sent = (*sent, *self._history(self.before, call.language))
        answer = yield GenerationNeed(call, sent, question or step_question, node)
        if isinstance(answer, Unavailable):
            raise NobodyAsked
        if answer.status in RETRIED_NEXT_RUN:
            raise _NoReply
        return (answer if answer.status in (OK, TRUNCATED) else replace(answer, value=None)), call.name

    def _history(self, before: PreviousAttempt, language: str) -> tuple[Message, ...]:
        """Return the messages about the previous attempt: the author's reply, if any, and the note why it was
        rejected."""
        text = retry_note(before.rejection.known_as, language, self.number + 1, self.attempts.dataset.retries + 1)
        earlier = () if before.reply is None else (Message("assistant", unmarked(before.reply)),)
        return (*earlier, Message("user", unmarked(text)))

    def _checked(self, step: int) -> Rejection | None:
        """Return the rejection by the checks that are due after a step, given by its number, if any."""
        for number, expr in self.attempts.due.required.get(step, ()):
            if not evaluate(expr, self.names):
                return Rejection("require", {"number": number})
        for number in self.attempts.due.compared.get(step, ()):
            rejection = self.attempts.distinct_texts.rejection(number, self.names)
            if rejection is not None:
                return rejection
        return None

    def _is_last(self, rejection: Rejection) -> bool:
        """Return true if another attempt is pointless, since no model writes the row, so that it stays the same. A
        reviewer is asked about the same row again only if its reply was unusable: asking until it agrees would not be a
        review."""
        return not self.attempts.can_vary and (rejection.reason != "unverified" or not self.replies)


class _NoReply(Exception):
    """A call failed."""


def _built_on(before: PreviousAttempt | None) -> tuple[str, ...]:
    """Return what the first call of an attempt builds on: the reason of the previous rejection, and the names of the
    previous attempt's replies."""
    return () if before is None else (before.rejection.known_as, *before.names)


def _ask_of(step: Ask | Walk | Verify) -> Ask:
    return step if isinstance(step, Ask) else step.ask


def _reason(status: str) -> Reason:
    return "refused" if status == REFUSED else "truncated" if status == TRUNCATED else "unreadable"
