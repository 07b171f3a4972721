"""Fingerprints: a hash of everything that determines the output of a step, and of nothing else.

Everything that changes a reply or a score must be part of a fingerprint. A change of anything else costs no new call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tripos_compiler.language.references import expressions_of, names_in, paths_in, printed_axes, row_identity
from tripos_compiler.language.rendering import OPENINGS
from tripos_compiler.library.registry import READER_VERSION, RETRIEVAL_VERSION, version_fingerprint, version_of
from tripos_compiler.plan import (
    EXPRESSIONS,
    Ask,
    Branches as TreeValue,
    Call,
    ChoiceType,
    Column,
    Compare,
    Converse,
    Data,
    DeclaredSettings,
    Expr,
    Grade,
    JudgedStep,
    Part,
    Retrieve,
    SampleList,
    Score,
    Scorer,
    Shots,
    Step,
    Verdict,
    digest,
    serialized_form,
    serialized_parts,
)
from tripos_compiler.plan.steps import fields_with
from tripos_compiler.resolve.program import Program


class StepFingerprints:
    """The fingerprints of the steps of one treatment, each including those of the steps it depends on.

    `key` is the key of the rows. `kind` is the kind of declaration that `scenario` names.
    """

    def __init__(
        self,
        program: Program,
        scenario: str,
        key: Expr | None = None,
        kind: str = "scenario",
        draws: dict[str, list[str]] | None = None,
    ) -> None:
        self.program = program
        self.draws = {} if draws is None else draws
        """The steps with random replies, by the content they send. Shared by the treatments of a scenario, because a
        step is one draw in every arm.
        """
        self.key = key
        self.place = (program.home(kind, scenario), scenario)
        self.done: dict[str, Any] = {}

    def of(self, step: Step) -> Step:
        """Return the step with its fingerprint. The steps it depends on must have been passed before."""
        update: dict[str, Any] = {}
        match step:
            case Ask():
                drawn = [] if step.options is not None else [step.settings]
                update |= self._drawn(self._ask(step), step.name, *drawn)
            case Converse():
                settingses = [speaker.settings for speaker in step.speakers]
                update |= self._drawn(self._converse(step), step.name, *settingses)
            case Retrieve():
                update["fingerprint"] = self._retrieve(step)
            case SampleList():
                listed = self.done[step.of]
                made_of = ["samples", listed.fingerprint, listed.samples]
                update["fingerprint"] = self._value(step.name, made_of, listed.when, step.needs)
            case Verdict():
                update["judgement"] = self._judgement(step)
                source = self._with_judge_settings(step.scorer, update["judgement"])
                if step.loops:
                    source = [source, [[_json_part(loop), self.outside(loop.where)] for loop in step.loops]]
                update["fingerprint"] = self._value(step.name, source, step.when, step.needs, step.earlier)
            case Grade():
                update["judgement"] = self._judgement(step)
                title = f"{step.scorer} {step.name}"
                policies = {name: self.program.metrics[name].outside for name in step.metrics}
                treated = {name: policy for name, policy in policies.items() if policy != "refuse"}
                source = [update["judgement"], treated] if treated else update["judgement"]
                source = self._with_reader_version(step, self._with_judge_settings(step.scorer, source))
                update["fingerprint"] = self._value(title, source, step.when, step.needs, step.earlier)
            case Compare():
                update["judgement"] = self._judgement(step)
                source = self._with_reader_version(step, self._with_judge_settings(step.scorer, update["judgement"]))
                update["fingerprint"] = self._value(step.name, source, step.when, step.needs, step.earlier)
            case Score():
                source = self._with_reader_version(step, self._with_voting_rule(step, self._content_of(step)))
                update["fingerprint"] = self._value(step.name, source, step.when, step.needs, step.earlier)
            case Column():
                source = self._with_reader_version(
                    step, self._with_voting_rule(step, ["column", self._content_of(step)])
                )
                update["fingerprint"] = self._value(step.name, source, step.when, step.needs)
        if "condition" in type(step).model_fields:
            update["condition"] = self._condition_digest(step)
        finished = step.model_copy(update=update)
        self.done[step.name] = finished
        return finished

    def _drawn(self, content: str, name: str, *settings: DeclaredSettings) -> dict[str, Any]:
        """Return the fingerprint and the number of the draw of a reply to `content`.

        Steps that send the same with random replies are numbered by position, not by name, so that they can be renamed.
        A judge's verdict is not numbered: the same question to a judge has one verdict, whatever scores use it.
        """
        if not any(setting.drawn for setting in settings):
            return {"fingerprint": content, "draw": 0}
        steps = self.draws.setdefault(content, [])
        if name not in steps:
            steps.append(name)
        draw = steps.index(name)
        return {"fingerprint": digest([content, "draw", draw]) if draw else content, "draw": draw}

    def _with_judge_settings(self, scorer: str, source: object) -> object:
        """Return `source` with the settings of a judge that change its scores: its samples, escalation, weighting and
        values.
        """
        judge: Scorer = self.program.scorers[scorer]
        more: dict[str, object] = {"samples": judge.samples} if judge.samples > 1 else {}
        more |= {"unsure_below": judge.unsure_below} if judge.then is not None else {}
        more |= {"weighted": True} if judge.weighted else {}
        more |= {"worth": judge.gives.worth} if isinstance(judge.gives, ChoiceType) and judge.gives.worth else {}
        return [source, more] if more else source

    def _with_voting_rule(self, step: Score | Column, source: object) -> object:
        """Return `source` with the rule for divided panels, if a score has a condition on a panel's choice."""
        used = [self.done[name] for name in sorted(names_in(step.value)) if name in self.done]
        scorers = (self.program.scorers[step.scorer] for step in used if isinstance(step, Verdict))
        chosen = any(isinstance(scorer.gives, ChoiceType) and self._is_panel(scorer.role) for scorer in scorers)
        return [source, {"divided panels": "vote"}] if chosen else source

    def _is_panel(self, role: str) -> bool:
        return role in self.program.roles and self.program.roles[role].kind == "panel"

    def _with_reader_version(self, step: Score | Column | Grade | Compare, source: object) -> object:
        """Return `source` with the version of the reply reader, if the step reads replies.

        No other step depends on these, so a new version causes no new calls.
        """
        looks = isinstance(step, JudgedStep) or any(self._is_reply(path) for path in _paths(step))
        raised = version_fingerprint("reader", READER_VERSION) if looks else []
        return [source, raised] if raised else source

    def _is_reply(self, path: tuple[str, ...]) -> bool:
        """Return true if a path leads to a model's output: to anything of a step except its prompt."""
        return path[0] in self.done and not (isinstance(self.done[path[0]], Ask) and path[1:2] == ("prompt",))

    def _needed(self, needs: Iterable[str]) -> list[str]:
        return [self.done[name].fingerprint for name in sorted(needs)]

    def _ask(self, ask: Ask) -> str:
        """Return the fingerprint of a reply: texts with their labels, type, settings, and dependencies."""
        shots = [self._shots(shot) for shot in ask.shots]
        return digest([self.place, self._content_of(ask), shots, self._needed(ask.needs)])

    def _shots(self, shots: Shots) -> object:
        dataset = self.program.datasets.get(shots.dataset) or self.program.generated.get(shots.dataset)
        keys = (
            []
            if dataset is None or dataset.key is None or self.key is None
            else [_json_part(dataset.key), _json_part(self.key)]
        )
        # Rows with the same key are no shots for each other.
        return [*keys, self._content_of(shots), self._data(shots.dataset)]

    def _converse(self, talk: Converse) -> str:
        return digest([self.place, self._content_of(talk), OPENINGS, self._needed(talk.needs)])

    def _retrieve(self, step: Retrieve) -> str:
        raised = version_fingerprint("retrieve", RETRIEVAL_VERSION)
        return digest([self.place, self._content_of(step), self._needed(step.needs), *raised])

    def _judgement(self, step: JudgedStep) -> str:
        """Return the fingerprint of a judge's reply: the scorer's texts, the rubric, its inputs, and their
        dependencies.
        """
        judge: Scorer = self.program.scorers[step.scorer]
        rubric = [self.program.metrics[name] for name in step.metrics] if isinstance(step, Grade) else []
        if isinstance(judge.gives, ChoiceType):  # the judge gives the name, whatever its value
            judge = judge.model_copy(update={"gives": judge.gives.model_copy(update={"worth": ()})})
        own = [self._content_of(part) for part in (judge, _about_elements(step), *rubric)]
        return digest([self.place, own, self._needed(step.judged)])

    def _value(
        self,
        name: str,
        source: object,
        when: Expr | None,
        needs: Iterable[str],
        earlier: Sequence[Expr] | None = None,
    ) -> str:
        """Return the fingerprint of scores: name, source, condition, when and how often their inputs are asked, and the
        conditions of earlier scores of the same name.
        """
        upstream = [
            [
                self.done[need].fingerprint,
                self._condition(self.done[need].when),
                getattr(self.done[need], "samples", 1),
            ]
            for need in sorted(needs)
        ]
        others = [] if earlier is None else [[self._condition(expr) for expr in earlier]]
        return digest([self.place, name, source, self._condition(when), upstream, *others])

    def _condition(self, when: Expr | None) -> object:
        return None if when is None else [_json_part(when), self.outside(when)]

    def _condition_digest(self, step: Step) -> str:
        """Return a digest of all conditions that decide whether a step is asked; empty without any."""
        deciding = [self._deciding(needed) for needed in (*(self.done[name] for name in sorted(step.needs)), step)]
        return digest(deciding) if any(deciding) else ""

    def _deciding(self, step: Step) -> list[object]:
        """Return the conditions of a step that decide which of its replies are requested."""
        parts: list[object] = [] if step.when is None else [self._condition(step.when)]
        if isinstance(step, JudgedStep) and step.earlier:
            parts.append([self._condition(expr) for expr in step.earlier])
        if isinstance(step, Verdict):
            cut = (loop for loop in step.loops if loop.where is not None or loop.most is not None)
            parts += [[loop.alias, _json_part(loop.where), self.outside(loop.where), loop.most] for loop in cut]
        if isinstance(step, JudgedStep) and (judge := self.program.scorers[step.scorer]).then is not None:
            parts.append([judge.then, judge.unsure_below])
        return parts

    def _content_of(self, part: Part) -> object:
        """Return the content of a part: every field that counts and is not its default, the labels it prints or offers,
        and what its expressions read from outside.
        """
        counted, axes = fields_with(type(part), "content", "draw"), self.program.axes
        labels = [[value.labels for value in axes[name].values] for name in sorted(printed_axes(part)) if name in axes]
        inputs = [self.outside(expr) for expr in expressions_of(tuple(getattr(part, name) for name in counted))]
        return [part.model_dump(mode="json", include=set(counted)), labels, inputs]

    def outside(self, expr: Expr | None) -> list[object]:
        """Return what an expression reads from outside the row: data sets, trees, user's functions, and versions of
        library functions.
        """
        versions: list[object] = []
        for part in () if expr is None else serialized_parts(expr):
            if isinstance(part, Data):
                versions.append(self._data(part.dataset))
            elif isinstance(part, TreeValue) and part.tree in self.program.trees:
                versions.append(self.program.trees[part.tree].sha256)
            elif isinstance(part, Call) and part.function in self.program.plugins:
                plugin = self.program.plugins[part.function]
                versions.append([plugin.function, plugin.version, _json_part(plugin.returns)])
            elif isinstance(part, Call):
                versions += version_fingerprint(part.function, version_of(part.function))
        return versions

    def _data(self, name: str) -> object:
        """Return what determines the rows of a data set."""
        if name in self.program.generated:
            return self.program.generated[name].fingerprint
        if name not in self.program.datasets:
            return name
        return row_identity(self.program.datasets[name])


def _paths(step: Score | Column) -> Iterator[tuple[str, ...]]:
    """Yield the paths that a step reads, including those in its conditions."""
    for expr in expressions_of(step):
        yield from paths_in(expr)


def _about_elements(step: JudgedStep) -> JudgedStep:
    """Return a step without the conditions of its loops, because the verdict on an element is independent of other
    elements.
    """
    if not isinstance(step, Verdict) or not step.loops:
        return step
    loops = tuple(loop.model_copy(update={"where": None, "most": None}) for loop in step.loops)
    return step.model_copy(update={"loops": loops})


def _json_part(part: Part | None) -> Any:
    if isinstance(part, EXPRESSIONS):
        part = serialized_form(part)
    return None if part is None else part.model_dump(mode="json")
