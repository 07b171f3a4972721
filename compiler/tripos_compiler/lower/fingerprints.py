"""Fingerprints: a hash of what determines the output of a step, and nothing else.

Everything that changes a reply or a score must be in one of these; what is not in them costs nothing to change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from tripos_compiler.plan import (
    Ask,
    Axis,
    Call,
    Column,
    Compare,
    Converse,
    Data,
    Expr,
    Grade,
    Hole,
    Metric,
    Passage,
    Retrieve,
    Score,
    Scorer,
    Shots,
    Step,
    Texts,
    Type,
    Verdict,
    digest,
)
from tripos_compiler.plan import Branches as TreeValue
from tripos_compiler.program import Program
from tripos_compiler.semantics.conversations import OPENINGS
from tripos_compiler.semantics.library import versions
from tripos_compiler.semantics.names import parts_of


class Prints:
    """The fingerprints of the steps of one treatment, each of those that it builds on. `key` is that of the rows;
    `kind` says what `scenario` names."""

    def __init__(self, program: Program, scenario: str, key: Expr | None = None, kind: str = "scenario") -> None:
        self.program = program
        self.key = key
        self.place = (program.home(kind, scenario), scenario)
        self.done: dict[str, Any] = {}

    def of(self, step: Step) -> Step:
        """The step with its fingerprint. Those that it needs must have come before."""
        update: dict[str, str] = {}
        match step:
            case Ask():
                update["fingerprint"] = self._ask(step)
            case Converse():
                update["fingerprint"] = self._converse(step)
            case Retrieve():
                update["fingerprint"] = self._retrieve(step)
            case Verdict():
                update["judgement"] = self._judgement(step.scorer, step.args, (), step.needs)
                update["fingerprint"] = self._value(step.name, update["judgement"], step.when, step.needs)
            case Grade():
                update["judgement"] = self._judgement(step.scorer, step.args, step.metrics, step.needs)
                title = f"{step.scorer} {step.name}"
                policies = {name: self.program.metrics[name].outside for name in step.metrics}
                treated = {name: policy for name, policy in policies.items() if policy != "refuse"}
                source = [update["judgement"], treated] if treated else update["judgement"]
                update["fingerprint"] = self._value(title, source, step.when, step.needs)
            case Compare():
                update["judgement"] = self._judgement(step.scorer, step.args, (), step.needs)
                update["fingerprint"] = self._value(step.name, update["judgement"], step.when, step.needs)
            case Score():
                source = [_plain(step.value), self.outside(step.value)]
                update["fingerprint"] = self._value(step.name, source, step.when, step.needs)
            case Column():
                source = ["column", _plain(step.value), self.outside(step.value)]
                update["fingerprint"] = self._value(step.name, source, step.when, step.needs)
        finished = step.model_copy(update=update)
        self.done[step.name] = finished
        return finished

    def _needed(self, needs: Iterable[str]) -> list[str]:
        return [self.done[name].fingerprint for name in sorted(needs)]

    def _ask(self, ask: Ask) -> str:
        """Of a reply: its texts with the labels they print, its type and settings, and what it builds on."""
        exprs = [*([ask.chat] if ask.chat is not None else []), *texts_exprs(ask.system), *texts_exprs(ask.prompt)]
        more = [
            [self._shots(shots) for shots in ask.shots],
            _plain(ask.chat),
            ask.continues,
            [self.outside(expr) for expr in exprs],
        ]
        return digest([ask_print(self.place, ask, {}, self.program.axes), self._needed(ask.needs), more])

    def _shots(self, shots: Shots) -> object:
        found = self.program.datasets.get(shots.dataset) or self.program.made.get(shots.dataset)
        keys = [] if found is None or found.key is None or self.key is None else [_plain(found.key), _plain(self.key)]
        return [
            *keys,  # rows of one key are no shots for each other
            shots.count,
            shots.alias,
            None if shots.where is None else [_plain(shots.where), self.outside(shots.where)],
            [self.outside(expr) for each in (shots.prompt, shots.reply) for expr in texts_exprs(each)],
            _texts(shots.prompt),
            _texts(shots.reply),
            _labels([shots.prompt, shots.reply], [], self.program.axes),
            self._data(shots.dataset),
        ]

    def _converse(self, talk: Converse) -> str:
        texts = [speaker.system for speaker in talk.speakers if speaker.system is not None]
        return digest(
            [
                self.place,
                [[s.role, _texts(s.system) if s.system else None, _plain(s.settings)] for s in talk.speakers],
                _labels(texts, [], self.program.axes),
                [talk.opens, OPENINGS],
                [_plain(until) for until in talk.until],
                talk.limit,
                [self.outside(expr) for each in texts for expr in texts_exprs(each)],
                self._needed(talk.needs),
            ]
        )

    def _retrieve(self, step: Retrieve) -> str:
        exprs = [step.source, step.by, *step.include, *([step.where] if step.where is not None else [])]
        return digest(
            [
                self.place,
                step.alias,
                step.top,
                step.using,
                _plain(step.where),
                [_plain(expr) for expr in exprs],
                [self.outside(expr) for expr in exprs],
                self._needed(step.needs),
                *versions.raised("retrieve", versions.RETRIEVING),
            ]
        )

    def _judgement(self, scorer: str, args: Mapping[str, Expr], metrics: Sequence[str], needs: Sequence[str]) -> str:
        """Of a judge's reply: the scorer's texts, the rubric, what it is given, and what that builds on."""
        declared: Scorer = self.program.scorers[scorer]
        texts = [each for each in (declared.system, declared.prompt) if each is not None]
        rubric: list[Metric] = [self.program.metrics[name] for name in metrics]
        return digest(
            [
                self.place,
                [_texts(each) for each in texts],
                _labels(texts, [], self.program.axes),
                _plain(declared.gives),
                declared.reward,
                _plain(declared.settings),
                {name: _plain(expr) for name, expr in args.items()},
                [self.outside(expr) for expr in args.values()],
                [self.outside(expr) for each in texts for expr in texts_exprs(each)],
                [metric.model_dump(mode="json", exclude={"dimension", "outside"}) for metric in rubric],
                self._needed(needs),
            ]
        )

    def _value(self, name: str, source: object, when: Expr | None, needs: Iterable[str]) -> str:
        """Of scores: their name, what they are taken from, and when and how often what they need is asked."""
        upstream = [
            [
                self.done[each].fingerprint,
                self._condition(self.done[each].when),
                getattr(self.done[each], "samples", 1),
            ]
            for each in sorted(needs)
        ]
        return digest([self.place, name, source, self._condition(when), upstream])

    def _condition(self, when: Expr | None) -> object:
        return None if when is None else [_plain(when), self.outside(when)]

    def outside(self, expr: Expr) -> list[object]:
        """What an expression takes from outside the row: data sets, trees, functions of the user's, and versions of
        the library's."""
        found: list[object] = []
        for part in parts_of(expr):
            if isinstance(part, Data):
                found.append(self._data(part.dataset))
            elif isinstance(part, TreeValue) and part.tree in self.program.trees:
                found.append(self.program.trees[part.tree].sha256)
            elif isinstance(part, Call) and part.function in self.program.plugins:
                plugin = self.program.plugins[part.function]
                found.append([plugin.function, plugin.version, _plain(plugin.returns)])
            elif isinstance(part, Call):
                found += versions.raised(part.function, versions.version_of(part.function))
        return found

    def _data(self, name: str) -> object:
        """What determines the rows of a data set."""
        if name in self.program.made:
            return self.program.made[name].fingerprint
        if name not in self.program.datasets:
            return name
        dataset = self.program.datasets[name]
        return [[file.sha256 for file in dataset.files], [_plain(field) for field in dataset.fields]]


