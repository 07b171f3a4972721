"""Exact count of the model calls of a plan, before a run.

Conditions on rows and axes are evaluated for every row; conditions on a reply give a range. Calls for the elements of a
list are exact for a list in the row and bounded for a list in a reply. A retrieval step embeds each different text
once.

A step runs if its condition holds and every value it prints is defined. Passages that are not printed, and operands
that `and` or `or` skip, do not count. A model can decline, so everything that depends on a reply, except the prompt
that was sent, may not run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from tripos_compiler.language.evaluation import (
    DATA,
    INDEX_PREFIX,
    MissingValue,
    Unavailable,
    elements,
    evaluate,
)
from tripos_compiler.language.references import (
    CALLING,
    ExpressionUse,
    names_in,
    required_inputs,
    subexpressions,
)
from tripos_compiler.library.calls import arguments_of, evaluation_of, is_call, search_index_of
from tripos_compiler.library.definedness import undefinedness_of
from tripos_compiler.library.function import Evaluation, SearchIndex
from tripos_compiler.library.functions import lists
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import (
    Ask,
    Binary,
    Call,
    CallCount,
    Compare,
    Converse,
    Data,
    Each,
    Expr,
    Grade,
    Hole,
    JudgedStep,
    Loop,
    RecordValue,
    Ref,
    Retrieve,
    Role,
    SampleList,
    Scenario,
    Scorer,
    Shots,
    Step,
    Unary,
    Verdict,
    parts_of,
)
from tripos_compiler.resolve.program import Program
from tripos_compiler.source.data_classes import dataclass

# When a step runs: always, never, or depending on a reply

Case = Mapping[str, Any]
"""The values of the names in one case: its axes, and its row under the alias."""
KnownRows = Mapping[str, Sequence[Mapping[str, Any]]]
"""The rows of data sets by name, of those whose rows are known."""
HOLDS: Final = "yes"
"""The value is defined; for a condition, it holds."""
FAILS: Final = "no"
UNDEFINED: Final = "void"
"""The value is undefined."""
DEFINED: Final = frozenset((HOLDS, FAILS))
ANY_STATE: Final = frozenset((HOLDS, FAILS, UNDEFINED))
BOUNDED: Final = ("text", "choice", "bool", "path", "list", "set", "record", "dialogue")
"""The kinds of types without numbers, so that the value of a name is always within bounds."""
_REQUIRED: Final = ("text", "settings", "dialogue", "source", "arguments")
"""Uses of expressions without which a step does not run. With any other use it may run nevertheless."""


def may_be_undefined(expr: Expr) -> bool:
    """Return true if an expression can be undefined although every name in it is defined."""
    return any(_is_partial(part) for part in subexpressions(expr))


@dataclass
class _DecisionNode:
    """An inner node of a decision tree: the test of a case, and by its outcome the next node or the result."""

    look: Callable[[Case], Hashable]
    after: dict[Hashable, _DecisionNode | bool | None] = field(default_factory=dict)


class StepReachability:
    """Decides whether each step of a treatment runs in a case. `names` are the variables known in every case, and
    `data` the rows of the data sets that are known.

    The answer depends on a sequence of tests of the case, in which each test depends on the outcomes before it. It is
    cached as a decision tree, because most cases repeat the outcomes of others.
    """

    def __init__(self, steps: Sequence[Step], names: Set[str], data: KnownRows = MappingProxyType({})) -> None:
        self.names = names
        self.data = data
        self._all_steps = steps
        self._at_elements: dict[tuple[str, ...], StepReachability] = {}
        """The same for the elements of loops, by the names of their elements."""
        self.steps = {step.name: step for step in steps if isinstance(step, CALLING)}
        self.is_paired = any(isinstance(step, Compare) for step in steps)
        """Whether `first` and `second` are the sides of a comparison and not steps."""
        self._open: dict[int, bool] = {}
        self._decides: dict[int, bool] = {}
        self._constants: dict[int, str | None] = {}
        self._case_outcomes: list[Expr | Step] = []
        """References that keep objects alive while their ids are used as keys."""
        self._trees: dict[int, _DecisionNode | bool | None] = {}
        self._looks: dict[Hashable, tuple[Callable[[Case], Hashable], Hashable]] = {}
        """The tests of the current case in order, with their outcomes."""
        self._inputs: dict[int, list[ExpressionUse]] = {}
        self._outcomes: dict[int, frozenset[bool]] = {}
        self._values: dict[int, tuple[Expr, frozenset[str]]] = {}

    def always(self, step: Step) -> bool:
        """Return true if a step runs in every case, whatever the replies."""
        ask = step if isinstance(step, Ask) else None
        chooses = ask is not None and ask.options is not None and names_in(ask.options)  # there may be no option
        if (
            step.when is not None
            or _earlier(step)
            or chooses
            or (ask is not None and ask.prompt is None and ask.continues is None)
        ):
            return False
        return not any(self._may_be_void(use.expr) for use in required_inputs(step))

    def at_element(self, step: Verdict, inside: Case) -> bool | None:
        """Return true if a verdict is asked for at an element of its loops; None if that depends on a reply. `inside`
        has the names of the case and the elements."""
        aliases = tuple(loop.alias for loop in step.loops)
        if aliases not in self._at_elements:
            inner = {*aliases, *(INDEX_PREFIX + alias for alias in aliases)}
            self._at_elements[aliases] = StepReachability(self._all_steps, self.names | inner, self.data)
        return self._at_elements[aliases].in_case(step, inside)

    def in_case(self, step: Step, case: Case) -> bool | None:
        """Return true if a step runs in a case; None if that depends on a reply."""
        if id(step) not in self._trees:
            self._case_outcomes.append(step)
            self._trees[id(step)] = self._followed(step, case)[0]
        at = self._trees[id(step)]
        while isinstance(at, _DecisionNode):
            seen = at.look(case)
            if seen not in at.after:
                return self._extend_tree(step, case)
            at = at.after[seen]
        return at

    def _extend_tree(self, step: Step, case: Case) -> bool | None:
        """Return the result for a case with a new outcome, and add it to the tree."""
        _, looks, is_done = self._followed(step, case)
        at = self._trees[id(step)]
        for number, (_, seen) in enumerate(looks, 1):
            assert isinstance(at, _DecisionNode)
            if seen not in at.after:
                at.after[seen] = _DecisionNode(looks[number][0]) if number < len(looks) else is_done
            at = at.after[seen]
        return is_done

    def _followed(
        self, step: Step, case: Case
    ) -> tuple[_DecisionNode | bool | None, Sequence[tuple[Callable[[Case], Hashable], Hashable]], bool | None]:
        """Return the root of a step's tree, the tests of the case with their outcomes, and the result."""
        self._looks, self._outcomes, self._values = {}, {}, {}
        done = self._done(step, case)
        is_done = None if len(done) > 1 else True in done
        looks = list(self._looks.values())
        return _DecisionNode(looks[0][0]) if looks else is_done, looks, is_done

    def _outcome_of(self, key: Hashable, look: Callable[[Case], Hashable], case: Case) -> Any:
        """Return the outcome of a test. Each test is made once a case."""
        if key not in self._looks:
            self._looks[key] = (look, look(case))
        return self._looks[key][1]

    def evaluate(self, expr: Expr, case: Case) -> str | None:
        """Return the text that an expression evaluates to in a case; None if it is unknown, undefined or no text."""
        if not self._decided(expr):
            return None
        try:
            value = evaluate(expr, case)
        except Unavailable:
            return None
        return value if isinstance(value, str) else None

    def _done(self, step: Step, case: Case) -> frozenset[bool]:
        """Return the possible results of a step: True if it can run, False if it can be skipped. Computed once
        a case.
        """
        if (known := self._outcomes.get(id(step))) is not None:
            return known
        outcomes = {value == HOLDS for value in (self._value(step.when, case) if step.when is not None else (HOLDS,))}
        for earlier in _earlier(step):
            outcomes = outcomes - {True} | {False} if self._rules_out(earlier, case) else outcomes
            outcomes = outcomes | {False} if self._rules_out(earlier, case) is None else outcomes
        if True in outcomes:
            for lacks in self._lacking(step, case):
                outcomes = {False} if lacks is True else outcomes | {False} if lacks is None else outcomes
                if outcomes == {False}:
                    break
        self._outcomes[id(step)] = done = frozenset(outcomes)
        return done

    def _rules_out(self, earlier: Expr, case: Case) -> bool | None:
        """Return true if the condition of an earlier score of the same name excludes this one; None if a reply decides.

        It excludes this one if it holds, or if it is undefined because of a reply. If it is undefined because of the
        row, the earlier score does not apply.
        """
        value = self._value(earlier, case)
        if self._decided(earlier):
            return value == {HOLDS}
        return value == {HOLDS} or (None if value != {FAILS} else False)

    def _lacking(self, step: Step, case: Case) -> Iterator[bool | None]:
        """For each input of a step, yield whether it is undefined; None if a reply or row decides."""
        if id(step) not in self._inputs:
            self._inputs[id(step)] = list(required_inputs(step))
        for use in self._inputs[id(step)]:
            if use.language is None or self._language(case) in (None, use.language):
                held = frozenset((HOLDS,)) if use.guard is None else self._value(use.guard, case)
                if HOLDS in held:
                    lacks = self._lacks(step, use, case)
                    yield None if lacks and FAILS in held else lacks
        if isinstance(step, Ask) and step.chat is not None:
            yield self._asks_nothing(step, step.chat, case)

    def _language(self, case: Case) -> Any:
        return self._outcome_of("language", lambda known: known.get("language"), case)

    def _lacks(self, step: Step, use: ExpressionUse, case: Case) -> bool | None:
        """Return true if an input of a step is undefined; None if a reply or row decides, or if the step may run
        nevertheless."""
        expr = use.expr
        match use.use:
            case "options":
                return self._lacks_options(expr, case)
            case "arguments" if isinstance(step, Verdict) and not {loop.alias for loop in step.loops} <= self.names:
                # Without elements it has no verdict; `at_element` knows more of its arguments.
                return _is_undefined(self._value(step.loops[0].of, case))
            case "text" if isinstance(use.node, Hole):
                lacks = self._lacks_hole(use.node, case)
            case "filter" if not isinstance(expr, Ref) or self._step_of(expr) is None:
                return False  # rows for which it is undefined are left out
            case _:
                lacks = _is_undefined(self._value(expr, case))
        required = use.use in _REQUIRED and not (use.use == "text" and isinstance(use.owner, Shots))
        return lacks if required or lacks is False else None

    def _asks_nothing(self, step: Ask, chat: Expr, case: Case) -> bool | None:
        """Return true if the whole request is a dialogue without turns; None if that is unknown."""
        if step.prompt is not None or not self._decided(chat):
            return False if step.prompt is not None else None
        return {UNDEFINED: True, HOLDS: False, FAILS: None}[self._outcome_of(id(chat), partial(_outcome, chat), case)]

    def _lacks_options(self, options: Expr, case: Case) -> bool | None:
        """Return true if there is no option, or one without text; None if that is unknown."""
        lacks = _is_undefined(self._value(options, case))
        if lacks or not self._decided(options):
            return lacks or None
        return bool(
            self._outcome_of(("options", id(options)), lambda known: not all(evaluate(options, known) or [""]), case)
        )

    def _lacks_hole(self, hole: Hole, case: Case) -> bool | None:
        if isinstance(hole.expr, Ref) and hole.type.kind in BOUNDED and self._decided(hole.expr):
            return False  # names of a case are defined; a number may be out of bounds
        return _is_undefined(self._value(hole.expr, case))

    def _value(self, expr: Expr, case: Case) -> frozenset[str]:
        """Return the possible states of an expression. Computed once a case."""
        if id(expr) not in self._values:
            self._values[id(expr)] = (expr, self._new_value(expr, case))
        return self._values[id(expr)][1]

    def _new_value(self, expr: Expr, case: Case) -> frozenset[str]:
        if (known := self._constant(expr)) is not None:
            return frozenset((known,))
        if self._decided(expr):
            return frozenset((self._outcome_of(id(expr), partial(_outcome, expr), case),))
        match expr:
            case Ref():
                return self._yielded(expr, case)
            case Unary(operator="not", value=value):
                swapped = {HOLDS: FAILS, FAILS: HOLDS, UNDEFINED: UNDEFINED}
                return frozenset(swapped[old] for old in self._value(value, case))
            case Binary(operator="and" | "or", left=left, right=right):
                ends = FAILS if expr.operator == "and" else HOLDS
                first = self._value(left, case)
                after = self._value(right, case) if first - {ends, UNDEFINED} else frozenset[str]()
                return (first & {ends, UNDEFINED}) | after
        if isinstance(expr, Call) and evaluation_of(expr) is Evaluation.CHOICE:
            arguments = arguments_of(expr)
            condition = self._value(arguments["condition"], case)
            this = self._value(arguments["this"], case) if HOLDS in condition else frozenset[str]()
            other = self._value(arguments["other"], case) if FAILS in condition else frozenset[str]()
            return condition & {UNDEFINED} | this | other
        parts = [self._value(part, case) for part in parts_of(expr)]
        if isinstance(expr, RecordValue):  # one field may be undefined while another is read
            return ANY_STATE if any(UNDEFINED in part for part in parts) else DEFINED
        lazy = isinstance(expr, Call) and evaluation_of(expr) is not Evaluation.EAGER
        if lazy:  # an undefined argument may not be evaluated
            return ANY_STATE if any(UNDEFINED in part for part in parts) or _is_partial(expr) else DEFINED
        if any(part == {UNDEFINED} for part in parts):
            return frozenset((UNDEFINED,))
        return ANY_STATE if _is_partial(expr) or any(UNDEFINED in part for part in parts) else DEFINED

    def _yielded(self, ref: Ref, case: Case) -> frozenset[str]:
        """Return the possible states of a name. A conversation's turn, a judge and an embedding model can
        decline too.
        """
        step = self._step_of(ref)
        if step is None:
            return DEFINED
        done = self._done(step, case)
        if True not in done:
            return frozenset((UNDEFINED,))
        return DEFINED if done == {True} and not _may_lack(step, ref) else ANY_STATE

    def _step_of(self, ref: Ref) -> Step | None:
        """Return the step of a name; for a name of a pair, the step of either side."""
        sided = self.is_paired and ref.path[0] in ("first", "second") and len(ref.path) > 1
        path = ref.path[1:] if sided else ref.path
        return self.steps.get(path[0])

    def _may_be_void(self, expr: Expr) -> bool:
        """Return true if an expression can be undefined in some case. Memoised."""
        is_open = self._open.get(id(expr))
        if is_open is None:
            is_open = any(
                _is_partial(part) and self._constant(part) in (None, UNDEFINED) for part in subexpressions(expr)
            )
            is_open = is_open or any(
                (step := self._step_of(part)) is not None and (_may_lack(step, part) or not self.always(step))
                for part in subexpressions(expr)
                if isinstance(part, Ref)
            )
            self._open[id(expr)] = is_open
            self._case_outcomes.append(expr)
        return is_open

    def _constant(self, expr: Expr) -> str | None:
        """Return the state of an expression that reads known data sets and nothing else; None for any other. Memoised:
        the data may be large, and the state is the same in every case."""
        if id(expr) not in self._constants:
            self._case_outcomes.append(expr)
            self._constants[id(expr)] = None
            read = [part for part in subexpressions(expr) if isinstance(part, Data)]
            others = (part for part in subexpressions(expr) if not isinstance(part, Data))
            known = bool(read) and all(part.dataset in self.data for part in read) and all(map(is_evaluable, others))
            if known and not names_in(expr):
                self._constants[id(expr)] = _outcome(expr, {DATA: self.data})
        return self._constants[id(expr)]

    def _decided(self, expr: Expr) -> bool:
        """Return true if the names of a case determine the value of an expression. Memoised."""
        decides = self._decides.get(id(expr))
        if decides is None:
            decides = names_in(expr) <= self.names and all(is_evaluable(part) for part in subexpressions(expr))
            self._decides[id(expr)] = decides
            self._case_outcomes.append(expr)
        return decides


