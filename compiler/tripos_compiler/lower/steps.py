"""Lowers the steps of a scenario: asks, lets and scores, with their fingerprints and call counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.expressions import Binding, Elaborator, Typed
from tripos_compiler.lower.scorers import settings_of
from tripos_compiler.lower.templates import FilledHole, Localised, lower_texts
from tripos_compiler.plan import Ask, Expr, Grade, Let, Score, Scorer, Step, Texts, TextType, Type, digest
from tripos_compiler.program import Program
from tripos_compiler.semantics.contexts import names_in
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
    needs: dict[str, set[str]] = field(default_factory=dict)
    """For every named value the asks it depends on."""
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

    def _depends(self, *exprs: Expr | None) -> set[str]:
        names = {name for expr in exprs if expr is not None for name in names_in(expr)}
        return {ask for name in names for ask in self.needs.get(name, set())}

    def _ask(self, statement: Statement) -> bool:
        name = statement.name()
        good = self._named(name)
        role = self.program.is_declared("role", statement.name("role"))
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
        upstream = self._depends(*(hole.typed.expr for part in parts for hole in _holes(part)))
        ask = Ask(
            name=name.text,
            role=statement.name("role").text,
            system=system.texts if system else None,
            prompt=prompt.texts,
            returns=None if isinstance(returns, bool) else returns,
            samples=self._samples(statement),
            settings=settings_of(self.program, statement),
            when=when.expr if isinstance(when, Typed) else None,
            needs=tuple(sorted(upstream)),
            fingerprint="",
        )
        named = digest([self.scenario, self._sent(ask), sorted(self.asks[other].fingerprint for other in upstream)])
        ask = ask.model_copy(update={"fingerprint": named})
        self.asks[name.text] = ask
        self.needs[name.text] = {name.text} | upstream
        self.lowered.append(ask)
        self._bind(ask, parts)
        for part in parts:
            for language, holes in part.holes.items():
                names = {found for hole in holes for found in names_in(hole.typed.expr)}
                self.mentioned.setdefault(language, set()).update(names)
        return True

    def _sent(self, ask: Ask) -> object:
        """What of an ask determines its replies, labels of the axes it prints included."""
        texts = [texts for texts in (ask.system, ask.prompt) if texts is not None]
        returns = ask.returns.model_dump(mode="json") if ask.returns else None
        return [ask.role, [_dump(t) for t in texts], self._labels(texts), returns, ask.settings.model_dump(mode="json")]

    def _labels(self, texts: list[Texts]) -> object:
        used = {
            name
            for localised in texts
            for template in localised.values()
            for part in template.parts
            if not isinstance(part, str)
            for name in names_in(part.expr)
        }
        axes = self.program.axes
        return [[value.labels for value in axes[name].values] for name in sorted(used) if name in axes]

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

    def _kept_secret(self, role: Name, parts: list[Localised]) -> bool:
        declared = self.program.roles.get(role.text)
        if declared is None or declared.kind != "compared":
            return True
        good = True
        told: set[int] = set()
        for part in parts:
            for hole in _holes(part):
                secret = hole.typed.secret
                if not secret or hole.span.start in told:
                    continue
                told.add(hole.span.start)
                message = f"the secret `{secret[0]}` reaches the compared role `{role.text}`"
                way = " → ".join((*secret, "this prompt"))
                help_ = "leave it to the graders, or say `reveal(…)` where the protocol wants it shown"
                self.program.diagnostics.error("E0501", message, hole.span, help=help_, notes=[f"the way: {way}"])
                good = False
        return good

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
        self.scope[name.text] = Binding((name.text,), typed.type, secret)
        self.needs[name.text] = self._depends(typed.expr)
        self.lowered.append(Let(name=name.text, value=typed.expr, type=typed.type))
        return True

    def _score(self, statement: Statement) -> bool:
        value = statement.syntax("value")
        name = statement.name()
        earlier, first = self.scores.setdefault(name.text, (Label(name.span, "first declared here"), statement))
        if first is not statement and not (first.find("cond") and statement.find("cond")):
            message = f"score `{name.text}` is declared twice in this scenario"
            self.program.diagnostics.error(
                "E0202", message, name.span, earlier, help="rename one, or give each its `when`"
            )
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
        of = self._scored(value, typed.expr)
        if of is None:
            return False
        condition = when.expr if isinstance(when, Typed) else None
        named = digest([self.scenario, name.text, typed.expr.model_dump(mode="json"), self.asks[of].fingerprint])
        truth = typed.type.kind == "bool"
        self.lowered.append(
            Score(name=name.text, value=typed.expr, of=of, truth=truth, when=condition, fingerprint=named)
        )
        return True

    def _scored(self, syntax: Syntax, *exprs: Expr) -> str | None:
        """The last ask that a score depends on; a score of no reply is a mistake."""
        depends = self._depends(*exprs)
        if depends:
            return next(name for name in reversed(list(self.asks)) if name in depends)
        help_ = "score something that depends on a reply, such as `answer.text`"
        self.program.diagnostics.error("E0301", "this score depends on no reply", syntax.span, help=help_)
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
        metrics = self._metrics(scorer, statement, name)
        of = self._scored(call, *(typed.expr for typed in args.values()))
        if metrics is None or of is None:
            return False
        exprs = {key: typed.expr for key, typed in args.items()}
        rubric = [self.program.metrics[metric].model_dump(mode="json", exclude={"dimension"}) for metric in metrics]
        shape = [_dump(scorer.prompt), _dump(scorer.system or {}), scorer.settings.model_dump(mode="json")]
        gives = scorer.gives.model_dump(mode="json") if scorer.gives is not None else None
        sources = {key: expr.model_dump(mode="json") for key, expr in exprs.items()}
        named = digest([self.scenario, shape, gives, sources, rubric, self.asks[of].fingerprint])
        self.lowered.append(
            Grade(
                name=name.text if name is not None else scorer.name,
                scorer=scorer.name,
                args=exprs,
                of=of,
                metrics=metrics,
                when=when.expr if isinstance(when, Typed) else None,
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


def _dump(texts: Texts) -> object:
    return {language: template.model_dump(mode="json") for language, template in texts.items()}
