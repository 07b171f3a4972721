"""Checks of the protocol: warnings of mistakes that leave a spec valid but make its figures misleading.

They use the steps of the plan and the rows that the compiler has read; none needs a model.

- Exposed rows: questions that occur, nearly verbatim, in rows that are shown or learned. Rows are compared by their
  texts, not their keys.
- Trial replies: what the scores give to replies that answer nothing, and to the answers themselves. Only scores of one
  reply and the row are tried. A constant reply that is right for most rows shows that the figure can be reached without
  the question; a row for which no trial reply is right, while others have one, has a wrong key.
- Unused declarations, and axes that no prompt mentions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.text_format import shorten
from tripos_compiler.language.evaluation import InternalError, NoValue, Unavailable, evaluate
from tripos_compiler.language.near_duplicates import HeldOutTexts, NearCopies, training_texts
from tripos_compiler.language.references import (
    direct_dependencies,
    names_in,
    paths_in,
    step_expressions,
    subexpressions,
    template_expressions,
    uses,
)
from tripos_compiler.library.calls import arguments_of, call, is_call
from tripos_compiler.library.function import Function
from tripos_compiler.library.functions import lists, multiple_choice, texts as text_functions, tools
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import ArgumentError
from tripos_compiler.lowering.cases import ScenarioCases
from tripos_compiler.lowering.datasets import known_data
from tripos_compiler.lowering.folding import map_expression
from tripos_compiler.lowering.reply_forms import warn_of_form_in_rows
from tripos_compiler.lowering.steps import Steps, list_length
from tripos_compiler.plan import (
    Ask,
    Binary,
    Call,
    Column,
    Converse,
    Data,
    Derived,
    Expr,
    GeneratedDataset,
    Items,
    JudgedStep,
    Literal_,
    Pairing,
    Ref,
    Retrieve,
    Rows,
    Scenario,
    Score,
    Step,
    Template,
    Treatment,
    Type,
    Verdict,
    serialized_form,
)
from tripos_compiler.resolve.program import LoadedDataset, LoadedRow, Program
from tripos_compiler.resolve.python_functions import SHIPPED
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span

# Exposed rows

MOST_ROWS = 2_000
"""The most rows of either side that are compared."""
SHOWN = 60
"""The most characters of a question in a message."""


@dataclass(frozen=True)
class ExposedRows:
    """Rows that are shown or learned: those for which `where` holds, each called `alias`.

    `fields` are the fields shown. `does` and `fix` are the consequence and the hint for messages.
    """

    loaded: LoadedDataset
    alias: str
    where: Expr | None
    fields: frozenset[str]
    does: str
    fix: str


@dataclass(frozen=True)
class SameQuestion:
    """The number, from 1, of a row that is asked about, the exposed row with the same question, and the question."""

    number: int
    row: LoadedRow
    question: str


def check_shown(program: Program, steps: Steps, cases: ScenarioCases, rows: Sequence[dict[str, Any]]) -> None:
    """Warn of shots and retrieved rows with a question of the scenario. `rows` are the values of its cases."""
    if cases.alias is None or cases.loaded is None:
        return
    for step in steps.lowered:
        for source in _sources(program, step):
            questions = list(_asked_in(program, source, cases.loaded, cases.alias, rows))
            if questions:
                _warn(program, source, questions, "this scenario", steps.place(step).span)


def check_learned(program: Program) -> None:
    """Warn of exports whose rows have a question of a scenario."""
    known: dict[tuple[object, ...], list[SameQuestion]] = {}
    for name, export in program.exports.items():
        if not isinstance(export, Pairing) or export.dataset not in program.loaded:
            continue
        if export.prompt is None and export.asks is None:
            continue
        fields = _fields((export.prompt,) if export.prompt is not None else (), export.alias)
        if export.asks is not None:
            fields |= {field.name for field in program.loaded[export.dataset].dataset.fields}
        paths = (path for reply in export.replies for path in paths_in(reply.text))
        fields |= {path[1] for path in paths if path[0] == export.alias and len(path) > 1}
        fix = f"take those rows out of `{export.dataset}`"
        fix += "; until then they are left out of what is exported" if export.kind == "examples" else ""
        source = ExposedRows(
            program.loaded[export.dataset], export.alias, export.where, fields, "what is learned is asked", fix
        )
        where = program.declared["export"][name].span
        for scenario in program.scenarios.values():
            if scenario.rows is None or scenario.rows.dataset not in program.loaded:
                continue
            dataset, alias = program.loaded[scenario.rows.dataset], scenario.rows.alias
            names = [{alias: row.values} for row in dataset.rows]
            kept = [row for row in names if _holds(scenario.rows.where, row)][:MOST_ROWS]
            # Exports of the same rows, and scenarios over the same rows, are compared once.
            common = tuple(_common(source, dataset, alias, kept))
            key = (export.dataset, str(export.where), dataset.dataset.name, str(scenario.rows.where), common)
            if key not in known:
                known[key] = list(_asked_in(program, source, dataset, alias, kept))
            questions = known[key]
            if questions:
                _warn(program, source, questions, f"scenario `{scenario.name}`", where)
                break


def check_held_out(program: Program) -> None:
    """Warn of exports whose rows have a text of rows that are asked about, or that the export holds out, in any
    field.
    """
    textses: dict[tuple[str, str], HeldOutTexts[LoadedRow]] = {}
    for name, export in program.exports.items():
        if not isinstance(export, Pairing) or export.use == "test" or export.dataset not in program.loaded:
            continue
        learned = program.loaded[export.dataset]
        asked = {
            scenario.rows.dataset: (f"which scenario `{scenario.name}` asks about", scenario.rows)
            for scenario in program.scenarios.values()
            if scenario.rows is not None
            and scenario.rows.dataset in program.loaded
            and scenario.rows.dataset != export.dataset
            if export.kind == "paired"  # `check_learned` compares the fields of examples
        }
        apart: list[tuple[str, str, Rows | None]] = [
            (held, "which is held out", None) for held in export.holds_out if held in program.loaded
        ]
        apart += [(held, why, rows) for held, (why, rows) in asked.items() if held not in export.holds_out]
        if not apart:
            continue
        outside = {dataset: [row.values for row in loaded.rows] for dataset, loaded in program.loaded.items()}
        loaded_rows = [
            row for row in learned.rows[:MOST_ROWS] if _holds(export.where, {**outside, export.alias: row.values})
        ]
        texts = [training_texts(export, {**outside, export.alias: row.values}) for row in loaded_rows]
        for held, why, rows in apart:
            where = None if rows is None else rows.where
            if (held, str(where)) not in textses:
                copies = textses[held, str(where)] = HeldOutTexts()
                for row in program.loaded[held].rows[:MOST_ROWS]:
                    if rows is None or _holds(where, {**outside, rows.alias: row.values}):
                        copies.add(row, row.values)
            hits = [hit for text in texts if (hit := textses[held, str(where)].text_of(text)) is not None]
            if hits:
                _warn_kept_out(program, name, export, held, why, hits)


def _warn_kept_out(
    program: Program, name: str, export: Pairing, held: str, why: str, hits: Sequence[tuple[LoadedRow, str]]
) -> None:
    row, text = hits[0]
    left_out = held in export.holds_out
    some = f"{len(hits):,} row{'' if len(hits) == 1 else 's'} of `{export.dataset}`"
    one = len(hits) == 1
    does = f"{'it is' if one else 'they are'} {'left out' if left_out else 'learned'}"
    message = f"{some} {'has' if one else 'have'} a text of `{held}`, {why}: {does}"
    fix = "give other rows, such as another split" if left_out else f"write `holds out {held}` in the export"
    notes = [f"row {row.shown} of {row.path}: “{shorten(text, SHOWN)}”"]
    program.diagnostics.warning("W1008", message, program.declared["export"][name].span, help=fix, notes=notes)


def _sources(program: Program, step: object) -> Iterator[ExposedRows]:
    match step:
        case Ask():
            for shots in step.shots:
                loaded = program.top_level_datasets.get(shots.dataset) or program.loaded.get(shots.dataset)
                if loaded is not None and loaded.rows_known:
                    fields = _fields(shots.prompt.values(), shots.alias)
                    fix = f"take those rows out of `{shots.dataset}`, or give both data sets a `key` that they share"
                    yield ExposedRows(loaded, shots.alias, shots.where, fields, "shots would show its answer", fix)
        case Retrieve():
            names = {part.dataset for part in subexpressions(step.source) if isinstance(part, Data)}
            for name in sorted(names & set(program.loaded)):
                loaded = program.loaded[name]
                fields = frozenset(field.name for field in loaded.dataset.fields)
                fix = f"take those rows out of `{name}`, or leave them out by a `where`"
                yield ExposedRows(loaded, step.alias, step.where, fields, "what is retrieved would show it", fix)


def _fields(templates: Iterable[Template], alias: str) -> frozenset[str]:
    """Return the fields of a row that texts print."""
    paths = {path for template in templates for expr in template_expressions(template) for path in paths_in(expr)}
    return frozenset(path[1] for path in paths if path[0] == alias and len(path) > 1)


def _asked_in(
    program: Program, source: ExposedRows, asked: LoadedDataset, alias: str, rows: Sequence[Mapping[str, Any]]
) -> Iterator[SameQuestion]:
    """Yield the rows whose question, in the common fields, is that of an exposed row that can be shown for them."""
    common = _common(source, asked, alias, rows)
    if not common:
        return
    loaded_rows = source.loaded.rows[:MOST_ROWS]
    key = (source.loaded.dataset.name, tuple(common))
    copies = program.near.get(key)
    if copies is None:  # several scenarios use the same rows
        copies = program.near[key] = NearCopies()
        for place, row in enumerate(loaded_rows):
            copies.add(place, _text(row.values, common))
    for number, names in enumerate(rows[:MOST_ROWS], 1):
        own = names[alias]
        text = _text(own, common)
        for place in copies.like(text):
            row = loaded_rows[place]
            itself = source.loaded.dataset.name == asked.dataset.name and row.values == own
            if not itself and _may_show(source, asked, row, names, own):
                yield SameQuestion(number, row, text)
                break


def _common(source: ExposedRows, asked: LoadedDataset, alias: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the public fields that both data sets have, that are shown, and that distinguish rows."""
    public = {field.name for field in asked.dataset.fields if not field.secret}
    return sorted(name for name in source.fields & public if _tells_apart(name, rows, alias))