def _earlier(step: Step) -> tuple[Expr, ...]:
    """Return the conditions of the earlier scores of the same name."""
    return (step.earlier or ()) if isinstance(step, JudgedStep) else ()


def _outcome(expr: Expr, case: Case) -> str:
    """Return the state of an expression that a case determines."""
    try:
        return HOLDS if evaluate(expr, case) else FAILS
    except Unavailable:
        return UNDEFINED


def _is_undefined(value: frozenset[str]) -> bool | None:
    """Return true if a value is undefined; None if it may be."""
    return UNDEFINED in value if len(value) == 1 or UNDEFINED not in value else None


def _may_lack(step: Step, ref: Ref) -> bool:
    """Return true if a step that ran may not have this value. The prompt that was sent always exists."""
    if isinstance(step, Ask):
        return "prompt" not in ref.path[1:3]
    return step.using is not None if isinstance(step, Retrieve) else True


def _is_partial(part: Expr) -> bool:
    """Return true if the operation itself can be undefined: a division, a partial library function, or a user's
    function.
    """
    match part:
        case Binary(operator="/"):
            return True
        case Each(loop=loop):
            return loop.most is not None
        case Call(function=function):
            reads = evaluation_of(part) is Evaluation.READING
            return reads or function not in FUNCTIONS or undefinedness_of(part) is not None
    return False


