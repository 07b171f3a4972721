"""Trial replies: what the scores of a scenario give to replies that answer nothing, and to the answers themselves.

A score is tried where it depends on one reply of a model and on the row alone. A constant reply that is right for most
rows shows that a figure can be had without looking at a question; a row that no trial reply gets right, where the
others have one, has a wrong key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tripos_compiler.language import Fault, Unavailable, evaluate, names_in, paths_in, subexpressions
from tripos_compiler.language.library import arguments_of
from tripos_compiler.plan import Ask, Binary, Call, Expr, Scenario, Score, Treatment, Type, written
from tripos_compiler.resolve import Program
from tripos_compiler.source import Span, dataclass
from tripos_compiler.statements.scenarios.contexts import ScenarioCases
from tripos_compiler.statements.steps import Steps

FEWEST = 5
"""With fewer rows a constant that is always right says little."""
TRIED = 24
"""So many rows are tried, spread over all; a constant that wins there is tried on all."""
WINS = 0.8
"""The share of rows for which a constant reply is right from which it is warned of."""
MOST_RIGHT = 0.8
"""The share of rows that a trial reply must get right before a row without one is warned of."""
CONSTANTS = ("", "A", "B", "C", "D", "E", "F", "A B C D E F", "yes", "no", "true", "false", "0", "1", "2")
COMPARING = frozenset({"same_number", "exact"})
"""Functions that say whether two values are the same answer."""


@dataclass(frozen=True)
class Trial:
    """A reply to every row: the same `value`, or what `of` makes of the row. One that `wins` answers nothing, and is
    warned of where it is right."""

    name: str
    wins: bool
    value: Any = None
    of: Callable[[Mapping[str, Any]], Any] | None = None


def check_replies(
    program: Program, scenario: Scenario, cases: ScenarioCases, steps: Steps, shown: frozenset[str]
) -> None:
    """Warn of constant replies that win, and of rows that no reply gets right. What several arms score under one name
    is tried together: a reply that is right in one of two arms only does not win."""
    assert cases.kept is not None and cases.alias is not None
    named: dict[str, dict[str, _Scored | None]] = {}
    for treatment in scenario.treatments:
        for step in treatment.steps:
            if not isinstance(step, Score) or not step.truth or step.element is not None:
                continue
            if step.fingerprint not in named.setdefault(step.name, {}):
                named[step.name][step.fingerprint] = _Scored.of(program, treatment, step, cases)
    for name, found in named.items():
        tried = [each for each in found.values() if each is not None]
        if tried and len(tried) == len(found):
            _Tried(program, tuple(tried), cases.kept, shown).report(steps.scores[name][0].span)


@dataclass(frozen=True)
class _Tried:
    """The scores of one name, one for each arm in which it is another one, over the same rows."""

    program: Program
    scored: tuple[_Scored, ...]
    rows: Sequence[Mapping[str, Any]]
    shown: frozenset[str]

    def report(self, where: Span) -> None:
        """Warn of what the trials show."""
        name = self.scored[0].score.name
        trials = list({trial.name: trial for each in self.scored for trial in each.trials(self.shown)}.values())
        trials.sort(key=lambda trial: trial.wins)  # the answers first: of most rows they are right
        every = max(1, len(self.rows) // TRIED)
        sample = self.rows[::every][:TRIED]
        lost = self._without_tool()
        if not lost and len(self.rows) >= FEWEST:
            lost = self._try_all(name, trials, sample, where)
        if lost:
            more = f", nor of {len(lost) - 1} more" if len(lost) > 1 else ""
            message = f"no reply gets `{name}` of row {lost[0]} of this scenario{more}"
            help_ = "mend the key of the row: its own answer is not counted as right"
            self.program.diagnostics.warning("W1002", message, where, help=help_)

    def _try_all(
        self, name: str, trials: Sequence[Trial], sample: Sequence[Mapping[str, Any]], where: Span
    ) -> list[int]:
        """Warn of a constant that wins; return the numbers of rows that no reply gets right."""
        # What looks at no row is a rule of form, such as a length, which an empty reply may keep.
        about_row = any(self.scored[0].alias in names_in(each.score.value) for each in self.scored)
        winning = (trial for trial in trials if about_row and trial.wins and self._share(trial, sample) >= WINS)
        winner = next(winning, None)
        share = self._share(winner, self.rows) if winner is not None else 0.0
        if winner is not None and share >= WINS:
            message = f"{winner.name} to every row gets {share:.2f} on `{name}`"
            help_ = "balance the answers, or tighten the score; compare the models with a baseline"
            self.program.diagnostics.warning("W1001", message, where, help=help_)
        return self._without_answer(trials, sample)

    def _without_tool(self) -> list[int]:
        """Return the numbers of rows of which a call is right whose tool is not there."""
        pairs = [pair for each in self.scored for pair in each.allowed_calls()]
        if not pairs:
            return []
        numbered = enumerate(self.rows, 1)
        return [number for number, names in numbered if any(_lacks_tool(*pair, names) for pair in pairs)]

    def _share(self, trial: Trial, rows: Sequence[Mapping[str, Any]]) -> float:
        """For which share of the rows a reply is right; 0 where it cannot win any more, or where the score applies to
        too few rows to tell."""
        most = len(rows) * len(self.scored)
        right = wrong = 0
        for names in rows:
            for each in self.scored:
                found = each.right(trial, names)
                right, wrong = right + (found is True), wrong + (found is False)
            if most - wrong < WINS * most:
                return 0.0
        return right / (right + wrong) if right + wrong >= FEWEST else 0.0

    def _without_answer(self, trials: Sequence[Trial], sample: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the numbers of rows that no reply gets right, where nearly all others have one. Of calls of tools no
        answer is tried."""
        if any(each.ask.calls_tools for each in self.scored):
            return []
        keys = [pair for each in self.scored for pair in each.option_keys()]
        if keys:
            named = enumerate(self.rows, 1)
            return [number for number, names in named if any(_no_option(options, key, names) for options, key in keys)]
        found = [lacks for names in sample if (lacks := self._lacks(trials, names)) is not None]
        if not any(found) or len(found) < FEWEST or len(found) - sum(found) < MOST_RIGHT * len(found):
            return []
        return [number for number, names in enumerate(self.rows, 1) if self._lacks(trials, names)]

    def _lacks(self, trials: Sequence[Trial], names: Mapping[str, Any]) -> bool | None:
        """Return true if some arm gives a row to no reply; None where the score does not apply to it."""
        applies = False
        for each in self.scored:
            outcomes: set[bool | None] = set()
            for trial in trials:
                outcomes.add(each.right(trial, names))
                if True in outcomes:
                    break
            if True not in outcomes and False in outcomes:
                return True
            applies = applies or True in outcomes
        return False if applies else None