def _tells_apart(name: str, rows: Sequence[Mapping[str, Any]], alias: str) -> bool:
    """Return true if most rows have a different text in this field, as they do not in a field such as the subject."""
    texts = [str(names[alias].get(name, "")) for names in rows[:MOST_ROWS]]
    return 2 * len(set(texts)) > len(texts)


def _may_show(
    source: ExposedRows, asked: LoadedDataset, row: LoadedRow, names: Mapping[str, Any], own: Mapping[str, Any]
) -> bool:
    """Return true if a row can be shown where another is asked about: its key differs and the condition holds."""
    keys = source.loaded.dataset.key, asked.dataset.key
    if keys[0] is not None and keys[1] is not None and _value(keys[0], row.values) == _value(keys[1], own):
        return False
    return _holds(source.where, {**names, source.alias: row.values})


def _holds(where: Expr | None, names: Mapping[str, Any]) -> bool:
    """Return true if a condition holds or cannot be evaluated."""
    if where is None:
        return True
    try:
        return bool(evaluate(where, names))
    except (Unavailable, LookupError):
        return True


def _value(expr: Expr, row: Mapping[str, Any]) -> Any:
    try:
        return evaluate(expr, row)
    except (Unavailable, LookupError):
        return object()


def _warn(program: Program, source: ExposedRows, hits: Sequence[SameQuestion], where: str, span: Span) -> None:
    name, first = source.loaded.dataset.name, hits[0]
    more = f", and of {len(hits) - 1} more" if len(hits) > 1 else ""
    message = f"`{name}` has the question of row {first.number} of {where}{more}: {source.does}"
    notes = [f"row {first.row.shown} of {first.row.path}: “{shorten(first.question, SHOWN)}”"]
    program.diagnostics.warning("W1008", message, span, help=source.fix, notes=notes)