def is_evaluable(part: Expr) -> bool:
    """Return true if the compiler can evaluate this operation: it reads no data set or tree and calls no user's
    function.
    """
    return part.op not in ("data", "tree") and (not isinstance(part, Call) or part.function in FUNCTIONS)


# Calls for the elements of lists

Places = tuple[int, ...]
UNKNOWN = "unknown"
"""The status of a value that only a reply determines."""


@dataclass(frozen=True)
class CallRange:
    """A number of calls: expected, at least, at most."""

    calls: int
    least: int
    most: int

    def times(self, factor: int) -> CallRange:
        """Return the range multiplied by a factor."""
        return CallRange(self.calls * factor, self.least * factor, self.most * factor)


def loop_calls(
    places: Sequence[tuple[StepReachability, Step]], known: Sequence[Case] | None, count: int, certain: bool
) -> tuple[CallRange, tuple[int, int]]:
    """Return the range of elements that a judge is asked about in all cases, and the least and most in one case.

    The elements of a list in the row are counted exactly. A list from a reply counts as zero at least, and as the bound
    of its loop at most.
    """
    counts = [_in_case(places, case) for case in known] if known is not None else [_in_case(places, {})]
    least, most = [one for one, _ in counts] or [0], [one for _, one in counts] or [0]
    row = (min(least) if certain else 0, max(most))
    if known is None:
        return CallRange(most[0] * count, least[0] * count if certain else 0, most[0] * count), row
    return CallRange(sum(most), sum(least) if certain else 0, sum(most)), row