def ask_print(place: Sequence[str], ask: Ask, asks: Mapping[str, Ask], axes: Mapping[str, Axis]) -> str:
    """Of a question: its texts with the labels they print, its type and settings, and those of `asks` it needs."""
    texts = [each for each in (ask.system, ask.prompt) if each is not None]
    types = [ask.returns] if ask.returns is not None else []
    return digest(
        [
            place,
            ask.role,
            [_texts(each) for each in texts],
            _labels(texts, types, axes),
            _plain(ask.returns),
            _plain(ask.settings),
            [asks[name].fingerprint for name in sorted(ask.needs) if name in asks],
        ]
    )


def holes_of(texts: Texts | None) -> Iterator[Hole]:
    """Every hole of texts, in all languages."""
    for template in (texts or {}).values():
        for part in template.parts:
            for inner in getattr(part, "parts", (part,)):
                if isinstance(inner, Hole):
                    yield inner


def texts_exprs(texts: Texts | None) -> list[Expr]:
    """The expressions in the holes of texts, and the conditions of their passages."""
    passages = [part for template in (texts or {}).values() for part in template.parts if isinstance(part, Passage)]
    return [*(hole.expr for hole in holes_of(texts)), *(each.when for each in passages if each.when is not None)]


def _labels(texts: Sequence[Texts], types: Sequence[Type], axes: Mapping[str, Axis]) -> object:
    """The labels of every axis whose values are printed, or offered as a choice."""
    printed = [hole.type for localised in texts for hole in holes_of(localised)]
    used = {name for type_ in (*printed, *types) for name in _axes_in(type_)}
    return [[value.labels for value in axes[name].values] for name in sorted(used) if name in axes]


def _axes_in(type_: Type) -> set[str]:
    match type_.kind:
        case "choice":
            return {type_.axis} if type_.axis is not None else set()
        case "list" | "set" | "optional":
            return _axes_in(type_.of)
        case "record":
            return {name for of in type_.fields.values() for name in _axes_in(of)}
    return set()


def _texts(texts: Texts) -> object:
    return {language: _plain(template) for language, template in texts.items()}


def _plain(part: BaseModel | None) -> Any:
    return None if part is None else part.model_dump(mode="json")