def _text(row: Mapping[str, Any], fields: Sequence[str]) -> str:
    return "\n".join(str(row.get(name, "")) for name in fields)


# Trial replies

FEWEST = 5
"""The fewest rows for which a constant reply that is always right means anything."""
TRIED = 24
"""The size of the sample of rows, spread evenly; a constant that wins there is tried on all."""
WINS = 0.8
"""The share of rows from which on a constant reply is reported."""
MOST_RIGHT = 0.8
"""The share of rows that need a right trial reply before a row without one is reported."""
CONSTANTS = ("", "A", "B", "C", "D", "E", "F", "A B C D E F", "yes", "no", "true", "false", "0", "1", "2")


@dataclass(frozen=True)
class ProbeReply:
    """A reply to every row: the same `value`, or `of` applied to the row. With `wins`, it answers nothing and is
    reported if it is right.
    """

    name: str
    wins: bool
    value: Any = None
    of: Callable[[Mapping[str, Any]], Any] | None = None


def check_replies(
    program: Program, scenario: Scenario, cases: ScenarioCases, steps: Steps, shown: frozenset[str]
) -> None:
    """Warn of constant replies that win, and of rows for which no reply is right.

    The scores of one name in several arms are tried together: a reply must be right in all of them to win.
    """
    assert cases.known_rows is not None and cases.alias is not None
    named: dict[str, dict[str, _ProbedScore | None]] = {}
    for treatment in scenario.treatments:
        for step in treatment.steps:
            if not isinstance(step, Score) or not step.truth or step.element is not None:
                continue
            if step.fingerprint not in named.setdefault(step.name, {}):
                named[step.name][step.fingerprint] = _ProbedScore.of(program, treatment, step, cases)
    for name, scores in named.items():
        probed_scores = [score for score in scores.values() if score is not None]
        if probed_scores and len(probed_scores) == len(scores):
            _ProbedScores(program, tuple(probed_scores), cases.known_rows, shown).report(steps.scores[name][0].span)


