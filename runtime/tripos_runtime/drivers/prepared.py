"""A prepared run: models for the roles, cases, budget, functions and lock, all determined before the first call.

`baseline/majority` always gives the answer to a question that is right most often in the data set. `baseline/constant`
gives each of the most frequent right answers, as a model of its own, so that the best constant answer for every measure
is among the models. Since a model must not see the gold answers, these two names are replaced by constants before the
run starts. The right answers are those that scores and measures compare replies with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import names_in
from tripos_compiler.library.calls import choose
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import (
    Aggregate,
    Ask,
    Binary,
    Call,
    ChoiceType,
    Column,
    Expr,
    Formula,
    Literal_,
    Plan,
    Scenario,
    Score,
    Settings,
    Treatment,
    Type,
    lit,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.functions.calling import LoadedPlugin
from tripos_runtime.asking.functions.plugins import load_plugins
from tripos_runtime.asking.functions.settings import NO_PROGRAMS, AllowedPrograms
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection, check_approved
from tripos_runtime.models.base import Model
from tripos_runtime.models.baselines import ANSWERS, CONSTANT, MAJORITY
from tripos_runtime.program.binding import (
    BindingError,
    RoleBinding,
    TakesMedium,
    check_embedding,
    check_media,
    embedding_roles,
    ignored_settings,
    role_uses,
    self_judging,
    unknown_media,
)
from tripos_runtime.scheduling.budget import Budget, check_bounds, check_prices
from tripos_runtime.scheduling.limits import Limits

EXACT = 1e15
"""The limit below which an integer is written with all its digits."""
LONGEST = 40
"""The largest number of characters of a constant answer."""
MOST_ANSWERS = 12
"""The largest number of right answers to a question that become constants for `baseline/constant`, besides the median
of numbers."""


def with_constant_baselines(binding: RoleBinding, plan: Plan, source: CaseSource, selection: Selection) -> RoleBinding:
    """Return the binding with constants in place of `baseline/majority` and `baseline/constant`, if these are among the
    compared models.

    Raises `BindingError` R0236 if the plan does not determine which answers are right."""
    models = binding.of(binding.compared)
    if MAJORITY not in models and ANSWERS not in models:
        return binding
    answer_counts = list(_right_answers(plan, source, selection))
    constants = {
        MAJORITY: [answer for counts in answer_counts for answer in _most_frequent(counts)],
        ANSWERS: [answer for counts in answer_counts for answer in _candidates(counts)],
    }
    compared: list[str] = []
    for model in models:
        if model not in constants:
            compared.append(model)
        elif constants[model]:
            compared += [CONSTANT + answer for answer in constants[model]]
        else:
            message = f"`{model}` has no answer: no score compares a reply with a field"
            raise BindingError("R0236", message, f"give a constant of your own: `{CONSTANT}TEXT`")
    return replace(binding, models={**binding.models, binding.compared: tuple(dict.fromkeys(compared))})


def _right_answers(plan: Plan, source: CaseSource, selection: Selection) -> Iterator[Counter[str]]:
    """Yield, for each question of the selected scenarios, how often each answer is right in the whole data set."""
    for scenario in selection.chosen(plan):
        golds = [(treatment, gold) for treatment in scenario.treatments for gold in _golds(plan, scenario, treatment)]
        if not golds:
            continue
        counts: dict[int, Counter[str]] = {}
        questions = {id(gold): number for number, gold in _numbered(scenario, golds)}
        for case in source.of(scenario, Selection()):
            for _, gold in golds:
                answer = _answer(gold, case.names)
                if answer is not None:
                    counts.setdefault(questions[id(gold)], Counter())[answer] += 1
        yield from counts.values()


def _most_frequent(counts: Counter[str]) -> Iterator[str]:
    """Yield the answer that is right most often; all of them if there is a tie. If every answer is right only once,
    yield none."""
    most = max(counts.values())
    if most > 1:
        yield from (answer for answer, count in counts.items() if count == most)


def _candidates(counts: Counter[str]) -> Iterator[str]:
    """Yield the most frequent right answers, and the median of numbers, which minimises the mean absolute error.

    >>> list(dict.fromkeys(_candidates(Counter({"1": 1, "2": 3, "10": 2, "30": 1}))))
    ['2', '10', '1', '30']
    >>> list(_candidates(Counter(str(each) for each in range(101))))[-1]
    '50'
    """
    yield from (answer for answer, _ in counts.most_common(MOST_ANSWERS))
    try:
        numbers = sorted(counts.elements(), key=float)
    except ValueError:
        return
    yield numbers[(len(numbers) - 1) // 2]


def _numbered(scenario: Scenario, golds: list[tuple[Treatment, Expr]]) -> Iterator[tuple[int, Expr]]:
    """Yield the gold expressions with their position within the treatment. The same question in several arms has the
    same position."""
    for treatment in scenario.treatments:
        yield from enumerate(gold for other, gold in golds if other is treatment)


def _golds(plan: Plan, scenario: Scenario, treatment: Treatment) -> list[Expr]:
    """Return the expressions that replies are compared with in a treatment and that depend only on the row."""
    asks = {step.name for step in treatment.steps if isinstance(step, Ask)}
    called = {step.name for step in treatment.steps if step.step in ("ask", "verdict", "converse", "retrieve")}
    columns = {step.name: step.value for step in treatment.steps if isinstance(step, Column)}
    returns = {step.name: step.returns for step in treatment.steps if isinstance(step, Ask)}
    pairs = [pair for step in treatment.steps if isinstance(step, Score) for pair in _compared(step.value, returns)]
    for aggregate in _aggregates(plan, scenario):
        if len(aggregate.values) == 2 and all(name in columns for name in aggregate.values):
            pairs.append((columns[aggregate.values[0]], columns[aggregate.values[1]]))
    golds: dict[str, Expr] = {}
    for pair in pairs:
        for expr, gold in (pair, pair[::-1]):
            if names_in(expr) & asks and not names_in(gold) & called:
                golds.setdefault(gold.model_dump_json(), gold)
    return list(golds.values())


def _compared(expr: Expr, returns: Mapping[str, Type | None]) -> list[tuple[Expr, Expr]]:
    """Return the pairs of compared expressions. In `(reply == A) == gold` the reply is compared with A if the gold is
    true, and with the other of two answers if it is false."""
    match expr:
        case (
            Binary(operator="==", left=Binary(operator="==") as inner, right=gold)
            | Binary(operator="==", left=gold, right=Binary(operator="==") as inner)
        ) if names_in(inner) & returns.keys():
            sides = ((inner.left, inner.right), (inner.right, inner.left))
            return [
                (reply, choose(gold, answer, lit(_other(answer, returns[name]))))
                for reply, answer in sides
                for name in sorted(names_in(reply) & returns.keys())
            ]
        case Binary(operator="==", left=left, right=right):
            return [(left, right)]
        case Call(function=function, args=(one, other)) if (
            function in FUNCTIONS and FUNCTIONS[function].compares_answers
        ):
            return [(one, other)]
    return []


def _other(answer: Expr, type_: Type | None) -> str | None:
    """Return the other value of a choice between two; None if there are not two."""
    if not isinstance(type_, ChoiceType) or not isinstance(answer, Literal_) or len(type_.values) != 2:
        return None
    rest = [value for value in type_.values if value != answer.value]
    return rest[0] if len(rest) == 1 else None


def _aggregates(plan: Plan, scenario: Scenario) -> Iterator[Aggregate]:
    """Yield the aggregates in the measures of a scenario, nested ones included."""
    waiting: list[object] = [measure.figure for measure in plan.measures if measure.scenario in (None, scenario.name)]
    while waiting:
        figure = waiting.pop()
        match figure:
            case Aggregate():
                yield figure
                waiting.append(figure.of)
            case Formula(values=values):
                waiting += values


def _answer(gold: Expr, names: Mapping[str, Any]) -> str | None:
    """Return the text of a right answer; None if there is none, or if it is no short line."""
    try:
        value = evaluate(gold, names)
    except (Unavailable, LookupError):  # Python functions are not loaded yet
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | int):
        return str(int(value)) if value == int(value) and abs(value) < EXACT else repr(value)
    is_short = isinstance(value, str) and 0 < len(value) <= LONGEST and "\n" not in value
    return value if is_short else None


class HeldLock(Protocol):
    """A lock that fixes the inputs of a run."""

    def check(self, plan: Plan, binding: RoleBinding) -> None:
        """Raise if the plan, its data or its models differ from the lock."""
        ...

    def check_served(self, run_id: str) -> None:
        """Raise if the replies of a finished run came from other models than those of the lock."""
        ...


@dataclass(frozen=True)
class RunInputs:
    """The inputs of a run from outside of the runtime: settings, endpoints, recordings and releases."""

    open_model: Callable[[str, bool], Model]
    """Opens the model of a name. The second argument is true if it embeds texts."""
    refused: Callable[[str, Settings], tuple[str, ...]]
    """Returns the names of the settings that a model ignores."""
    takes: TakesMedium
    """Returns whether a model accepts a kind of medium."""
    limits: Callable[[Mapping[str, Model]], Limits]
    """Returns the limits of calls to these models."""
    plugin_folder: Path
    """The folder of the main spec file, to which the paths of plug-ins are relative."""
    release_folders: Mapping[str, str] = field(default_factory=dict)
    """The folders of the releases that the spec extends, by `NAME-VERSION`."""
    programs: AllowedPrograms = NO_PROGRAMS
    """The programs that may be started."""
    recorded: frozenset[str] = frozenset()
    """The models that answer from a recording or a release, and are not opened by name."""
    batch: bool = False
    """True if models are asked through the batch APIs of their providers, at batch prices."""
    close: Callable[[], None] = lambda: None
    """Closes everything that these inputs have opened."""


@dataclass(frozen=True)
class PreparedRun:
    """A plan with models for its roles, the selected cases, the budget and the lock.

    `functions` and `models` are opened on first use: a forecast needs neither. A prepared run can run only once, since
    the run closes its models."""

    plan: Plan
    source: CaseSource
    selection: Selection
    binding: RoleBinding
    wiring: RunInputs
    budget: Budget | None = None
    lock: HeldLock | None = None

    @cached_property
    def functions(self) -> Mapping[str, LoadedPlugin]:
        """The loaded plug-ins of the plan. Raises `PluginError`."""
        wiring = self.wiring
        return load_plugins(self.plan, wiring.plugin_folder, wiring.release_folders, self.source.trust, wiring.programs)

    @cached_property
    def models(self) -> Mapping[str, Model]:
        """The opened models of all roles. Raises `ModelError`."""
        embedding = {name for role in embedding_roles(self.plan) for name in self.binding.of(role)}
        return {name: self.wiring.open_model(name, name in embedding) for name in self.binding.all_models}

    @cached_property
    def limits(self) -> Limits:
        """The limits of calls to the models. Raises `ModelError`."""
        return self.wiring.limits(self.models)

    def self_judging(self) -> list[str]:
        """Return a text for each judge that would grade its own replies or those of its model family."""
        return self_judging(self.plan, self.binding)

    def ignored_settings(self) -> list[str]:
        """Return a text for each model and the settings that it ignores."""
        return ignored_settings(self.plan, self.binding.models, self.wiring.refused)

    def unknown_media(self) -> list[str]:
        """Return a text for each model and kind of medium for which it is unknown whether the model accepts it."""
        return unknown_media(self.plan, self.binding.models, self.wiring.takes)

    def check_budget(self) -> None:
        """Raise `BudgetError` if the budget is in USD and the price of a model is unknown, or if the budget limits
        usage and the length of a model's replies is unlimited."""
        check_prices(self.models.values(), self.budget)
        uses = role_uses(self.plan, self.selection.chosen(self.plan), self.source.unmade(self.selection))
        check_bounds(
            (
                (use.where, self.models[name], use.settings.widest.max_tokens)
                for use in uses
                if use.work in ("text", "reward")
                for name in self.binding.of(use.role)
            ),
            self.budget,
        )


def prepare_run(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding,
    wiring: RunInputs,
    *,
    budget: Budget | Collection[str] | None = None,
    lock: HeldLock | None = None,
    approved: bool = True,
) -> PreparedRun:
    """Determine everything about a run before its first call. `budget` is a budget, which earlier runs may have spent a
    part of, or its limits as texts such as `5usd`. With `approved`, a plan with an unreviewed draft is refused.

    Raises `NotApproved`, `NoEmbedding`, `BindingError` and `BudgetError`, and the errors of the `lock`."""
    if approved:
        check_approved(plan)
    check_embedding(plan, selection.chosen(plan), binding.models)
    check_media(plan, binding.models, wiring.takes)
    binding = with_constant_baselines(binding, plan, source, selection)
    if budget is not None and not isinstance(budget, Budget):
        budget = Budget.parse(budget) if budget else None
    if lock is not None:
        lock.check(plan, binding)
    return PreparedRun(plan, source, selection, binding, wiring, budget, lock)