def _in_case(places: Sequence[tuple[StepReachability, Step]], case: Case) -> tuple[int, int]:
    """Return the least and most elements in a case, over all steps and treatments that ask the same."""
    certain, possible = set[Places](), set[Places]()
    for outcomes, step in places:
        assert isinstance(step, Verdict)
        done = outcomes.in_case(step, case)
        if done is not False:
            for place, inside in _listed(step.loops, case):
                asked = outcomes.at_element(step, inside) if inside is not None else None
                if asked is not False:
                    possible.add(place)
                    if done and asked:
                        certain.add(place)
    return len(certain), len(possible)


def _listed(loops: Sequence[Loop], names: Case) -> Iterator[tuple[Places, Case | None]]:
    """Yield the elements that nested loops can visit, each with the names at it, or None if a reply decides whether it
    is visited."""
    if not loops:
        yield (), names
        return
    loop, *rest = loops
    if not _decides(loop.of, names):
        for place in _possible(loop, names):
            yield from (((place, *inner), None) for inner, _ in _listed(rest, names))
        return
    try:
        for inside in elements(loop, names):
            sure = loop.where is None or _decides(loop.where, inside)
            if not sure or loop.where is None or evaluate(loop.where, inside):
                place = inside[INDEX_PREFIX + loop.alias]
                yield from (((place, *inner), at if sure else None) for inner, at in _listed(rest, inside))
    except Unavailable:
        return