@dataclass(frozen=True)
class _ProbedScores:
    """The scores of one name, one for each arm in which it differs, over the same rows."""

    program: Program
    scored: tuple[_ProbedScore, ...]
    rows: Sequence[Mapping[str, Any]]
    arms: frozenset[str]

    def report(self, where: Span) -> None:
        """Warn of the findings."""
        name = self.scored[0].score.name
        trials = list({trial.name: trial for score in self.scored for trial in score.trials(self.arms)}.values())
        trials.sort(key=lambda trial: trial.wins)  # the answers first, because they are right for most rows
        every = max(1, len(self.rows) // TRIED)
        sample = self.rows[::every][:TRIED]
        lost = self._without_tool()
        if not lost and len(self.rows) >= FEWEST:
            lost = self._try_all(name, trials, sample, where)
        if lost:
            more = f", nor of {len(lost) - 1} more" if len(lost) > 1 else ""
            message = f"no reply gets `{name}` of row {lost[0]} of this scenario{more}"
            help_ = "fix the key of the row: its own answer is not counted as right"
            self.program.diagnostics.warning("W1002", message, where, help=help_)

    def _try_all(
        self, name: str, trials: Sequence[ProbeReply], sample: Sequence[Mapping[str, Any]], where: Span
    ) -> list[int]:
        """Warn of a constant that wins. Returns the numbers of rows for which no reply is right."""
        # A score that reads no row is a rule of form, such as a length, which an empty reply may satisfy.
        about_row = any(self.scored[0].alias in names_in(score.score.value) for score in self.scored)
        winning = (trial for trial in trials if about_row and trial.wins and self._share(trial, sample) >= WINS)
        winner = next(winning, None)
        share = self._share(winner, self.rows) if winner is not None else 0.0
        if winner is not None and share >= WINS:
            message = f"{winner.name} to every row gets {share:.2f} on `{name}`"
            help_ = "balance the answers, or tighten the score; compare the models with a baseline"
            self.program.diagnostics.warning("W1001", message, where, help=help_)
        return self._without_answer(trials, sample)

    def _without_tool(self) -> list[int]:
        """Return the numbers of rows whose right call uses a tool that they do not have."""
        pairs = [pair for score in self.scored for pair in score.allowed_calls()]
        if not pairs:
            return []
        numbered = enumerate(self.rows, 1)
        return [number for number, names in numbered if any(_lacks_tool(*pair, names) for pair in pairs)]

    def _share(self, trial: ProbeReply, rows: Sequence[Mapping[str, Any]]) -> float:
        """Return the share of rows for which a reply is right; 0 once it cannot win, or if the score applies to too few
        rows.
        """
        most = len(rows) * len(self.scored)
        right = wrong = 0
        for names in rows:
            for score in self.scored:
                is_right = score.right(trial, names)
                right, wrong = right + (is_right is True), wrong + (is_right is False)
            if most - wrong < WINS * most:
                return 0.0
        return right / (right + wrong) if right + wrong >= FEWEST else 0.0

    def _without_answer(self, trials: Sequence[ProbeReply], sample: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the numbers of rows for which no reply is right, if nearly all others have one.

        For calls of tools, no answer is tried.
        """
        if any(score.ask.calls_tools for score in self.scored):
            return []
        keys = [pair for score in self.scored for pair in score.option_keys()]
        if keys:
            named = enumerate(self.rows, 1)
            return [number for number, names in named if any(_no_option(options, key, names) for options, key in keys)]
        lacking = [lacks for names in sample if (lacks := self._lacks(trials, names)) is not None]
        if not any(lacking) or len(lacking) < FEWEST or len(lacking) - sum(lacking) < MOST_RIGHT * len(lacking):
            return []
        return [number for number, names in enumerate(self.rows, 1) if self._lacks(trials, names)]

    def _lacks(self, trials: Sequence[ProbeReply], names: Mapping[str, Any]) -> bool | None:
        """Return true if no reply is right for the row in some arm; None if the score does not apply to it."""
        applies = False
        for score in self.scored:
            outcomes: set[bool | None] = set()
            for trial in trials:
                outcomes.add(score.right(trial, names))
                if True in outcomes:
                    break
            if True not in outcomes and False in outcomes:
                return True
            applies = applies or True in outcomes
        return False if applies else None


@dataclass(frozen=True)
class _ProbedScore:
    """A score of the reply of one ask."""

    score: Score
    ask: Ask
    alias: str
    rows: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, program: Program, treatment: Treatment, score: Score, cases: ScenarioCases) -> _ProbedScore | None:
        """Return the score to try; None if it depends on more than one reply and the row."""
        assert cases.known_rows is not None and cases.alias is not None
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
        return cls(score, asks[0], cases.alias, cases.known_rows)

    def option_keys(self) -> Iterator[tuple[Expr, Expr]]:
        """Yield the options of a question and its right letter, if the score compares a chosen option with the
        letter.
        """
        for expr, key in self._compared():
            if isinstance(expr, Call) and is_call(expr, multiple_choice.chosen_option):
                yield expr.args[-1], key

    def allowed_calls(self) -> Iterator[tuple[Expr, Expr]]:
        """Yield the tools of a row and the right calls, if the score matches calls with them."""
        for part in subexpressions(self.score.value):
            if isinstance(part, Call) and is_call(part, tools.calls_match):
                arguments = arguments_of(part)
                yield arguments["tools"], arguments["allowed"]

    def _compared(self) -> Iterator[tuple[Expr, Expr]]:
        """Yield the two sides of the score's comparison: the part of the reply, and the expected value."""
        match self.score.value:
            case Binary(operator="==", left=left, right=right):
                sides = (left, right)
            case Call(function=function, args=(left, right)) if (
                function in FUNCTIONS and FUNCTIONS[function].compares_answers
            ):
                sides = (left, right)
            case _:
                return
        for expr, key in (sides, sides[::-1]):
            if self.ask.name in names_in(expr) and self.ask.name not in names_in(key):
                yield expr, key

    def right(self, trial: ProbeReply, names: Mapping[str, Any]) -> bool | None:
        """Return true if the score is true for a trial reply, whatever its type; None if the score does not apply."""
        try:
            value = trial.value if trial.of is None else trial.of(names)
            known = {**names, self.ask.name: self._reply(value)}
            if self.score.when is not None and not evaluate(self.score.when, known):
                return None
            if any(evaluate(expr, known) for expr in self.score.earlier or ()):
                return None
            return bool(evaluate(self.score.value, known))
        except (
            Unavailable,
            InternalError,
            LookupError,
            AttributeError,
            TypeError,
            ValueError,
        ):
            return False

    def _reply(self, value: Any) -> dict[str, Any]:
        returns = self.ask.returns
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        reply = {"text": text, "thinking": None, "raw": text, "prompt": ""}
        if returns is None:
            return reply
        if returns.kind == "record":
            return {**reply, **dict.fromkeys(returns.fields, value)}
        return {**reply, "value": value}

    def trials(self, shown: frozenset[str]) -> Iterator[ProbeReply]:
        """Yield the replies to try: constants, the most frequent answers, the answer of each row, and its question."""
        type_ = self._type()
        plain = type_ is None or type_.kind == "text"
        values: list[Any] = list(CONSTANTS) if type_ is None or plain else list(_values(type_))
        wanted: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            serialized_form(key).model_dump_json(): partial(_evaluate_or_none, key) for _, key in self._compared()
        }
        fields = sorted(path[1] for path in paths_in(self.score.value) if path[0] == self.alias and len(path) > 1)
        wanted |= {field: partial(_field, self.alias, field) for field in fields}
        for target in wanted.values():
            targets = [value for names in self.rows[:TRIED] if isinstance(value := target(names), str | int | float)]
            values += [
                value for value, _ in Counter(targets).most_common(2) if value not in values and _fits(value, type_)
            ]
        for value in values:
            yield ProbeReply("an empty reply" if value in ("", []) else f"the reply `{_printed(value)}`", True, value)
        for name, target in wanted.items():
            yield ProbeReply(name, False, of=target)
        if plain and shown - {"*"}:
            yield ProbeReply("the question itself as the reply", True, of=partial(_question, self.alias, sorted(shown)))

    def _type(self) -> Type | None:
        """Return the type of the part of the reply that is scored; None for its text."""
        returns = self.ask.returns
        if returns is None:
            return None
        if returns.kind != "record":
            return returns
        used = [path[1] for path in paths_in(self.score.value) if path[0] == self.ask.name and len(path) > 1]
        return returns.fields.get(used[0]) if used else None


def _evaluate_or_none(expr: Expr, names: Mapping[str, Any]) -> Any:
    try:
        return evaluate(expr, names)
    except (Unavailable, InternalError, LookupError, AttributeError, TypeError, ValueError):
        return None


def _lacks_tool(tools: Expr, allowed: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if a right call uses a tool that the row does not have."""
    there = {tool["name"] for tool in _evaluate_or_none(tools, names) or ()}
    return any(name not in there for group in _evaluate_or_none(allowed, names) or () for name in group)


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
            yield from ([value] for value in every)


def _fits(value: Any, type_: Type | None) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {"text": str, "integer": int, "number": (int, float), "bool": bool}
    return type_ is None or (type_.kind in kinds and isinstance(value, kinds[type_.kind]))


def _printed(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 30 else text[:29] + "…"


def _no_option(options: Expr, key: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if the right letter names none of the options."""
    try:
        count, letter = len(evaluate(options, names)), evaluate(key, names)
    except (Unavailable, InternalError, LookupError, TypeError):
        return False
    return letter is None or str(letter).strip().upper() not in {chr(ord("A") + place) for place in range(count)}


# The checks of a scenario


def check_protocol(
    program: Program, statement: Statement, scenario: Scenario, cases: ScenarioCases, steps: Steps
) -> None:
    """Warn of mistakes that make the figures of a scenario misleading."""
    _samples_alike(program, steps)
    _filled_templates(program, scenario, cases, steps)
    _replies_run_as_code(program, steps)
    if not cases.from_file or cases.alias is None or not cases.known_rows:
        return
    rows = list(islice(cases.known_rows, MOST_ROWS))
    texts = _shown(steps.lowered, cases)
    if len(rows) > 1 and not texts and _asks_a_model(scenario):
        message = f"no prompt shows the row `{cases.alias}`: every row asks the same"
        help_ = f"put a field of `{cases.alias}` in a prompt, or run over no rows"
        program.diagnostics.warning("W1006", message, statement.head, help=help_)
    elif texts:
        _asked_twice(program, statement, cases, rows, texts, steps)
    _options(program, cases, rows, texts, steps)
    _keys(program, cases.known_rows, steps)
    _prompts(program, cases.known_rows, steps)
    for step in steps.lowered:
        if isinstance(step, JudgedStep):
            inside = isinstance(step, Verdict)  # of an expression
            place = statement.head if inside else _place(steps, step)
            warn_of_form_in_rows(program, program.scorers[step.scorer], step.args, rows, place)
    check_shown(program, steps, cases, rows)
    check_replies(program, scenario, cases, steps, texts)


def _samples_alike(program: Program, steps: Steps) -> None:
    sampled = [step for step in steps.lowered if isinstance(step, Ask) and step.samples > 1]
    for place, step in {steps.place(step): step for step in sampled}.items():
        if step.settings.copies:
            name = place.text
            message = f"`{name}` is sampled {step.samples} times at temperature 0: the replies are copies"
            help_ = "raise the temperature, or ask once: copies of a reply make no figure more certain"
            program.diagnostics.warning("W1007", message, place.span, help=help_)


def _told(step: Step) -> Iterator[Expr]:
    """Yield the expressions in the texts that a step sends to a model. Settings are not sent as text."""
    if isinstance(step, Ask | Converse | Retrieve):
        yield from (use.expr for use in uses(step) if use.use not in ("condition", "settings"))


def _shown(steps: Sequence[Step], cases: ScenarioCases) -> frozenset[str]:
    """Return the fields of the row that a model is shown; `*` for the whole row."""
    paths = {path for step in steps for expr in _told(step) for path in paths_in(expr)}
    below = {path[1] if len(path) > 1 else "*" for path in paths if path[0] == cases.alias}
    return frozenset(below | {path[0] for path in paths if path[0] in {axis.name for axis in cases.axes}})


def _asks_a_model(scenario: Scenario) -> bool:
    """Return true if any step asks a model."""
    steps = [step for treatment in scenario.treatments for step in treatment.steps]
    return any(isinstance(step, Ask | Converse) for step in steps)


def _asked_twice(
    program: Program,
    statement: Statement,
    cases: ScenarioCases,
    rows: list[dict[str, Any]],
    shown: frozenset[str],
    steps: Steps,
) -> None:
    """Warn of rows that show a model the same: their question counts several times, or has several right answers."""
    assert cases.alias is not None
    if "*" in shown or cases.loaded is None:
        return
    looked = [step for step in steps.lowered if isinstance(step, Score | Column)]
    paths = {path for step in looked for path in paths_in(step.value) if path[0] == cases.alias and len(path) > 1}
    wanted = {path[1] for path in paths} - shown
    first: dict[str, int] = {}
    twice: list[tuple[int, int]] = []
    against: list[tuple[int, int]] = []
    for number, names in enumerate(rows, 1):
        row = names[cases.alias]
        asked = repr([(field, row.get(field, names.get(field))) for field in sorted(shown)])
        earlier = first.setdefault(asked, number)
        if earlier == number:
            continue
        other = rows[earlier - 1][cases.alias]
        (against if any(row.get(field) != other.get(field) for field in wanted) else twice).append((earlier, number))
    where = (statement.one_of("over") or statement).head
    if against:
        one, other_ = against[0]
        message = f"rows {one} and {other_} of this scenario ask the same and want different answers{_more(against)}"
        help_ = "correct the answers, or show the model a distinguishing field"
        program.diagnostics.warning("W1004", message, where, help=help_)
    if twice:
        one, other_ = twice[0]
        message = f"rows {one} and {other_} of this scenario ask the same{_more(twice)}"
        help_ = "remove the copies: a repeated question counts twice in every figure"
        program.diagnostics.warning("W1003", message, where, help=help_)


def _more(pairs: Sequence[object]) -> str:
    return f", as do {len(pairs) - 1} more pairs" if len(pairs) > 2 else ", as does one more pair" * (len(pairs) - 1)


def _options(
    program: Program, cases: ScenarioCases, rows: list[dict[str, Any]], shown: frozenset[str], steps: Steps
) -> None:
    """Warn of options that no prompt shows, and of options that are repeated in a row."""
    known = {cases.alias, *(axis.name for axis in cases.axes)}
    seen: set[str] = set()
    for step in steps.lowered:
        for expr in step_expressions(step):
            for part, function in _library_calls(expr):
                parameter = function.reads_option_of or function.prints_options
                if parameter is None:
                    continue
                options = arguments_of(part)[parameter]
                key = serialized_form(options).model_dump_json()
                if not names_in(options) <= known or key in seen:
                    continue
                where = _place(steps, step)
                fields = {path[1] for path in paths_in(options) if path[0] == cases.alias and len(path) > 1}
                if function.reads_option_of is not None and fields and not fields & shown and "*" not in shown:
                    named = step.name.partition(".")[0]  # for a column, the measure
                    message = f"`{named}` reads which option is chosen, and no prompt shows the options"
                    help_ = "print them: `{{ lettered(…) }}`"
                    program.diagnostics.warning("W1005", message, where, help=help_)
                    seen.add(key)
                    continue
                double = [number for number, names in enumerate(rows, 1) if _has_double(options, names)]
                if double:
                    seen.add(key)
                    more = f", and in {len(double) - 1} more" if len(double) > 1 else ""
                    message = f"an option is repeated in row {double[0]} of this scenario{more}"
                    help_ = "fix the row: of two options that say the same one is counted as wrong"
                    program.diagnostics.warning("W1009", message, where, help=help_)


def _library_calls(expr: Expr) -> Iterator[tuple[Call, Function]]:
    """Yield the calls of library functions in an expression."""
    for part in subexpressions(expr):
        if isinstance(part, Call) and (function := FUNCTIONS.get(part.function)) is not None:
            yield part, function


def _keys(program: Program, rows: Sequence[Mapping[str, Any]], steps: Steps) -> None:
    """Warn of keys that name none of the options of their row."""
    for statement in steps.options:
        fields = steps.scope[statement.name().text].fields
        options, place = fields["options"].value, fields["right"].value
        assert isinstance(place, Call)
        if is_call(place, multiple_choice.shuffled_place):  # the order may depend on an arm
            options = place.args[1]
            place = call(lists.nth, options, place.args[0])
        assert options is not None
        lacking = [number for number, names in enumerate(rows, 1) if _lacks_key(options, place, names)]
        if lacking:
            more = f", nor in {len(lacking) - 1} more" if len(lacking) > 1 else ""
            message = f"the key names no option in row {lacking[0]} of this scenario{more}"
            help_ = "fix the key: a position is counted from 0, and a letter is one of those shown"
            program.diagnostics.warning("W1002", message, statement.syntax("key").span, help=help_)


def _prompts(program: Program, rows: Sequence[Mapping[str, Any]], steps: Steps) -> None:
    """Report rows with more prompts or elements than the bound."""
    for counted in steps.repeat_bounds:
        longer = [
            number for number, names in enumerate(rows, 1) if (list_length(counted.listed, names) or 0) > counted.most
        ]
        if longer:
            more = f", and {len(longer) - 1} more have too many" if len(longer) > 1 else ""
            message = f"row {longer[0]} of this scenario has more than {counted.most} prompts{more}"
            if counted.noun == "elements":
                message = f"row {longer[0]} of this scenario has more than {counted.most} elements{more}"
            help_ = "write the greatest number that a row has"
            program.diagnostics.error("E0803", message, counted.span, help=help_)


def _filled_templates(program: Program, scenario: Scenario, cases: ScenarioCases, steps: Steps) -> None:
    """Report rows in which a template that is filled has other holes than those that have a value."""
    rows = cases.known_rows or ()
    seen: set[str] = set()
    wrong_places: set[Span] = set()
    for step in (step for treatment in scenario.treatments for step in treatment.steps):
        every = list(uses(step))
        conditions = [use.expr for use in every if use.use == "condition" and use.owner is step]
        for use in every:
            fills = [part for part in subexpressions(use.expr) if is_call(part, text_functions.fill)]
            data = known_data(program, use.expr) if fills else None
            if data is None:
                continue
            guards = [*conditions, *([] if use.guard is None else [use.guard])]
            exprs = [serialized_form(expr).model_dump_json() for expr in (use.expr, *guards)]
            key = f"{use.language} {exprs}"
            _, span = program.index.places.get(id(fills[0]), (None, _place(steps, step)))
            if key in seen or span in wrong_places:
                continue
            seen.add(key)
            expr = map_expression(use.expr, _with_empty_values)
            for number, row in enumerate(rows, 1):
                names = {**row, **data}
                spoken = use.language is None or names.get("language", use.language) == use.language
                if not spoken or not all(_holds(guard, names) for guard in guards):
                    continue
                wrong = _wrong_holes(expr, fills, names)
                if wrong is not None:
                    where = f"row {number} of this scenario: " if names_in(expr) & row.keys() else ""
                    program.diagnostics.error(wrong.code, f"{where}{wrong.message}", span, help=wrong.help)
                    wrong_places.add(span)
                    break


def _replies_run_as_code(program: Program, steps: Steps) -> None:
    """Warn of programs that run the whole text of a reply, in which code may stand between lines of prose."""
    texts = {
        (step.name, "text") for step in steps.lowered if isinstance(step, Ask) and not step.plain and not step.options
    }
    for step in steps.lowered:
        for part in (part for expr in step_expressions(step) for part in subexpressions(expr)):
            plugin = program.plugins.get(part.function) if isinstance(part, Call) else None
            if plugin is None or plugin.external != "shipped":
                continue
            assert isinstance(part, Call)
            runs = SHIPPED[plugin.function].runs
            run = {**dict(zip(plugin.parameters, part.args, strict=False)), **part.named}.get(runs)
            if isinstance(run, Ref) and run.path in texts:
                reply = ".".join(run.path)
                message = f"`{plugin.name}` runs the whole reply `{reply}`, where code may stand in a fence with prose"
                help_ = f"give it the code alone: `{runs}: code_block({reply})`"
                program.diagnostics.warning("W1013", message, _place(steps, step), help=help_)


def _with_empty_values(part: Expr) -> Expr:
    """Return a part of an expression, with empty texts for the values of a template."""
    if not isinstance(part, Call) or not is_call(part, text_functions.fill):
        return part
    template, holes, _ = part.args
    assert isinstance(holes, Items)
    return part.model_copy(update={"args": (template, holes, Items(values=(Literal_(value=""),) * len(holes.values)))})


def _wrong_holes(expr: Expr, fills: Sequence[Expr], names: Mapping[str, Any]) -> ArgumentError | None:
    """Return the error of a template in an expression that has other holes; None without one, or if it is not known."""
    try:
        evaluate(expr, names)
    except NoValue as error:
        if text_functions.OTHER_HOLES not in error.reason:
            return None
    except (Unavailable, InternalError, LookupError, AttributeError, TypeError, ValueError):
        return None
    else:
        return None
    for part in fills:
        assert isinstance(part, Call)
        arguments = {name: _evaluate_or_none(of, names) for name, of in arguments_of(part).items() if name != "values"}
        wrong = text_functions.other_holes(arguments)
        if wrong is not None:
            return wrong
    return None


def _lacks_key(options: Expr, place: Expr, names: Mapping[str, Any]) -> bool:
    try:
        if not evaluate(options, names):
            return False
        evaluate(place, names)
    except NoValue:
        return True
    except (Unavailable, LookupError):
        return False
    return False


def _has_double(options: Expr, names: Mapping[str, Any]) -> bool:
    try:
        values = evaluate(options, names)
    except (Unavailable, LookupError):
        return False
    texts = [" ".join(str(value).split()) for value in values]
    return len(set(texts)) < len(texts)


def _place(steps: Steps, step: Step) -> Span:
    if step.name in steps.scores:
        return steps.scores[step.name][0].span
    return steps.model_steps[step.name].span if step.name in steps.model_steps else steps.spans[step.name].span


# Unused declarations


def names_in_requests(made: GeneratedDataset) -> dict[str, set[str]]:
    """Return, by language, the names that are printed when the rows of a data set are written."""
    asks = [step if isinstance(step, Ask) else step.ask for step in made.steps if not isinstance(step, Derived)]
    by_language: dict[str, set[str]] = {}
    for ask in asks:
        for language, template in [*(ask.system or {}).items(), *(ask.prompt or {}).items()]:
            by_language.setdefault(language, set()).update(
                name for expr in template_expressions(template) for name in names_in(expr)
            )
    return by_language


def check_unused_axes(program: Program, statement: Statement, cases: ScenarioCases, steps: Steps) -> None:
    """Report every axis of the context that no prompt mentions; for rows of a file, which may state it in their own
    words, warn.
    """
    written = statement.one_of("context")
    if written is None:
        return
    dataset = program.generated.get(cases.rows.dataset) if cases.rows is not None else None
    for language, names in (names_in_requests(dataset) if dataset is not None else {}).items():
        steps.mentioned.setdefault(language, set()).update(names)
    for axis in cases.axes:
        if axis.name == "language":
            continue
        silent = [language for language in program.languages if axis.name not in steps.mentioned.get(language, set())]
        if not silent:
            continue
        where = "" if len(silent) == len(program.languages) else f" in {' and '.join(silent)}"
        message = f"no prompt mentions `{axis.name}`{where}"
        help_ = f"put `{{{{ {axis.name} }}}}` in a prompt, or take it out of the context"
        if cases.from_file:
            program.diagnostics.warning("W0401", message, written.head, help=help_)
        else:
            program.diagnostics.error("E0401", message, written.head, help=help_)


KINDS = ("role", "axis", "arm", "tree", "tool", "dataset", "scorer", "function", "aggregate")
"""The kinds of declarations that are reported if nothing refers to them."""


OF_USE = frozenset({"W0209", "W0610", "W0611"})


def check_unused_steps(program: Program, statement: Statement, scenario: Scenario, steps: Steps) -> None:
    """Warn of replies that nothing uses, and of arms that change nothing."""
    taken = {
        name for treatment in scenario.treatments for step in treatment.steps for name in direct_dependencies(step)
    }
    left = [step for step in steps.lowered if isinstance(step, Ask | Converse | Retrieve) and step.name not in taken]
    for name in {steps.model_steps[step.name].text: steps.model_steps[step.name] for step in left}.values():
        # the last turn of an ask with several prompts is not used by another
        message = f"nothing uses the result of `{name.text}`"
        help_ = "score it, put it in a prompt, or remove the step: its calls are paid for"
        program.diagnostics.warning("W0611", message, name.span, help=help_)
    for arm in scenario.arms:
        alike: dict[tuple[tuple[str, str], ...], set[tuple[str, ...]]] = {}
        for treatment in scenario.treatments:
            others = tuple(sorted((name, value) for name, value in treatment.arms.items() if name != arm))
            alike.setdefault(others, set()).add(tuple(step.fingerprint for step in treatment.steps))
        if all(len(kinds) == 1 for kinds in alike.values()):
            written = statement.one_of("arms")
            where = written.head if written is not None else statement.head
            message = f"nothing in this scenario depends on the arm `{arm}`"
            help_ = f'say what differs: `system "…" when {arm} == …`, or take it out of `arms`'
            program.diagnostics.warning("W0610", message, where, help=help_)


def check_unused_declarations(program: Program) -> None:
    """Warn of unused declarations of the main file. Those of used files may serve other specs."""
    if program.diagnostics.failed:  # a skipped statement may use them
        items = program.diagnostics.items
        program.diagnostics.items = [item for item in items if item.code not in OF_USE]
        return
    used = {use.symbol for use in program.index.uses.values()}
    for kind in KINDS:
        for name, declared in program.declared.get(kind, {}).items():
            if declared.span.written not in used and declared.span.source is program.sources[0]:
                is_value = kind == "scorer" and name in program.formulas and not program.formulas[name].scores
                message = f"{'value' if is_value else kind} `{name}` is never used"
                program.diagnostics.warning("W0209", message, declared.span, help="use it, or remove it")
