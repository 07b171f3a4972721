"""Follows secrets through the steps of a scenario, to everything that the compared role is told.

Whatever stands anywhere in a step that the compared role is asked by is told to it: what is not understood of a step
is told too. What another role was told, it may repeat, by what it says and by saying nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.language import expressions_of, looped, subexpressions
from tripos_compiler.plan import (
    REPLY_PARTS,
    Ask,
    Call,
    Column,
    Compare,
    Converse,
    DeclaredSettings,
    Grade,
    Hole,
    Items,
    Passage,
    Ref,
    Retrieve,
    SampleList,
    Scenario,
    Score,
    Scorer,
    Shots,
    Step,
    Texts,
    Verdict,
)
from tripos_compiler.secrecy.flows import Flows, Revealed, SourcePlaces
from tripos_compiler.secrecy.generation import TableSecrets
from tripos_compiler.secrecy.labels import (
    NONE,
    PUBLIC,
    About,
    Flow,
    Leak,
    Secret,
    Secrets,
    Told,
    onward,
    parted,
    union,
    within,
)
from tripos_compiler.secrecy.regions import Condition
from tripos_compiler.secrecy.scenario_rows import RowsAtHand
from tripos_compiler.secrecy.tables import DatasetSecrets
from tripos_compiler.source import Span, dataclass

SHOWN = "these shots tell"


@dataclass
class Following:
    """Follows secrets through the steps of one treatment of a scenario."""

    tables: DatasetSecrets
    places: SourcePlaces
    scenario: Scenario
    scorers: Mapping[str, Scorer]
    compared: frozenset[str]
    languages: int
    revealed: Callable[[str], Revealed]
    """Given a step, is told of every use of `reveal` in it."""
    names: dict[str, Flow] = field(default_factory=dict)
    leaks: list[Leak] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = RowsAtHand(self.tables, self.scenario)

    def run(self, steps: tuple[Step, ...]) -> list[Leak]:
        """Return the leaks of the steps, in their order."""
        self.names = self.rows.bind()
        rows = dict(self.names)
        for step in steps:
            self._step(step)
        for step in steps:
            self._guard_what_scores(step)
        self.names, self.leaks = rows, []
        for step in steps:
            self._step(step)
        return self.leaks

    # --- what is guarded ---

    def _guard_what_scores(self, step: Step) -> None:
        """A secret by which a reply is scored belongs to the item that is asked about, in whatever rows it stands: one
        that the score itself looks up, or that the row has of single rows."""
        flows = self.flows(step.name)
        match step:
            case Score(value=value) | Column(value=value):
                scored = flows.all(value)
            case Grade(args=args) | Compare(args=args):
                scored = flows.all(*args.values())
            case Verdict(args=args, loops=loops):
                scored = flows.all(looped(loops, Items(values=tuple(args.values()))))
            case _:
                return
        for secret in scored:
            rows = secret.rows
            if not secret.of_model and not rows.own and (rows.part or not rows.other):
                self.rows.guard(About(secret.dataset, secret.column, rows.conditions, at_hand=False))

    # --- steps ---

    def flows(self, step: str, names: Mapping[str, Flow] | None = None) -> Flows:
        """Return what expressions tell in a step."""
        return Flows({**self.names, **(names or {})}, self.tables, self.revealed(step), self.places)

    def _step(self, step: Step) -> None:
        statement = self.places.step(self.scenario.name, step.name)
        match step:
            case Ask():
                self._ask(step, statement)
            case Converse():
                self._converse(step, statement)
            case Retrieve():
                self._retrieve(step, statement)
            case SampleList(of=of):
                said = self.names[of].all
                self.names[step.name] = Flow(said, each=Flow(said))
            case Verdict() | Grade() | Compare():
                self._judge(step, statement)
            case Score() | Column():
                self.flows(step.name).all(*expressions_of(step))  # for what it reveals

    def _reaches(self, role: str, told: list[Told]) -> bool:
        """Note what a compared role may not be told of all this; whether there is any."""
        if role not in self.compared:
            return False
        leaks: list[Leak] = []
        for each in told:
            guarded = {secret: ways for secret, ways in each.secrets.items() if self.rows.guards(secret)}
            if guarded:
                leaks.append(Leak(role, Told(guarded, each.span, each.into)))
        self.leaks += leaks
        return bool(leaks)

    def _ask(self, step: Ask, statement: Statement) -> None:
        told = list(self._told_by(step, statement))
        asked = self._decided(step, statement)
        leaks = self._reaches(step.role, [*told, *asked])
        name = statement.name().span if statement.find_name("name") is not None else statement.head
        said = union(*(each.secrets for each in told))
        whether = onward(union(*(each.secrets for each in asked)), Label(name, f"`{step.name}` is asked or not by it"))
        reply = union(onward(said, Label(name, f"`{step.name}` was told it, and may repeat it")), whether)
        if step.role in self.compared:  # it knows what it may know, or was told what it may not, which is reported
            said, whether = parted(said)[1], parted(whether)[1]
            reply = self._written(step.name, name)
        fields = dict.fromkeys((*REPLY_PARTS, "value", "turns"), Flow(reply))
        if (read := step.read_as) is not None and read.kind == "record":
            fields |= dict.fromkeys(read.fields, Flow(reply))
        fields["prompt"] = Flow(union(said, whether))
        if step.acts:
            came = self.flows(step.name).all(*step.acts)
            came = onward(parted(came)[1] if leaks else came, Label(name, "it comes of the calls"))
            fields |= dict.fromkeys(("so_far", "came"), Flow(union(reply, came)))
        self.names[step.name] = Flow(fields=fields)

    def _written(self, step: str, span: Span) -> Secrets:
        """Return what a reply of the compared role tells: which model wrote it."""
        return {Secret("", step): ((Label(span, f"`{step}` is written by the model"),),)}

    def _told_by(self, step: Ask, statement: Statement) -> Iterator[Told]:
        """Yield all that an ask tells, but whether it is asked."""
        flows = self.flows(step.name)
        known: set[int] = set()
        for texts in (step.system, step.prompt):
            yield from self._texts(texts, flows, statement.head, known)
        yield from self._settings(step.settings, flows, statement.head, known)
        if step.chat is not None:
            known.add(id(step.chat))
            written = statement.one_of("chat")
            span = written.syntax("value").span if written is not None else statement.head
            yield Told(flows.all(step.chat), span, "this chat tells")
        if step.continues is not None:
            written = statement.one_of("continue")
            span = written.name("step").span if written is not None else statement.head
            yield Told(flows.all(Ref(path=(step.continues,))), span, "continuing it tells")
        if step.options is not None:
            known.add(id(step.options))
            written = statement.one_of("likelihood")
            span = written.syntax("options").span if written is not None else statement.head
            yield Told(flows.all(step.options), span, "these options tell")
        if step.offered is not None:
            known.add(id(step.offered))
            written = statement.one_of("tools")
            span = written.head if written is not None else statement.head
            yield Told(flows.all(step.offered), span, "these tools tell")
        if step.acts:
            known |= {id(each) for each in step.acts}
            written = statement.one_of("state")
            span = written.syntax("value").span if written is not None else statement.head
            yield Told(flows.all(*step.acts), span, "the results of its tools tell")
        for shots in step.shots:
            yield from self._shots(shots, step.name, statement)
            known |= {id(expr) for expr in expressions_of(shots)}
        yield from self._spoken(statement.head)
        known |= {id(expr) for expr in expressions_of(step.when)}
        rest = [expr for expr in expressions_of(step) if id(expr) not in known]
        yield Told(flows.all(*rest), statement.head, "this step tells")

    def _decided(self, step: Ask | Converse, statement: Statement) -> list[Told]:
        """Return what it tells that a step takes place."""
        if step.when is None:
            return []
        condition = statement.find("cond")
        span = condition.span if condition is not None and isinstance(step, Ask) else statement.head
        into = "its condition tells" if isinstance(step, Ask) else "whether it takes place tells"
        return [Told(self.flows(step.name).all(step.when), span, into)]

    def _spoken(self, span: Span) -> Iterator[Told]:
        """Yield the language in which the role is asked."""
        if self.languages > 1 and "language" in self.names:
            yield Told(self.names["language"].all, span, "the language of this tells")

    def _texts(self, texts: Texts | None, flows: Flows, head: Span, known: set[int], into: str = "") -> Iterator[Told]:
        """Yield what texts tell, each hole and condition once."""
        for template in (texts or {}).values():
            for part in template.parts:
                if isinstance(part, Passage):
                    holes = [inner for inner in part.parts if isinstance(inner, Hole)]
                    if part.when is not None:
                        known.add(id(part.when))
                        when = self.places.of(part, head)
                        yield Told(flows.all(part.when), when, into or "its condition tells")
                else:
                    holes = [part] if isinstance(part, Hole) else []
                for hole in holes:
                    known.add(id(hole.expr))
                    yield Told(flows.all(hole.expr), self.places.of(hole, head), into or "this prompt tells")

    def _settings(self, settings: DeclaredSettings, flows: Flows, head: Span, known: set[int]) -> Iterator[Told]:
        """Yield what the conditions of settings tell: each request has other settings by them."""
        for when in settings.conditions():
            known.add(id(when))
            yield Told(flows.all(when), self.places.of(when, head), "its condition tells")

    def _shots(self, shots: Shots, step: str, statement: Statement) -> Iterator[Told]:
        """Yield what worked examples tell: by their texts, by which rows they are, and by whether there are any."""
        own = shots.dataset.rpartition(".")[2]
        written = next((each for each in statement.of("shots") if each.name("dataset").text == own), statement)
        table = self.tables.of(shots.dataset)
        where = self.rows.conditions(shots.where, {shots.alias: table})
        row = table.rows.element.mapped(lambda found: within(found, lambda rows: rows.where(where)))
        flows = self.flows(step, {shots.alias: Flow(fields=row.fields)})
        there = union(table.rows.what, table.rows.order)
        if shots.drawn is None:  # a draw goes by the places that rows have among all, whatever the condition
            there = within(there, lambda rows: rows.where(where))
        chosen = [flows.all(shots.where), self.flows(step).all(shots.drawn), there, *self._keys(table, row)]
        yield Told(union(*chosen), written.head, SHOWN)
        for texts in (shots.prompt, shots.reply):
            yield from self._texts(texts, flows, written.head, set(), SHOWN)

    def _keys(self, table: TableSecrets, row: Flow) -> Iterator[Secrets]:
        """Yield the keys of rows and shots: rows of one key are no shots for each other."""
        own = self.names.get(self.rows.alias, PUBLIC)
        for of, fields in ((table, row.fields), (self.rows.table, own.fields)):
            if of is not None and of.key is not None:
                key = self.flows("key", fields).all(of.key)
                span = self.places.of(of.key, self.places.dataset(of.name).head)
                yield onward(key, Label(span, "rows of one key are never shots for each other"))

    def _converse(self, step: Converse, statement: Statement) -> None:
        flows = self.flows(step.name)
        decided = self._decided(step, statement)
        name = statement.name().span
        said: list[Secrets] = []
        leaks = False
        for speaker in step.speakers:
            written = next((each for each in statement.of("speaker") if each.name().text == speaker.role), statement)
            known: set[int] = set()
            told = [*self._texts(speaker.system, flows, written.head, known), *self._spoken(written.head)]
            told += self._settings(speaker.settings, flows, written.head, known)
            rest = [expr for expr in expressions_of(speaker) if id(expr) not in known]
            told.append(Told(flows.all(*rest), written.head, "this tells"))
            leaks = self._reaches(speaker.role, [*told, *decided]) or leaks
            if speaker.role in self.compared:
                said.append(self._written(step.name, name))
                continue
            said.append(union(*(each.secrets for each in told)))
            for hearer in step.speakers:
                heard = [onward(each.secrets, Label(each.span, f"`{speaker.role}` is told it")) for each in told]
                into = f"`{speaker.role}` may say it in this conversation to"
                if hearer is not speaker and self._reaches(hearer.role, [Told(union(*heard), name, into)]):
                    leaks = True
        whether = union(*(each.secrets for each in decided))
        reply = union(
            onward(union(*said), Label(name, f"`{step.name}` may say it")),
            onward(whether, Label(name, f"`{step.name}` takes place or not by it")),
        )
        self.names[step.name] = Flow(parted(reply)[1] if leaks else reply)

    def _retrieve(self, step: Retrieve, statement: Statement) -> None:
        outer = self.flows(step.name)
        source = outer.of(step.source)
        every = element = source.each if source.each is not None else Flow(source.all)
        where: frozenset[Condition] = frozenset()
        if step.source.op == "data" and step.source.field is None:
            where = self.rows.conditions(step.where, {step.alias: self.tables.of(step.source.dataset)})
            element = element.mapped(lambda found: within(found, lambda rows: rows.where(where)))
        # Of two that are alike the first is taken.
        there = within(union(source.what, source.order), lambda rows: rows.where(where))
        flows = self.flows(step.name, {step.alias: element})
        name, top = statement.name().span, statement.one_of("top")
        by = self.flows(step.name, {step.alias: every}).all(step.by)
        if any(isinstance(part, Call) and part.function == "bm25" for part in subexpressions(step.by)):
            by = union(by, source.what)  # how rare a word is, all of the rows decide
        if step.using is not None:
            told = [Told(by, self.places.of(step.by, statement.head), "what is embedded tells")]
            by = NONE if self._reaches(step.using, told) else by
        what = union(
            onward(there, Label(name, f"`{step.name}` holds it")),
            onward(by, Label(top.head if top is not None else name, "`top` chooses by it")),
            onward(flows.all(step.where), Label(name, f"`{step.name}` chooses by it")),
            onward(outer.all(step.when), Label(name, f"`{step.name}` is there by it")),
        )
        put = [outer.of(each) for each in step.include]
        if put:  # they are put among the others by what all of them are
            written = statement.of("include")
            for included, flow in zip(step.include, put, strict=True):
                place = self.places.of(included, statement.head)
                span = next((one.head for one in written if one.head.start <= place.start), place)
                what = union(what, onward(flow.all, Label(span, "is put among them")))
            what = union(what, onward(element.all, Label(name, f"`{step.name}` puts them in order by it")))
        each = element.onward(Label(name, f"`{step.name}` holds it"))
        self.names[step.name] = Flow(what, each=each.mapped(lambda found: within(found, lambda rows: rows.some)))

    def _judge(self, step: Verdict | Grade | Compare, statement: Statement) -> None:
        scorer = self.scorers.get(step.scorer)
        if scorer is None:
            return
        sides = {"first": Flow(fields=self.names), "second": Flow(fields=self.names)}
        flows = self.flows(step.name, sides if isinstance(step, Compare) else {})
        place = self.places.index.judged.get((self.scenario.name, step.name), statement.head)
        told: list[Told] = []
        for loop in step.loops if isinstance(step, Verdict) else ():
            told.append(Told(flows.of(loop.of).what, place, f"whether `{step.scorer}` is asked tells"))
            flows = flows.of_elements(loop)
            told.append(Told(flows.all(loop.where), place, f"whether `{step.scorer}` is asked tells"))
        told += [Told(flows.all(arg), place, f"`{step.scorer}` tells") for arg in step.args.values()]
        shown = dict.fromkeys((*scorer.params, "metrics", *self.scenario.axes, "language"), PUBLIC)
        own = Flows(shown, self.tables, self.revealed(step.scorer), self.places)
        known: set[int] = set()
        for texts in (scorer.system, scorer.prompt):
            told += self._texts(texts, own, statement.head, known)
        told += self._settings(scorer.settings, own, statement.head, known)
        if scorer.chat is not None:
            known.add(id(scorer.chat))
            told.append(Told(own.all(scorer.chat), place, f"`{step.scorer}` tells"))
        earlier = step.earlier or ()
        if step.when is not None or earlier:
            whether = f"whether `{step.scorer}` is asked tells"
            told.append(Told(flows.all(step.when, *earlier), place, whether))
        if scorer.blind:
            self._blind(step, told)
        leaks = self._reaches(scorer.role, told)
        self.names[step.name] = PUBLIC if leaks else Flow(union(*(each.secrets for each in told)))

    def _blind(self, step: Verdict | Grade | Compare, told: list[Told]) -> None:
        """Note what tells a blind judge of the model, but for the reply that it judges."""
        models = [(each, parted(each.secrets)[1]) for each in told]
        replies = {secret.column for _, of_model in models for secret in of_model}
        order = [name for name in self.names if name in replies]
        judged = step.of if not isinstance(step, Verdict) else order[-1] if order else ""
        for each, of_model in models:
            further = {secret: ways for secret, ways in of_model.items() if secret.column != judged}
            if further:
                self.leaks.append(Leak(step.scorer, Told(further, each.span, each.into), judged))
