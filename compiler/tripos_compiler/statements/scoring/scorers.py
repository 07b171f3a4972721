"""Lowers scorers: judges and models that give numbers, formulas, functions in Python; and named values, as formulas."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.constructs import Statement
from tripos_compiler.language import names_in
from tripos_compiler.plan import DeclaredSettings, Expr, MetricsType, NumberType, Scorer, Type, weighed_fields
from tripos_compiler.resolve import (
    KINDS,
    Binding,
    FormulaScorer,
    Program,
    forget_diagnostics,
    has_lost_part,
    numbers_of,
    scorer_name,
)
from tripos_compiler.source import CallExpr, Name, Number, dataclass
from tripos_compiler.statements.analysis import template_expressions
from tripos_compiler.statements.scoring.formulas import late_formulas, lower_formula, lower_formulas
from tripos_compiler.statements.scoring.functions import Parameters, free_name, lower_parameters, lower_python_scorer
from tripos_compiler.statements.scoring.number_models import (
    Gives,
    gives_similarity,
    is_fair,
    lower_chat,
    lower_similarity,
)
from tripos_compiler.statements.scoring.programs import lower_program_scorer
from tripos_compiler.statements.settings import lower_samples, lower_settings
from tripos_compiler.typing import FilledHole, Localised, lower_texts, read_type

WRITTEN = {
    "scorer": "scorer NAME(response: text) by ROLE { … }",
    "formula": "scorer NAME(response: text) = VALUE",
    "named": "let NAME(stem: text) = VALUE",
    "python_scorer": 'scorer NAME(response: text) -> TYPE from "file.py:function"',
    "program_scorer": 'scorer NAME(response: text) -> TYPE from program "file.py"',
}


@dataclass(frozen=True)
class Waiting:
    """Scorers that are lowered after the data sets: judges, and formulas that ask them or look into data."""

    judges: tuple[tuple[Statement, Name, Parameters | None], ...]
    formulas: tuple[tuple[FormulaScorer, Parameters], ...]


def lower_early_scorers(program: Program) -> Waiting:
    """Scorers in Python, and the formulas and `let`s that ask nobody and look into no data, which data sets and judges
    may use. The rest is given back."""
    formulas: list[tuple[FormulaScorer, Parameters]] = []
    judges: list[tuple[Statement, Name, Parameters | None]] = []
    for statement in program.of(*KINDS["scorer"]):
        call = statement.syntax("call")
        name = scorer_name(call)
        if not isinstance(call, CallExpr) or name is None:
            help_ = f"it is written `{WRITTEN[statement.construct]}`"
            what = "a `let` at the top of a file" if statement.construct == "named" else "a scorer"
            program.diagnostics.error("E0106", f"{what} needs a name and parameters", call.span, help=help_)
            continue
        if program.declared["scorer"][name.text] is name:
            free_name(program, "scorer", name)
        parameters = lower_parameters(program, f"scorer {name.text}", call.arguments)
        match statement.construct:
            case "scorer":
                judges.append((statement, name, parameters))
            case "python_scorer":
                lower_python_scorer(program, statement, name, parameters)
            case "program_scorer":
                lower_program_scorer(program, statement, name, parameters)
            case _:
                formula = lower_formula(program, statement, name, parameters)
                formulas.extend([formula] if formula is not None else [])
    data = frozenset(program.declared.get("dataset", {}))
    late = late_formulas([formula for formula, _ in formulas], {name.text for _, name, _ in judges}, data)
    program.late = {**{name.text: "asks a judge" for _, name, _ in judges}, **late}
    lower_formulas(program, [each for each in formulas if each[0].name.text not in late])
    return Waiting(tuple(judges), tuple(each for each in formulas if each[0].name.text in late))


def lower_scorers(program: Program, waiting: Waiting) -> None:
    """Judges, and then the formulas that ask them or look into data."""
    for statement, name, parameters in waiting.judges:
        lower = lower_similarity if gives_similarity(statement) else _judge
        lower(program, statement, name, parameters)
    program.late = {}
    lower_formulas(program, list(waiting.formulas))


def _judge(program: Program, statement: Statement, name: Name, parameters: Parameters | None) -> None:
    role = statement.name("role")
    role_known = program.is_declared("role", role)
    gives, prompts = statement.one_of("gives"), statement.of("prompt")
    if gives is None or not prompts:
        what = "`gives`" if gives is None else "`prompt`"
        help_ = "write `gives allocated metrics`" if gives is None else 'write `prompt "…"`'
        lacking = statement.block.span if statement.block is not None else None
        message = f"scorer `{name.text}` has no {what}"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return
    given = _gives(program, gives)
    fair = given is None or is_fair(program, statement, role, given)
    if parameters is None or not role_known:
        return
    scope = dict(parameters.scope)
    if given is not None and given.type is None:
        if "metrics" in scope:
            message = "`metrics` are the allocated ones here"
            program.diagnostics.error("E0202", message, scope["metrics"].span or name.span, help="rename the parameter")
        scope["metrics"] = Binding(("metrics",), MetricsType())
    if given is None:
        scope.setdefault("metrics", Binding(("metrics",)))  # what it gives was reported
    mark = len(program.diagnostics.items)
    prompt = lower_texts(program, scope, prompts, "the prompt")
    systems = statement.of("system")
    system = lower_texts(program, scope, systems, "the system message") if systems else None
    if has_lost_part(program, statement):
        forget_diagnostics(program, mark, "E0402")  # what was left out may be the text in the other language
    lowered = lower_settings(program, scope, statement)
    if lowered is None:
        return
    settings = lowered.declared
    _check_repeats(program, statement, name, settings)
    cascaded = is_cascade(statement)
    weighs = settings.top_logprobs is not None
    if not _may_weigh(program, gives, name, given, weighs):
        return
    agreement = Agreement(lower_samples(statement), weighs, given.type if given is not None else None)
    cascade = lower_cascade(program, statement, role, agreement) if cascaded else None
    chat = lower_chat(program, scope, statement, given)
    unclear = chat is False or (systems and system is None) or (cascaded and cascade is None)
    if prompt is None or given is None or not fair or unclear:
        return
    if given.type is None and not _mentions_metrics(prompt.holes, system.holes if system else {}):
        help_ = "put `{{ metrics }}` into the prompt"
        message = f"scorer `{name.text}` gives metrics, and no text tells the judge which"
        program.diagnostics.error("E0701", message, prompts[0].head, help=help_)
        return
    history = None if isinstance(chat, bool) else chat
    shown = [*lowered.expressions, *([] if history is None else [history])]
    _check_arguments_shown(program, name, parameters, prompt, system, shown)
    program.index.define("scorer", name.text, name.span, detail=f"{parameters.shown(name.text)} -> {given.shown}")
    scorer = Scorer(
        name=name.text,
        role=role.text,
        params=parameters.types,
        system=system.texts if system else None,
        prompt=prompt.texts,
        chat=history,
        gives=given.type,
        weighted=given.weighted,
        source=given.source,
        settings=settings,
        samples=lower_samples(statement),
        then=cascade.role if cascade is not None else None,
        unsure_below=cascade.unsure_below if cascade is not None else 0.0,
        blind=statement.one_of("blind") is not None,
        numbers=numbers_of(program, given.type or NumberType()) if given.source == "reply" else {},
    )
    program.scorers.setdefault(name.text, scorer)


def _may_weigh(program: Program, gives: Statement, name: Name, given: Gives | None, weighs: bool) -> bool:
    """Return true unless a judge weighs probabilities of tokens that it does not ask for, which is reported."""
    if given is None or not given.weighted or weighs:
        return True
    help_ = "write `top_logprobs 20` in its block"
    message = f"scorer `{name.text}` weighs probabilities that it does not ask for"
    program.diagnostics.error("E0206", message, gives.head, help=help_)
    return False


def _check_repeats(program: Program, statement: Statement, name: Name, settings: DeclaredSettings) -> None:
    """Warn of a judge that is asked several times where its reply is no draw."""
    written, samples = statement.one_of("repeats"), lower_samples(statement)
    if written is not None and samples > 1 and settings.copies:
        message = f"`{name.text}` is sampled {samples} times at temperature 0: the replies are copies"
        help_ = "raise the temperature, or ask once: copies of a reply make no figure more certain"
        program.diagnostics.warning("W1007", message, written.head, help=help_)


def _check_arguments_shown(
    program: Program,
    name: Name,
    parameters: Parameters,
    prompt: Localised,
    system: Localised | None,
    others: Sequence[Expr],
) -> None:
    """A judge that is not shown what it is given grades something else, such as a question without its reply."""
    texts = [prompt.texts, *([system.texts] if system is not None else [])]
    for parameter, binding in parameters.scope.items():
        if any(parameter in names_in(each) for each in others):
            continue
        silent = [
            language
            for language in program.languages
            if not any(parameter in names_in(expr) for each in texts for expr in template_expressions(each[language]))
        ]
        if not silent:
            continue
        where = "" if len(silent) == len(program.languages) else f" in {' and '.join(silent)}"
        message = f"no text of scorer `{name.text}` shows `{parameter}`{where}"
        help_ = f"put `{{{{ {parameter} }}}}` in its prompt, or remove the parameter"
        program.diagnostics.warning("W1010", message, binding.span or name.span, help=help_)


def _mentions_metrics(*groups: dict[str, tuple[FilledHole, ...]]) -> bool:
    languages = {language for group in groups for language in group}
    return all(
        any(hole.typed.type.kind == "metrics" for group in groups for hole in group.get(language, ()))
        for language in languages
    )


def _gives(program: Program, statement: Statement) -> Gives | None:
    """Return what a scorer gives; None, reported, where that is no score."""
    written = statement.syntax("type")
    if statement.has("metrics"):
        if isinstance(written, Name) and written.text == "allocated":
            return Gives(None)
        message = "metrics are given as `allocated metrics`"
        program.diagnostics.error("E0106", message, written.span, help="write `gives allocated metrics`")
        return None
    if isinstance(written, Name) and written.text == "reward":
        return Gives(NumberType(), "reward")
    type_ = read_type(program, written, valued=True)
    if type_ is None:
        return None
    if type_.kind not in ("bool", "integer", "number", "choice"):
        help_ = "a score is a bool, an integer, a number, a range, a choice, `reward` or `similarity`"
        program.diagnostics.error("E0301", "this is not a score", written.span, help=help_)
        return None
    if statement.has("weighted") and not has_probabilities(type_, "integer"):
        help_ = "give a scale, such as `gives 1..5 weighted`"
        message = "the probabilities of tokens weigh the numbers of a scale"
        program.diagnostics.error("E0301", message, written.span, help=help_)
        return None
    return Gives(type_, weighted=statement.has("weighted"))


WRITTEN_AGREEMENT = "write `samples 5` or `top_logprobs 20`, or declare the role `panel`"
WRITTEN_CASCADE = "scorer NAME(reply: text) by ROLE then STRONGER when unsure { …, samples 5, unsure below 0.8 }"


@dataclass(frozen=True)
class Cascade:
    """The stronger role of a scorer, and the share of equal verdicts below which it is asked."""

    role: str
    unsure_below: float


@dataclass(frozen=True)
class Agreement:
    """The evidence of how sure judges are: several verdicts of each, or the probability of one, which is of a type."""

    samples: int
    probable: bool
    gives: Type | None


def has_probabilities(type_: Type | None, *kinds: str) -> bool:
    """Return true if the tokens of a reply tell how likely each value of a type is, which is of these kinds."""
    return type_ is not None and type_.kind in kinds and "probabilities" in weighed_fields(type_)


def is_cascade(statement: Statement) -> bool:
    """Return true if a scorer has a word of a cascade: a stronger role, or when it is asked."""
    return isinstance(statement.find("stronger"), Name) or statement.one_of("unsure") is not None


def lower_cascade(program: Program, statement: Statement, role: Name, agreement: Agreement) -> Cascade | None:
    """Return the cascade that a scorer is which has a word of one; None, reported, where it is wrong."""
    stronger, unsure = statement.find("stronger"), statement.one_of("unsure")
    if not isinstance(stronger, Name):
        assert unsure is not None
        message = "`unsure` says when a stronger role is asked, and there is none"
        program.diagnostics.error("E0206", message, unsure.head, help=f"write `{WRITTEN_CASCADE}`")
        return None
    if not program.is_declared("role", stronger):
        return None
    first, second = program.roles.get(role.text), program.roles.get(stronger.text)
    if second is not None and (second.kind == "compared" or stronger.text == role.text):
        message = f"`{stronger.text}` is no stronger judge: it is under test, or judges already"
        program.diagnostics.error("E0208", message, stronger.span, help="declare a role for the stronger judge")
        return None
    if unsure is None:
        message = "nothing says when the judges are unsure"
        program.diagnostics.error("E0206", message, statement.head, help="write `unsure below 0.8`")
        return None
    several = agreement.samples > 1 or (first is not None and first.kind == "panel")
    if agreement.probable and several:
        message = "several verdicts show how far they agree, and `top_logprobs` how likely one is"
        help_ = "remove one of the two: a cascade goes by one of them"
        program.diagnostics.error("E0107", message, statement.of("top_logprobs")[0].head, help=help_)
        return None
    if agreement.probable and not has_probabilities(agreement.gives, "bool", "choice", "integer"):
        message = "the probability of such a verdict is not known"
        help_ = "give a bool, a choice or a scale such as `1..5`, or ask several times"
        program.diagnostics.error("E0301", message, statement.of("gives")[0].head, help=help_)
        return None
    if not agreement.probable and not several:
        message = "one verdict shows no agreement: a single judge that is asked once is never unsure"
        program.diagnostics.error("E0206", message, unsure.head, help=WRITTEN_AGREEMENT)
        return None
    number = unsure.syntax("number")
    if not isinstance(number, Number) or not 0 < number.value <= 1:
        help_ = "write a share of verdicts, such as `unsure below 0.8`"
        program.diagnostics.error("E0301", "`unsure` must be above 0 and at most 1", number.span, help=help_)
        return None
    return Cascade(stronger.text, float(number.value))