def _possible(loop: Loop, names: Mapping[str, Any]) -> Iterator[int]:
    """Yield the positions of the elements that a list can have if it depends on replies.

    These are the elements that exist whatever the replies, as for the replies to a list of the row; otherwise as many
    as the loop's bound.
    """
    every = range(loop.most or 0)
    parts = [*subexpressions(loop.of), *(() if loop.where is None else subexpressions(loop.where))]
    if not all(is_evaluable(part) for part in parts):
        yield from every
        return
    looked_at = names_in(loop.of) | (set() if loop.where is None else names_in(loop.where))
    unknown = {name: MissingValue(name, UNKNOWN) for name in looked_at - names.keys() - {loop.alias}}
    try:
        for inside in elements(loop, {**names, **unknown}):
            if _may_hold(loop.where, inside):
                yield inside[INDEX_PREFIX + loop.alias]
    except Unavailable as reason:
        if reason.status == UNKNOWN:
            yield from every


def _may_hold(where: Expr | None, names: Mapping[str, Any]) -> bool:
    try:
        return where is None or bool(evaluate(where, names))
    except Unavailable as reason:
        return reason.status == UNKNOWN


def _decides(expr: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if these names determine the value of an expression without a reply, data set or user's function."""
    return names_in(expr) <= names.keys() and all(is_evaluable(part) for part in subexpressions(expr))


# Data sets and texts to embed


def known_rows(program: Program, names: Iterable[str]) -> KnownRows:
    """Return the rows of these data sets that expressions read; data sets whose rows a run makes are left out."""
    return {name: rows for name in names if (rows := program.known_rows(name)) is not None}


@dataclass(frozen=True)
class RetrievalCorpus:
    """The corpus of a retrieval step: an upper bound of its different texts, the `texts` themselves if known, and the
    `queries`, the texts of the row that they are compared with.
    """

    most: int
    texts: frozenset[str] | None
    queries: tuple[Expr, ...]


def retrieval_corpora(program: Program, scenario: Scenario) -> dict[str, RetrievalCorpus]:
    """Return the corpus of every step that embeds."""
    return {
        step.name: _pool(program, step)
        for step in scenario.steps
        if isinstance(step, Retrieve) and step.using is not None
    }


def _pool(program: Program, step: Retrieve) -> RetrievalCorpus:
    sides = list(_sides(step))
    texts = _texts(program, step, [element for _, element in sides])
    most = len(set(_values(program, step.source))) * len(sides) if texts is None else len(texts)
    return RetrievalCorpus(most, texts, tuple(query for query, _ in sides))


def _sides(step: Retrieve) -> Iterator[tuple[Expr, Expr]]:
    """Yield the two sides of each similarity: the text of the row, and the text of the element."""
    for part in subexpressions(step.by):
        if isinstance(part, Call) and search_index_of(part) is SearchIndex.GRAMS:
            one, other = [*part.args, *part.named.values()][:2]
            if names_in(other) == {step.alias} and step.alias not in names_in(one):
                yield one, other
            elif names_in(one) == {step.alias} and step.alias not in names_in(other):
                yield other, one


def _texts(program: Program, step: Retrieve, elements: list[Expr]) -> frozenset[str] | None:
    """Return the texts of all elements; None if they depend on the row or on generated rows."""
    used = {part.dataset for part in subexpressions(step.source) if isinstance(part, Data)}
    data = known_rows(program, used)
    if names_in(step.source) or used - data.keys() or any(part.op == "tree" for part in subexpressions(step.source)):
        return None
    texts: set[str] = set()
    try:
        for element in evaluate(step.source, {DATA: data}):
            for expr in elements:
                try:
                    value = evaluate(expr, {step.alias: element})
                except Unavailable:
                    continue
                texts |= {value} if isinstance(value, str) else set()
    except Unavailable:
        return None
    return frozenset(texts)


def _values(program: Program, expr: Expr) -> Iterator[str]:
    match expr:
        case Data(dataset=name, field=field) if name in program.top_level_datasets:
            loaded = program.top_level_datasets[name]
            if not loaded.rows_known:
                yield from (f"row {number}" for number in range(loaded.count))
            for row in loaded.rows:
                yield from _flat(row.values if field is None else row.values[field])
        case Call(args=(items, *_)) if is_call(expr, lists.picked):
            yield from _values(program, items)  # for all keys together
        case Call(args=args):
            for argument in args:
                yield from _values(program, argument)


def _flat(value: Any) -> Iterator[str]:
    if isinstance(value, list | set | frozenset | tuple):
        for item in value:
            yield from _flat(item)
    elif value is not None:
        yield str(value)


# Counting


@dataclass(frozen=True)
class CountedCases:
    """The cases of a scenario. `cases` are the values of their names, if the compiler has them."""

    count: int
    names: frozenset[str]
    cases: Sequence[Case] | None
    certain: bool
    """Whether `count` is exact and not only an upper bound."""


@dataclass
class SharedStep:
    """A step whose calls are made once for all treatments that have it.

    In each case in which it runs in one of them, it is called `samples` times for every combination of models in
    `times`.
    """

    step: Step
    times: tuple[str, ...]
    samples: int
    repeats: int = 1
    """How many times each of its judges is asked."""
    places: list[tuple[StepReachability, Step]] = field(default_factory=list)
    arms: list[dict[str, str]] = field(default_factory=list)


def count_calls(
    scenario: Scenario,
    cases: CountedCases,
    roles: Mapping[str, Role],
    scorers: Mapping[str, Scorer],
    corpora: Mapping[str, RetrievalCorpus],
    data: KnownRows,
) -> list[CallCount]:
    """Return the calls of every step of a scenario. Steps that treatments share are counted once.

    `corpora` has the corpus of each step that embeds.
    """
    counter = _Counter(scenario, cases, roles, scorers, corpora, data)
    return list(counter.counts())


def count_embeddings_once(counts: Iterable[CallCount], scenarios: Iterable[Scenario]) -> Iterator[CallCount]:
    """Yield the calls of all scenarios. A text is embedded once, so only the first scenario that embeds is certain to
    do so.
    """
    embedding = {step.using for scenario in scenarios for step in scenario.steps if isinstance(step, Retrieve)}
    first: dict[str, str] = {}
    for count in counts:
        again = count.role in embedding and first.setdefault(count.role, count.scenario) != count.scenario
        yield count.model_copy(update={"least": 0}) if again else count


def _named_by(step: Step) -> tuple[str, ...]:
    """Return the steps whose replies or verdicts a step refers to. Each of their samples gives another call of it."""
    return step.judged if isinstance(step, JudgedStep) else step.needs


class _Counter:
    """Counter of the calls of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        cases: CountedCases,
        roles: Mapping[str, Role],
        scorers: Mapping[str, Scorer],
        pool: Mapping[str, RetrievalCorpus],
        data: KnownRows,
    ) -> None:
        self.data = data
        self.scenario = scenario
        self.cases = cases
        self.roles = roles
        self.scorers = scorers
        self.pool = pool
        self.embedded: dict[str, tuple[set[str], set[str]]] = {}
        """By role, the texts that are certainly embedded, and those that may be."""

    def counts(self) -> Iterator[CallCount]:
        """Yield the calls of every step, merging those that treatments share."""
        shared: dict[str, SharedStep] = {}
        escalated: dict[str, SharedStep] = {}
        for treatment in self.scenario.treatments:
            times: dict[str, tuple[str, ...]] = {}
            samples: dict[str, int] = {}
            places = StepReachability(
                treatment.steps, self.cases.names if self.cases.cases is not None else frozenset(), self.data
            )
            for step in treatment.steps:
                times[step.name] = self._times(step, times)
                before = [] if isinstance(step, SampleList) else [samples[name] for name in _named_by(step)]
                samples[step.name] = max([getattr(step, "samples", 1), *before])
                shared_step = shared.setdefault(
                    self._identity(step), SharedStep(step, times[step.name], samples[step.name])
                )
                shared_step.samples = max(shared_step.samples, samples[step.name])
                if isinstance(step, Verdict | Grade | Compare):
                    shared_step.repeats = max(shared_step.repeats, self.scorers[step.scorer].samples)
                steps = [shared_step]
                if isinstance(step, Grade) and (then := self.scorers[step.scorer].then) is not None:
                    own = self._times(step, times, then)
                    key = f"{step.judgement} {then}"
                    steps.append(escalated.setdefault(key, SharedStep(step, own, samples[step.name])))
                for counted_step in steps:
                    counted_step.places.append((places, step))
                    counted_step.arms.extend([treatment.arms] if treatment.arms else [])
        for shared_step in shared.values():
            for count in self._of(shared_step):
                yield count.model_copy(update={"arms": tuple(shared_step.arms)})
        for shared_step in escalated.values():
            yield self._escalated(shared_step).model_copy(update={"arms": tuple(shared_step.arms)})

    def _escalated(self, asked: SharedStep) -> CallCount:
        """Return the calls of the second judges of a cascade: between none and all."""
        assert isinstance(asked.step, Grade)
        then = self.scorers[asked.step.scorer].then
        assert then is not None
        most = self._span(asked.places).times(asked.samples).most
        return self._count(asked.step.name, then, CallRange(most, 0, most), asked.times, (0, asked.samples))

    def _identity(self, step: Step) -> str:
        """Return the key of calls that are made once.

        A judge's reply can serve several scores. Judges of two roles are different, even if they are sent the same.
        """
        if isinstance(step, Verdict | Grade | Compare):
            return f"{step.judgement} {self.scorers[step.scorer].role}"
        return step.fingerprint

    def _times(self, step: Step, times: Mapping[str, tuple[str, ...]], judge: str | None = None) -> tuple[str, ...]:
        """Return the roles whose models multiply a step. `judge` replaces a scorer's own role."""
        upstream = [role for name in _named_by(step) for role in times[name]]
        own: tuple[str, ...] = ()
        match step:
            case Ask():
                own = (step.role,)
            case Converse():
                own = tuple(speaker.role for speaker in step.speakers)
            case Verdict() | Grade() | Compare():
                own = (judge or self.scorers[step.scorer].role,)
        several = [role for role in own if self.roles[role].kind != "single"]
        return tuple(dict.fromkeys((*upstream, *several)))

    def _of(self, asked: SharedStep) -> Iterator[CallCount]:
        """Yield the calls of a shared step: one entry, or one for each speaker of a conversation."""
        step, times = asked.step, asked.times
        times_a_row = asked.samples * asked.repeats
        if isinstance(step, Verdict) and step.loops:
            span, (least, most) = loop_calls(asked.places, self.cases.cases, self.cases.count, self.cases.certain)
            of_a_row = (least * times_a_row, most * times_a_row)
            yield self._count(step.name, self.scorers[step.scorer].role, span.times(times_a_row), times, of_a_row)
            return
        span = self._span(asked.places)
        alike = span.most == self.cases.count and span.least in (0, span.most)
        row = None if alike else (0, times_a_row)
        span = span.times(times_a_row)
        match step:
            case Ask():
                yield self._count(step.name, step.role, span, times, row)
            case Converse():
                range_ = span
                for speaker in step.speakers:
                    opens = speaker.role == step.opens
                    most = (step.limit + 1) // 2 if opens else step.limit // 2
                    turns = CallRange(range_.calls * most, range_.least if opens else 0, range_.most * most)
                    of_row = None if row is None else (0, row[1] * most)
                    if opens and range_.least:  # only the first turn is certain
                        of_row = (0 if row is not None else asked.samples, asked.samples * most)
                    yield self._count(step.name, speaker.role, turns, times, of_row)
            case Retrieve() if step.using is not None:
                yield from self._embedded(asked, step, step.using)
            case Verdict() | Grade():
                yield self._count(step.name, self.scorers[step.scorer].role, span, times, row)
            case Compare():
                compared = next((role.name for role in self.roles.values() if role.kind == "compared"), None)
                judge = self.scorers[step.scorer].role
                others = tuple(role for role in times if role != compared or role == judge)
                count = self._count(step.name, judge, span, others, row)
                yield count.model_copy(update={"pairs": compared})

    def _embedded(self, asked: SharedStep, step: Retrieve, role: str) -> Iterator[CallCount]:
        """Yield the embedding calls of a step. Every text is embedded once.

        If the texts are unknown, the least is zero, because they may have been embedded before.
        """
        pool, span = self.pool[step.name], self._span(asked.places)
        before = self.embedded.setdefault(role, (set(), set()))
        queries = self._queries(asked, pool)
        certain, possible = set[str](), set[str]()
        if queries is not None:
            certain, possible = queries
        if pool.texts is not None and span.most:
            possible |= pool.texts
            certain |= pool.texts if span.least else set()
        least, most = len(certain - before[1]), len(possible - before[1])
        before[0].update(certain)
        before[1].update(possible)
        if pool.texts is None:
            most += pool.most
        asked_for = CallRange(span.most, 0, span.most).times(asked.samples * len(pool.queries))
        if queries is None and not asked.times:
            most += asked_for.most
        range_ = CallRange(most, least, most)
        yield self._count(step.name, role, range_, (), None if least == most == 0 else (0, most))
        if queries is None and asked.times:
            yield self._count(step.name, role, asked_for, asked.times, (0, asked.samples * len(pool.queries)))

    def _queries(self, asked: SharedStep, pool: RetrievalCorpus) -> tuple[set[str], set[str]] | None:
        """Return the query texts that are certain and those that are possible; None if they are unknown."""
        if self.cases.cases is None:
            return None
        certain, possible = set[str](), set[str]()
        for case in self.cases.cases:
            verdicts = [reachability.in_case(step, case) for reachability, step in asked.places]
            if set(verdicts) == {False}:
                continue
            for query in pool.queries:
                text = asked.places[0][0].evaluate(query, case)
                if text is None:
                    return None
                possible.add(text)
                if True in verdicts and self.cases.certain:
                    certain.add(text)
        return certain, possible

    def _count(
        self, step: str, role: str, span: CallRange, times: tuple[str, ...], row: tuple[int, int] | None = None
    ) -> CallCount:
        return CallCount(
            scenario=self.scenario.name,
            step=step,
            role=role,
            calls=span.calls,
            least=span.least,
            most=span.most,
            times=times,
            row=row,
        )

    def _span(self, places: Sequence[tuple[StepReachability, Step]]) -> CallRange:
        """Return the number of cases in which a step runs in some treatment. If a reply decides, the case counts
        towards the most.
        """
        if any(reachability.always(step) for reachability, step in places):
            most = certain = self.cases.count
        elif self.cases.cases is None:
            sure = any(reachability.in_case(step, {}) for reachability, step in places)
            most, certain = self.cases.count, self.cases.count if sure else 0
        else:
            by_case = [[reachability.in_case(step, case) for reachability, step in places] for case in self.cases.cases]
            certain = sum(1 for in_case in by_case if True in in_case)
            most = sum(1 for in_case in by_case if set(in_case) != {False})
        return CallRange(most, certain if self.cases.certain else 0, most)
