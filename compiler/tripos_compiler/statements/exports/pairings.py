"""Lowers `export NAME { pairs from DATASET … }`: better and worse texts of the rows of a data set."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.language import media_printed
from tripos_compiler.language.library import fits, type_notation
from tripos_compiler.plan import (
    AskedAs,
    BoolType,
    Expr,
    ListType,
    Literal_,
    NumberType,
    PairedReply,
    Pairing,
    Partner,
    RecordType,
    Template,
    TextType,
    Type,
)
from tripos_compiler.resolve import Binding, LoadedDataset, Program, Scope, Typed, record_fields, row_binding
from tripos_compiler.source import Name, Number, Syntax
from tripos_compiler.statements.exports.row_overlap import Splits
from tripos_compiler.statements.exports.scenario_questions import lower_asked_as, lower_partner, rows_of_file
from tripos_compiler.statements.measures import check_own_line
from tripos_compiler.typing import Elaborator, lower_texts

ONLY_PAIRED = ("pair_group", "pair_prompt", "pair_reply", "pair_use", "asked_as", "partner")
"""What stands only in an export of the rows of a data set."""
NOT_PAIRED = ("best", "pairs", "rows", "only", "format")
"""What stands only in an export of replies."""
TURN = RecordType(fields={"speaker": TextType(), "text": TextType()})


def misplaced(program: Program, statement: Statement) -> bool:
    """Report what belongs to exports of another kind."""
    paired = statement.one_of("pairs_from") is not None or statement.one_of("examples_from") is not None
    found = [inner for inner in statement.body if inner.construct in (NOT_PAIRED if paired else ONLY_PAIRED)]
    for inner in found:
        if paired:
            message = "this export is of the rows of a data set, and this is said of replies of models"
            help_ = "make two exports"
        else:
            message = "this is said of the rows of a data set, and the export is of replies of models"
            help_ = "write `pairs from DATASET`, or make two exports"
        program.diagnostics.error("E0202", message, inner.head, help=help_)
    return bool(found)


def lower_pairing(program: Program, statement: Statement, pairs: Statement) -> Pairing | None:
    """Return an export of pairs out of a data set; None where anything is wrong, which was reported."""
    name, dataset = statement.name(), pairs.name("dataset")
    loaded = rows_of_file(program, dataset, "pairs are of the rows of a file")
    if loaded is None:
        return None
    examples = pairs.construct == "examples_from"
    if examples and not _apart(program, loaded.dataset.name, dataset):
        return None
    alias = pairs.find_name("alias") or dataset
    scope = {alias.text: row_binding(loaded, alias.text, alias.span)}
    asked = _asked(program, statement, scope, {alias.text: loaded}, examples)
    if asked is None:
        return None
    asks, beside = asked
    lowering = _Lowering(program, scope)
    where = lowering.value(pairs.find("filter"), None, "a condition", condition=True)
    groups = [lowering.value(each.syntax("value"), TextType(), "a group") for each in statement.of("pair_group")]
    prompt = _prompt(program, scope, statement)
    replies = [lowering.reply(each) for each in statement.of("pair_reply")]
    held = _held_out(program, statement)
    margin = pairs.find("number")
    use = statement.one_of("pair_use")
    if not replies:
        message = f"export `{name.text}` does not say what is paired"
        help_ = "write two at least: `reply d.good worth 1` and `reply d.bad worth 0`"
        help_ = "say what is answered: `reply d.answer`" if examples else help_
        lacking = statement.block.span if statement.block is not None else None
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
    elif examples and prompt is None and asks is None:
        lacking = statement.block.span if statement.block is not None else None
        message = f"export `{name.text}` does not say what is answered"
        help_ = 'write `prompt "…"`, or `asks STEP of SCENARIO`'
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return None
    elif not examples and len(replies) == 1 and statement.of("pair_reply")[0].find("list") is None:
        head = statement.of("pair_reply")[0].head
        help_ = "write another `reply`, or take one `from` a list"
        program.diagnostics.error("E0206", "one reply makes no pair", head, help=help_)
        return None
    if not lowering.good or prompt is False or not replies or held is None:
        return None
    return Pairing(
        name=name.text,
        kind="examples" if examples else "paired",
        dataset=loaded.dataset.name,
        alias=alias.text,
        where=where,
        margin=float(margin.value) if isinstance(margin, Number) else 0.0,
        groups=tuple(each for each in groups if each is not None),
        prompt=prompt if isinstance(prompt, Template) else None,
        asks=asks,
        beside=beside,
        replies=tuple(each for each in replies if each is not None),
        holds_out=held,
        use=None if use is None else "test" if use.has("test") else "training",
    )


def _asked(
    program: Program, statement: Statement, scope: dict[str, Binding], rows: dict[str, LoadedDataset], examples: bool
) -> tuple[AskedAs | None, Partner | None] | None:
    """Return what a scenario asks in the place of a prompt, and the row beside each, which is put into `scope`; None
    where either is wrong, which was reported."""
    asked_as, partner = statement.one_of("asked_as"), statement.one_of("partner")
    for each in (asked_as, partner):
        if each is not None and not examples:
            message = "pairs are of the texts of a row, and this is said of examples"
            program.diagnostics.error("E0202", message, each.head, help="write `examples from DATASET`")
            return None
    beside = None
    if partner is not None:
        found = lower_partner(program, partner, scope)
        if found is None or not _apart(program, found[0].dataset, partner.name("dataset")):
            return None
        beside, rows[found[0].alias], scope[found[0].alias] = found
    if asked_as is None:
        return None, beside
    if own := statement.of("pair_prompt"):
        message = f"export `{statement.name().text}` has a prompt of its own, or asks what a scenario does, not both"
        program.diagnostics.error(
            "E0202", message, asked_as.head, Label(own[0].head, "the first"), help="remove one of them"
        )
        return None
    asks = lower_asked_as(program, asked_as, rows)
    return None if asks is None else (asks, beside)


def _held_out(program: Program, statement: Statement) -> tuple[str, ...] | None:
    """Return the data sets whose texts are kept out; None where one is none that is read from a file."""
    holds = statement.one_of("holds")
    if holds is None:
        return ()
    names = holds.many("subsets")
    if not check_own_line(program, names, ("pairs", "examples", "for", "group", "prompt", "reply")):
        return None
    found = []
    for name in names:
        if not isinstance(name, Name) or not program.is_declared("dataset", name):
            if not isinstance(name, Name):
                program.diagnostics.error("E0106", "name a data set", name.span, help="`holds out DATASET`")
            return None
        loaded = program.loaded.get(name.text)
        if loaded is None:
            message = f"`{name.text}` is made by a run, and its texts are not known yet"
            program.diagnostics.error("E0301", message, name.span, help="name a data set that is read from a file")
            return None
        found.append(name.text)
    return tuple(found)


def _apart(program: Program, dataset: str, written: Name) -> bool:
    """Return true if nobody is asked about the rows of a data set; reports where they are."""
    if not Splits(program).asked_about(dataset):
        return True
    message = f"the rows of `{dataset}` are asked themselves, and who learned them would be graded on them"
    program.diagnostics.error("E0504", message, written.span, help="take a split that no scenario runs over")
    return False


def _prompt(program: Program, scope: Scope, statement: Statement) -> Template | bool | None:
    """Return the template of what is replied to; None where there is none, False where it is wrong."""
    written = statement.of("pair_prompt")
    if not written:
        return None
    texts = lower_texts(program, scope, written, f"the prompt of export `{statement.name().text}`")
    if texts is None:
        return False
    template = texts.texts[program.languages[0]]
    if media_printed(template):
        message = f"the prompt of export `{statement.name().text}` shows images or files, and training data are texts"
        program.diagnostics.error("E0301", message, written[0].head, help="print texts alone")
        return False
    return template


class _Lowering:
    """Lowers the values of one export; `good` until one is wrong."""

    def __init__(self, program: Program, scope: Scope) -> None:
        self.program = program
        self.scope = scope
        self.good = True

    def value(
        self,
        syntax: Syntax | None,
        wanted: Type | None,
        what: str,
        scope: Scope | None = None,
        *,
        condition: bool = False,
    ) -> Expr | None:
        """Return the expression that is written, None where there is none or it is wrong."""
        if syntax is None:
            return None
        typed = self._typed(syntax, wanted, what, scope, condition=condition)
        return typed.expr if typed is not None else None

    def _typed(
        self,
        syntax: Syntax,
        wanted: Type | None,
        what: str,
        scope: Scope | None = None,
        *,
        condition: bool = False,
    ) -> Typed | None:
        seen = self.scope if scope is None else scope
        self.program.index.scopes.append((syntax.span, seen))
        elaborator = Elaborator(self.program, seen)
        typed = elaborator.condition(syntax) if condition else elaborator.expression(syntax, wanted, what)
        self.good = self.good and typed is not None
        return typed

    def reply(self, statement: Statement) -> PairedReply | None:
        """`reply VALUE [from LIST as ALIAS] [by WHO] [worth WORTH] [when COND]`."""
        scope, each, alias = self.scope, None, statement.find_name("alias")
        listed = statement.find("list")
        if listed is not None and alias is not None:
            found = self._typed(listed, None, "this")
            element = _element(found.type) if found is not None else None
            if found is None or element is None or alias.text in self.scope:
                self._no_list(listed, found, alias)
                return None
            each = found.expr
            fields = record_fields((alias.text,), element, alias.span)
            scope = {**scope, alias.text: Binding((alias.text,), element, fields, span=alias.span)}
        text = self._text(statement.syntax("value"), scope)
        worth = self._worth(statement.find("worth"), scope)
        by = self.value(statement.find("who"), TextType(), "who wrote a reply", scope)
        when = self.value(statement.find("cond"), None, "a condition", scope, condition=True)
        if not self.good or text is None:
            return None
        return PairedReply(
            text=text,
            each=each,
            alias=alias.text if alias is not None else None,
            worth=worth if worth is not None else Literal_(value=0),
            by=by,
            when=when,
        )

    def _worth(self, syntax: Syntax | None, scope: Scope) -> Expr | None:
        """Return a number, or a list of criteria: then it is how many of them are met."""
        if syntax is None:
            return None
        typed = self._typed(syntax, None, "what a reply is worth", scope)
        if typed is None:
            return None
        if fits(typed.type, NumberType()) or (isinstance(typed.type, ListType) and fits(typed.type.of, BoolType())):
            return typed.expr
        self.good = False
        message = f"the worth of a reply must be `number`, or a list of criteria, this is `{type_notation(typed.type)}`"
        self.program.diagnostics.error("E0301", message, syntax.span)
        return None

    def _text(self, syntax: Syntax, scope: Scope) -> Expr | None:
        """Return a text, or one that may be missing: then the row has no such reply."""
        typed = self._typed(syntax, None, "a reply", scope)
        if typed is None:
            return None
        of = typed.type.of if typed.type.kind == "optional" else typed.type
        if fits(of, TextType()):
            return typed.expr
        self.good = False
        help_ = "take one of each: `reply t from LIST as t`" if typed.type.kind in ("list", "dialogue") else None
        message = f"a reply must be `text`, this is `{type_notation(typed.type)}`"
        self.program.diagnostics.error("E0301", message, syntax.span, help=help_)
        return None

    def _no_list(self, syntax: Syntax, found: Typed | None, alias: Name) -> None:
        self.good = False
        if alias.text in self.scope:
            message = f"`{alias.text}` is the row already"
            self.program.diagnostics.error("E0202", message, alias.span, help="give it another name: `as x`")
        elif found is not None:
            message = f"`{type_notation(found.type)}` holds nothing to reply with"
            self.program.diagnostics.error("E0301", message, syntax.span, help="name a list or a dialogue")


def _element(type_: Type) -> Type | None:
    if isinstance(type_, ListType):
        return type_.of
    return TURN if type_.kind == "dialogue" else None