@dataclass(frozen=True)
class _Scored:
    """A score of one ask's reply to a row."""

    score: Score
    ask: Ask
    alias: str
    rows: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, program: Program, treatment: Treatment, score: Score, cases: ScenarioCases) -> _Scored | None:
        """None where the score depends on more than one reply and the row."""
        assert cases.kept is not None and cases.alias is not None
        exprs = [score.value, *([score.when] if score.when is not None else []), *(score.earlier or ())]
        names = {name for expr in exprs for name in names_in(expr)}
        for part in (part for expr in exprs for part in subexpressions(expr)):
            if part.op in ("data", "tree") or (isinstance(part, Call) and part.function in program.plugins):
                return None
        own = {cases.alias, *(axis.name for axis in cases.axes)}
        asks = [step for step in treatment.steps if step.name in names - own]
        if len(asks) != 1 or not isinstance(asks[0], Ask) or not names <= own | {asks[0].name}:
            return None
        if any(path[:2] == (asks[0].name, "prompt") for expr in exprs for path in paths_in(expr)):
            return None
        return cls(score, asks[0], cases.alias, cases.kept)

    def option_keys(self) -> Iterator[tuple[Expr, Expr]]:
        """Yield the options of a question and the letter that is right, where the score compares a chosen option with
        it."""
        for said, key in self._compared():
            if isinstance(said, Call) and said.function == "chosen_option":
                yield said.args[-1], key

    def allowed_calls(self) -> Iterator[tuple[Expr, Expr]]:
        """Yield the tools of a row and the calls that are right, where the score matches calls with them."""
        for part in subexpressions(self.score.value):
            if isinstance(part, Call) and part.function == "calls_match":
                given = arguments_of(part)
                yield given["tools"], given["allowed"]

    def _compared(self) -> Iterator[tuple[Expr, Expr]]:
        """Yield what the score compares: what is taken of the reply, and what the row wants."""
        match self.score.value:
            case Binary(operator="==", left=left, right=right):
                sides = (left, right)
            case Call(function=function, args=(left, right)) if function in COMPARING:
                sides = (left, right)
            case _:
                return
        for said, key in (sides, sides[::-1]):
            if self.ask.name in names_in(said) and self.ask.name not in names_in(key):
                yield said, key

    def right(self, trial: Trial, names: Mapping[str, Any]) -> bool | None:
        """Return true if the score is true of a trial reply, which may be of another type; None where it does not
        apply."""
        try:
            value = trial.value if trial.of is None else trial.of(names)
            known = {**names, self.ask.name: self._reply(value)}
            if self.score.when is not None and not evaluate(self.score.when, known):
                return None
            if any(evaluate(each, known) for each in self.score.earlier or ()):
                return None
            return bool(evaluate(self.score.value, known))
        except (
            Unavailable,
            Fault,
            LookupError,
            AttributeError,
            TypeError,
            ValueError,
        ):
            return False

    def _reply(self, value: Any) -> dict[str, Any]:
        returns = self.ask.returns
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        said = {"text": text, "thinking": None, "raw": text, "prompt": ""}
        if returns is None:
            return said
        if returns.kind == "record":
            return {**said, **dict.fromkeys(returns.fields, value)}
        return {**said, "value": value}

    def trials(self, shown: frozenset[str]) -> Iterator[Trial]:
        """Yield the replies to try: constants, the answers that most rows want, the answer of each row, its
        question."""
        type_ = self._type()
        plain = type_ is None or type_.kind == "text"
        values: list[Any] = list(CONSTANTS) if type_ is None or plain else list(_values(type_))
        wanted: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            written(key).model_dump_json(): partial(_value, key) for _, key in self._compared()
        }
        fields = sorted(path[1] for path in paths_in(self.score.value) if path[0] == self.alias and len(path) > 1)
        wanted |= {field: partial(_field, self.alias, field) for field in fields}
        for each in wanted.values():
            given = [value for names in self.rows[:TRIED] if isinstance(value := each(names), str | int | float)]
            values += [
                value for value, _ in Counter(given).most_common(2) if value not in values and _fits(value, type_)
            ]
        for value in values:
            yield Trial("an empty reply" if value in ("", []) else f"the reply `{_printed(value)}`", True, value)
        for name, each in wanted.items():
            yield Trial(name, False, of=each)
        if plain and shown - {"*"}:
            yield Trial("the question itself as the reply", True, of=partial(_question, self.alias, sorted(shown)))

    def _type(self) -> Type | None:
        """Return what the score takes of the reply; None for its text."""
        returns = self.ask.returns
        if returns is None:
            return None
        if returns.kind != "record":
            return returns
        used = [path[1] for path in paths_in(self.score.value) if path[0] == self.ask.name and len(path) > 1]
        return returns.fields.get(used[0]) if used else None


