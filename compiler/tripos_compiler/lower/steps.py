"""Lowers the steps of a scenario: asks, lets and scores. A `let` leaves no step: its name stands for its value."""

from __future__ import annotations

from dataclasses import dataclass, field

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.expressions import Binding, Elaborator, Typed
from tripos_compiler.lower.fingerprints import ask_print, judgement_print, score_print
from tripos_compiler.lower.scorers import settings_of
from tripos_compiler.lower.templates import FilledHole, Localised, lower_texts
from tripos_compiler.plan import Ask, Expr, Grade, Score, Scorer, Step, TextType, Type
from tripos_compiler.program import Program
from tripos_compiler.resolve import scorer_name
from tripos_compiler.semantics.contexts import names_in
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import CallExpr, Name, Number, Syntax
from tripos_compiler.types import fits, read_type, record_type, shown

STEPS = frozenset({"ask", "let", "score", "grade"})


@dataclass
class Steps:
    """Collects the steps of one scenario; `good` is False once any was wrong."""

    program: Program
    scenario: str
    scope: dict[str, Binding]
    lowered: list[Step] = field(default_factory=list)
    good: bool = True
    mentioned: dict[str, set[str]] = field(default_factory=dict)
    asks: dict[str, Ask] = field(default_factory=dict)
    spans: dict[str, Label] = field(default_factory=dict)
    scores: dict[str, tuple[Label, Statement]] = field(default_factory=dict)
    """The first score of every name. Several may share one where each has its `when`."""

    def add(self, statement: Statement) -> None:
        """Lowers a statement of the scenario's body, if it is a step."""
        if statement.construct not in STEPS:
            return
        match statement.construct:
            case "ask":
                done = self._ask(statement)
            case "let":
                done = self._let(statement)
            case "score":
                done = self._score(statement)
            case _:
                done = self._grade(statement, None)
        self.good = self.good and done

    def _named(self, name: Name) -> bool:
        earlier = self.spans.setdefault(name.text, Label(name.span, "first declared here"))
        if earlier.span is not name.span:
            message = f"`{name.text}` is declared twice in this scenario"
            self.program.diagnostics.error("E0202", message, name.span, earlier, help="rename one")
            return False
        if name.text in self.scope:
            message = f"`{name.text}` is a name of this scenario's rows or axes"
            self.program.diagnostics.error("E0202", message, name.span, help="take another name")
            return False
        return True

    def _when(self, statement: Statement) -> Typed | bool | None:
        """The condition of a step; None where there is none, False where it is wrong."""
        condition = statement.find("cond")
        if condition is None:
            return None
        return Elaborator(self.program, self.scope).condition(condition) or False

    @property
    def place(self) -> tuple[str, str]:
        """The benchmark and the scenario, which are part of every fingerprint."""
        benchmark = self.program.benchmark
        return (benchmark.name if benchmark is not None else "", self.scenario)

    def _depends(self, *exprs: Expr | None) -> set[str]:
        """The asks whose replies expressions use, those that these build on included."""
        names = {name for expr in exprs if expr is not None for name in names_in(expr)}
        return {each for name in names if name in self.asks for each in (name, *self.asks[name].needs)}

    def _kind(self, role: str) -> str | None:
        declared = self.program.roles.get(role)
        return declared.kind if declared is not None else None

    def _ask(self, statement: Statement) -> bool:
        name = statement.name()
        good = self._named(name)
        role = self.program.is_declared("role", statement.name("role")) and self._may_answer(statement.name("role"))
        when = self._when(statement)
        prompts, systems = statement.of("prompt"), statement.of("system")
        if not prompts:
            help_ = 'write `prompt "…"` in its block'
            lacking = statement.block.span if statement.block is not None else None
            message = f"`{name.text}` asks nothing"
            self.program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
            self._bind_unknown(name)
            return False
        prompt = lower_texts(self.program, self.scope, prompts, "the prompt")
        system = lower_texts(self.program, self.scope, systems, "the system message") if systems else None
        returns = self._returns(statement)
        parts = [part for part in (prompt, system) if part is not None]
        kept = self._kept_secret(statement.name("role"), parts)
        wrong = not good or not role or when is False or prompt is None or (systems and system is None)
        if wrong or returns is False or not kept or prompt is None:
            self._bind_unknown(name, returns if not isinstance(returns, bool) else None)
            return False
        condition = when.expr if isinstance(when, Typed) else None
        upstream = self._depends(condition, *(hole.typed.expr for part in parts for hole in _holes(part)))
        ask = Ask(
            name=name.text,
            role=statement.name("role").text,
            system=system.texts if system else None,
            prompt=prompt.texts,
            returns=None if isinstance(returns, bool) else returns,
            # What builds on several samples of another ask is asked once for each of them.
            samples=max(self._samples(statement), *(self.asks[name].samples for name in upstream), 1),
            settings=settings_of(self.program, statement),
            when=condition,
            needs=tuple(sorted(upstream)),
            fingerprint="",
        )
        ask = ask.model_copy(update={"fingerprint": ask_print(self.place, ask, self.asks, self.program.axes)})
        self.asks[name.text] = ask
        self.lowered.append(ask)
        self._bind(ask, parts)
        for part in parts:
            for language, holes in part.holes.items():
                names = {found for hole in holes for found in names_in(hole.typed.expr)}
                self.mentioned.setdefault(language, set()).update(names)
        return True

    def _samples(self, statement: Statement) -> int:
        samples = statement.one_of("samples")
        count = samples.syntax("count") if samples else None
        return max(1, int(count.value)) if isinstance(count, Number) else 1

    def _returns(self, statement: Statement) -> Type | bool | None:
        """The type of the reply; None where it is plain text, False where it is wrong."""
        returns = statement.one_of("returns")
        if returns is None:
            return None
        written = returns.find("type")
        if written is not None and returns.block is None:
            return read_type(self.program, written) or False
        if written is None and returns.block is not None:
            return record_type(self.program, returns.body, returns.block.span) or False
        help_ = "write `returns TYPE` or `returns { field type }`"
        self.program.diagnostics.error("E0106", "`returns` takes a type or a block", returns.head, help=help_)
        return False

    def _may_answer(self, role: Name) -> bool:
        if self._kind(role.text) != "panel":
            return True
        message = f"`{role.text}` is a panel: it grades, and answers no questions"
        help_ = "ask a role of its own, or declare this one without `panel`"
        self.program.diagnostics.error("E0208", message, role.span, help=help_)
        return False

    def _kept_secret(self, role: Name, parts: list[Localised]) -> bool:
        told = {hole.span.start: hole for part in parts for hole in _holes(part)}
        return all([self._unrevealed(role.text, hole.typed, hole.span, "this prompt") for hole in told.values()])  # noqa: C419 - report every one

    def _unrevealed(self, role: str, typed: Typed, span: Span, into: str) -> bool:
        """Whether nothing secret reaches the compared role here; reports the way that a secret takes."""
        if self._kind(role) != "compared" or not typed.secret:
            return True
        message = f"the secret `{typed.secret[0]}` reaches the compared role `{role}`"
        way = " → ".join((*typed.secret, into))
        help_ = "leave it to the graders, or say `reveal(…)` where the protocol wants it shown"
        self.program.diagnostics.error("E0501", message, span, help=help_, notes=[f"the way: {way}"])
        return False

    def _bind(self, ask: Ask, parts: list[Localised]) -> None:
        leaks = next((hole.typed.secret for part in parts for hole in _holes(part) if hole.typed.secret), ())
        secret = (*leaks, f"the reply `{ask.name}`") if leaks else ()
        fields = {
            "text": Binding((ask.name, "text"), TextType(), secret),
            "prompt": Binding((ask.name, "prompt"), TextType(), leaks),
        }
        whole: Binding | None = fields["text"]
        if ask.returns is not None and ask.returns.kind == "record":
            whole = None
            fields |= {key: Binding((ask.name, key), of, secret) for key, of in ask.returns.fields.items()}
        elif ask.returns is not None:
            whole = Binding((ask.name, "value"), ask.returns, secret)
        self.scope[ask.name] = Binding(
            whole.path if whole else (ask.name,), whole.type if whole else None, secret, fields
        )

    def _bind_unknown(self, name: Name, returns: Type | None = None) -> None:
        """Keeps uses of a step that was reported from being reported too."""
        self.scope.setdefault(name.text, Binding((name.text,)))

    def _let(self, statement: Statement) -> bool:
        name = statement.name()
        good = self._named(name)
        typed = Elaborator(self.program, self.scope).expression(statement.syntax("value"))
        if typed is None or not good:
            self._bind_unknown(name)
            return False
        secret = (*typed.secret, f"let {name.text}") if typed.secret else ()
        self.scope[name.text] = Binding((name.text,), typed.type, secret, value=typed.expr)
        return True

    def _score(self, statement: Statement) -> bool:
        value = statement.syntax("value")
        name = statement.name()
        if not self._free(name, statement):
            return False
        scorers = self.program.declared.get("scorer", {})
        if isinstance(value, CallExpr) and isinstance(value.function, Name) and value.function.text in scorers:
            return self._grade(statement, name)
        when = self._when(statement)
        typed = Elaborator(self.program, self.scope).expression(value)
        if typed is None or when is False:
            return False
        if typed.type.kind == "optional" and typed.type.of.kind in ("bool", "integer", "number"):
            help_ = "say what counts then: `default(…, 0)`"
            self.program.diagnostics.error("E0306", "this score may be missing", value.span, help=help_)
            return False
        if typed.type.kind not in ("bool", "integer", "number"):
            help_ = "a score is a bool or a number"
            message = f"this is `{shown(typed.type)}`, not a score"
            self.program.diagnostics.error("E0301", message, value.span, help=help_)
            return False
        condition = when.expr if isinstance(when, Typed) else None
        needs = self._depends(condition, typed.expr)
        of = self._scored(value, needs)
        if of is None:
            return False
        self.lowered.append(
            Score(
                name=name.text,
                value=typed.expr,
                of=of,
                needs=tuple(sorted(needs)),
                truth=typed.type.kind == "bool",
                when=condition,
                fingerprint=score_print(self.place, name.text, typed.expr, condition, needs, self.asks),
            )
        )
        return True

    def _free(self, name: Name, statement: Statement) -> bool:
        """Whether a score may have this name: no scorer or metric has it, and no other score that always holds."""
        own = scorer_name(statement.syntax("value")) if statement.construct == "score" else name
        for kind in ("scorer", "metric"):
            taken = self.program.declared.get(kind, {}).get(name.text)
            if taken is not None and (own is None or own.text != name.text):
                label = Label(taken.span, "declared here")
                message = f"`{name.text}` is a {kind} already, and their means would mix"
                self.program.diagnostics.error("E0202", message, name.span, label, help="rename the score")
                return False
        earlier, first = self.scores.setdefault(name.text, (Label(name.span, "first declared here"), statement))
        if first is not statement and not (first.find("cond") and statement.find("cond")):
            message = f"score `{name.text}` is declared twice in this scenario"
            help_ = "rename one, or give each its `when`"
            self.program.diagnostics.error("E0202", message, name.span, earlier, help=help_)
            return False
        return True

    def _scored(self, syntax: Syntax, needs: set[str]) -> str | None:
        """The ask that is scored, the last of the compared role that a score depends on; none is a mistake."""
        compared = [name for name, ask in self.asks.items() if name in needs and self._kind(ask.role) == "compared"]
        if compared:
            return compared[-1]
        if all(role.kind != "compared" for role in self.program.roles.values()):
            return None  # reported already
        help_ = "score something that depends on a reply of the role under test, such as `answer.text`"
        message = "this score depends on no reply of the compared role"
        self.program.diagnostics.error("E0301", message, syntax.span, help=help_)
        return None

    def _grade(self, statement: Statement, name: Name | None) -> bool:
        call = statement.syntax("value") if name is not None else statement.syntax("call")
        if not isinstance(call, CallExpr) or not isinstance(call.function, Name):
            help_ = "it is written `score NAME = VALUE` or `score SCORER(…)`"
            self.program.diagnostics.error("E0106", "this is not a scorer applied", call.span, help=help_)
            return False
        function = call.function
        if not self.program.is_declared("scorer", function):
            return False
        when = self._when(statement)
        scorer = self.program.scorers.get(function.text)
        if scorer is None or when is False:
            return False
        args = self._scorer_args(call, scorer)
        if args is None:
            return False
        if name is None and not self._free(function, statement):
            return False
        kept = [self._unrevealed(scorer.role, typed, call.span, f"`{scorer.name}`") for typed in args.values()]
        metrics = self._metrics(scorer, statement, name)
        condition = when.expr if isinstance(when, Typed) else None
        exprs = {key: typed.expr for key, typed in args.items()}
        needs = self._depends(condition, *exprs.values())
        of = self._scored(call, needs)
        if metrics is None or of is None or not all(kept):
            return False
        rubric = [self.program.metrics[metric] for metric in metrics]
        title = name.text if name is not None else scorer.name
        judgement = judgement_print(self.place, scorer, exprs, rubric, needs, self.asks, self.program.axes)
        named = score_print(self.place, f"{scorer.name} {title}", judgement, condition, needs, self.asks)
        self.lowered.append(
            Grade(
                name=title,
                scorer=scorer.name,
                args=exprs,
                of=of,
                needs=tuple(sorted(needs)),
                metrics=metrics,
                when=condition,
                judgement=judgement,
                fingerprint=named,
            )
        )
        return True

    def _metrics(self, scorer: Scorer, statement: Statement, name: Name | None) -> tuple[str, ...] | None:
        if scorer.gives is not None:
            if name is None:
                message = f"`{scorer.name}` gives one value, which needs a name"
                help_ = f"write `score NAME = {scorer.name}(…)`"
                self.program.diagnostics.error("E0106", message, statement.head, help=help_)
                return None
            return ()
        tables = [table for table in self.program.of("allocate") if table.name("scorer").text == scorer.name]
        if not tables:
            message = f"no table allocates the metrics of `{scorer.name}`"
            help_ = f"write `allocate {scorer.name} {{ | | METRIC | … }}`"
            self.program.diagnostics.error("E0602", message, statement.head, help=help_, unknown=scorer.name)
            return None
        if self.scenario not in self.program.table_rows.get(scorer.name, {self.scenario}):
            message = f"the table of `{scorer.name}` has no row for scenario `{self.scenario}`"
            table = Label(tables[0].head, "the table")
            self.program.diagnostics.error("E0602", message, statement.head, table, help="add a row for it")
            return None
        declared = self.program.allocation.get(scorer.name)
        if declared is None:
            return None
        if any(metric not in self.program.metrics for metric in declared[self.scenario]):
            return None
        return declared[self.scenario]

    def _scorer_args(self, call: CallExpr, scorer: Scorer) -> dict[str, Typed] | None:
        shape = ", ".join(f"{name}: {shown(type_)}" for name, type_ in scorer.params.items())
        help_ = f"it is `{scorer.name}({shape})`"
        free = dict(scorer.params)
        given: dict[str, Typed] = {}
        good = True
        for argument in call.arguments:
            key = argument.name.text if argument.name is not None else next(iter(free), "")
            wanted = free.pop(key, None)
            if wanted is None or len(argument.elements) != 1:
                message = "this argument is one too many or misnamed"
                self.program.diagnostics.error("E0303", message, argument.span, help=help_)
                good = False
                continue
            typed = Elaborator(self.program, self.scope).expression(argument.elements[0])
            if typed is None:
                good = False
            elif not fits(typed.type, wanted):
                message = f"`{key}` must be `{shown(wanted)}`, this is `{shown(typed.type)}`"
                self.program.diagnostics.error("E0301", message, argument.span, help=help_)
                good = False
            else:
                given[key] = typed
        if free and good:
            message = f"`{next(iter(free))}` is not given"
            self.program.diagnostics.error("E0303", message, call.span, help=help_)
            good = False
        return given if good else None


def _holes(part: Localised) -> list[FilledHole]:
    return [hole for holes in part.holes.values() for hole in holes]