def _value(expr: Expr, names: Mapping[str, Any]) -> Any:
    try:
        return evaluate(expr, names)
    except (Unavailable, Fault, LookupError, AttributeError, TypeError, ValueError):
        return None


def _lacks_tool(tools: Expr, allowed: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if a call is right whose tool is not among those of the row."""
    there = {each["name"] for each in _value(tools, names) or ()}
    return any(name not in there for each in _value(allowed, names) or () for name in each)


def _field(alias: str, field: str, names: Mapping[str, Any]) -> Any:
    return names[alias].get(field)


def _question(alias: str, shown: Sequence[str], names: Mapping[str, Any]) -> str:
    row = names[alias]
    return "\n".join(str(row[field]) for field in shown if field in row)


def _values(type_: Type) -> Iterator[Any]:
    match type_.kind:
        case "choice":
            yield from type_.values
        case "bool":
            yield from (True, False)
        case "integer":
            low = type_.low if type_.low is not None else 0
            yield from range(low, min(low + 10, (type_.high if type_.high is not None else low + 2) + 1))
        case "number":
            yield from (0, 1, 2)
        case "optional":
            yield from _values(type_.of)
        case "list" | "set":
            every = list(_values(type_.of))
            yield []
            yield every
            yield from ([each] for each in every)


def _fits(value: Any, type_: Type | None) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {"text": str, "integer": int, "number": (int, float), "bool": bool}
    return type_ is None or (type_.kind in kinds and isinstance(value, kinds[type_.kind]))


def _printed(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 30 else text[:29] + "…"


def _no_option(options: Expr, key: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if the letter that is right names none of the options."""
    try:
        count, letter = len(evaluate(options, names)), evaluate(key, names)
    except (Unavailable, Fault, LookupError, TypeError):
        return False
    return letter is None or str(letter).strip().upper() not in {chr(ord("A") + place) for place in range(count)}
