"""Generated parts of the language reference: constructs, statements, slots, aggregates, functions and codes.

A page marks such a part with `<!-- generated: construct ask -->` and `<!-- end -->`; `fill_page` writes the text
between them. The parts are `construct NAME`, `statements BODY`, `every statement`, `slots`, `aggregates`, `influences`,
`notations`, `families` and `codes E05`.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from tripos_compiler.constructs.signature import Item, Maybe, Slot
from tripos_compiler.constructs.table import CONSTRUCTS, FILE, LIKE_ANOTHER, REPEATED, Construct, place_of
from tripos_compiler.diagnostics.codes import CODES, find_page
from tripos_compiler.diagnostics.habits import NOTATIONS
from tripos_compiler.language.aggregates import AGGREGATES, AggregateFunction
from tripos_compiler.library.function import Function
from tripos_compiler.library.registry import FUNCTIONS, GROUPS

# Constructs, aggregates and codes

OWN_PAGES = (
    *("benchmark", "role", "axis", "arm", "tree", "function", "made", "walk", "verify"),
    *("scenario", "context", "over", "arms", "ask", "shots", "converse", "retrieve", "compare"),
    *("allocate", "aggregate", "measure", "expect", "subset", "export", "table"),
)
PAGES: dict[str, tuple[str, ...]] = {name: (name,) for name in OWN_PAGES} | {
    "dimension": ("dimension", "metric"),
    "dataset": ("dataset", "like"),
    "like": (
        "made_like",
        *(f"{body}_{change}" for body in LIKE_ANOTHER for change in ("added", "without")),
    ),
    "rows": ("row_table", "for_each"),
    "chat": ("chat", "continue"),
    "prompts": ("prompts", "ends"),
    "options": ("options",),
    "likelihood": ("likelihood", "plain"),
    "state": ("state", "user", "called"),
    "tools": ("tool", "tools"),
    "let": ("let", "named"),
    "use": ("use", "use_release"),
    "score": ("score", "grade"),
    "scorer": ("scorer", "formula", "python_scorer", "program_scorer"),
}
"""Pages below `docs/language/` with the constructs that have a signature there. Any other construct is described with
the block in which it stands."""

SLOTS: dict[str, str] = {
    "NAME": "a name of your choice",
    "ALIAS": "a name of your choice, for a row at hand",
    "STRING": "a text in quotation marks",
    "VERSION": 'three numbers in quotation marks, `"1.0.0"`',
    "PATH": "the name of a file in quotation marks, relative to the folder of the spec",
    "LABELS": 'texts, one for all languages or one for each: `"Physics"`, `en "Physics" de "Physik"`',
    "LANGUAGES": "languages, such as `en, de`",
    "LOCALE": "a language, or one of a country: `de`, `de_CH`",
    "COLUMNS": 'columns of a file: `"answer"`, or `"answer" or "key"` for the first that exists',
    "COLUMN": 'a column of a file in quotation marks, `"id"`',
    "OTHER": "a column of the other file in quotation marks, where it has another name there",
    "COUNT": "a whole number",
    "NUMBER": "a number",
    "OPTIONS": "an expression for a list of texts, or for a text",
    "KEY": "an expression for the right option: its position, counted from 0, or its letter",
    "DRAW": "an expression for a text, which decides the order",
    "LETTERS": 'letters in quotation marks, `"甲乙丙丁"`, or words: `"I II III IV"`',
    "MARK": 'the text before an option, with `{}` in place of its letter: `"({}) "`',
    "TOOL": "the name of a tool",
    "TOOLS": "names of tools, and an expression of type `tools`, such as a column: `item.functions`",
    "SEPARATOR": "a text in quotation marks, between worked examples",
    "LINK": "a text in quotation marks, between a question and its answer",
    "ELEMENTS": "a name of your choice for an element, `in`, and an expression for a list: `c in item.rubric`",
    "CONDITION": "an [expression](expressions.md) that is true or false of an element",
    "LIST": "an expression for a list, or a dialogue",
    "WHO": "an expression for a text: the author",
    "WORTH": "an expression for a number: the worth",
    "STRONGER": "the name of a role: the stronger judge",
    "RANGE": "a range, `1..10`",
    "PARAMETER": "the name of a parameter of the scorer",
    "FIELD": "a name of your choice, or any text in quotation marks",
    "TYPE": "a [type](types.md)",
    "VALUE": "an [expression](expressions.md); in a `measure` a [figure](measure.md)",
    "COND": "an [expression](expressions.md) that is true or false",
    "FILTER": "an [expression](expressions.md) that is true or false of a row",
    "CALL": "a scorer with its arguments: `rubric(answer.text)`",
    "AXES": "axes, joined by `*`",
    "FACETS": "roles that judge, and arms, joined by `*`: `judge`, `judge * wording`",
    "ARMS": "arms, joined by `*`",
    "DIMS": "dimensions: axes, arms, `scenario`, `metric`, `dimension`, `evaluator`, a field of the rows",
    "SUBSETS": "names of subsets",
    "ROLE": "the name of a role",
    "DATASET": "the name of a data set",
    "SOURCE": "a data set, or a list of values such as `leaves(syllabus)`",
    "TREE": "the name of a tree",
    "START": "an expression for a path of the tree, or for a choice of the branches at its top",
    "OTHERS": "an expression for a list of texts, such as a column of a data set: `raw.stem`",
    "BASE": "the name of another declaration of the same kind",
    "STATEMENT": "the first word of a statement, such as `over` or `score`",
    "SCENARIO": "the name of a scenario",
    "SCORER": "the name of a scorer",
    "STEP": "the name of a step of a scenario",
    "MEASURES": "names of measures: `overall`, or `sums.accuracy` of one in a scenario",
    "MEASURE": "the name of a measure; of a scorer or score for `pairs`",
    "PLACE": "the folder, zip or URL of a release, in quotation marks",
    "DIGEST": "the SHA-256 of a release's manifest, which names the release, in quotation marks",
    "NAMES": "names of declarations",
    "AXIS": "the name of an axis",
}
"""Description of each upper-case word in signatures."""

FAMILIES = {
    "E01": "syntax",
    "E02": "names",
    "E03": "types and data",
    "E04": "prompts",
    "E05": "secrecy",
    "E06": "coverage",
    "E07": "scorers",
    "E08": "termination",
    "E09": "releases",
    "W": "warnings",
}
"""Subject of the first digits of a compiler code."""

WIDTH = 120
SHORT_SENTENCE = 120
"""Length below which a first sentence is followed by the second."""

PART = re.compile(r"(?<=<!-- generated: )(?P<what>[^\n]+) -->\n.*?(?=<!-- end -->)", re.DOTALL)


class UnknownPart(Exception):
    """A page marks an unknown part or a construct that does not exist."""


def fill_page(page: str) -> str:
    """Return the text of a page with its generated parts up to date. Raises `UnknownPart`.

    >>> print(fill_page("# use\\n<!-- generated: construct use -->\\nold\\n<!-- end -->\\n").replace("`" * 3, "---"))
    # use
    <!-- generated: construct use -->
    <BLANKLINE>
    ---text
    use PATH
    ---
    <BLANKLINE>
    Imports the declarations of another file. Stands at the top of a file.
    <BLANKLINE>
    <!-- end -->
    <BLANKLINE>
    """
    return PART.sub(lambda match: f"{match['what']} -->\n\n{generated_part(match['what'])}\n", page)


def reference_parts(page: str) -> list[str]:
    """Return the names of the generated parts of a page, in order.

    >>> reference_parts("<!-- generated: slots -->\\n<!-- end -->")
    ['slots']
    """
    return [match["what"] for match in PART.finditer(page)]


def generated_part(what: str) -> str:
    """Return a generated part as whole lines. Raises `UnknownPart`."""
    match what.split(" ", 1):
        case ["construct", name]:
            return construct_part(_construct(name))
        case ["statements", body] if any(body in construct.inside for construct in CONSTRUCTS):
            return statements_table(body)
        case ["codes", prefix] if any(code.startswith(prefix) for code in CODES):
            return codes_table(prefix)
        case ["families"]:
            return families_table()
        case ["slots"]:
            return _table(("in capitals", "stands for"), SLOTS.items())
        case ["aggregates"]:
            return "\n".join(aggregate_part(function) for function in AGGREGATES.values())
        case ["influences"]:
            return influences_table()
        case ["every", "statement"]:
            return every_statement_table()
        case ["notations"]:
            return notations_table()
    raise UnknownPart(what)


ON_OTHER_PAGES = ("export", "subset", "table", "table values", "use release")
"""Blocks whose statements the page that holds the language leaves to their own pages."""


def every_statement_table() -> str:
    """Return tables of the statements, one for each set of blocks that they are in, without those of
    `ON_OTHER_PAGES`."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for construct in CONSTRUCTS:
        bodies = [body for body in construct.inside if body not in ON_OTHER_PAGES]
        if bodies:
            places = ", ".join("the file" if body == FILE else f"`{body}`" for body in bodies)
            row = _cell(f"`{construct.shape.shown}`"), _cell(construct.summary)
            groups.setdefault(places, []).append(row)
    return "\n".join(
        f"{_wrapped(f'In {places}:')}\n\n{_table(('statement', 'is'), rows)}" for places, rows in groups.items()
    )


def notations_table() -> str:
    """Return tables of the words and signs of other languages with their notation here, one for each kind."""
    tables = []
    for kind, notations in NOTATIONS.items():
        words: dict[str, list[str]] = {}
        for word, notation in notations.items():
            words.setdefault(notation, []).append(f"`{word}`")
        rows = [
            (_cell(", ".join(some)), _cell(f"`{notation}`" if "`" not in notation else notation))
            for notation, some in words.items()
        ]
        tables.append(_table((kind, "here"), rows))
    return "\n".join(tables)


def influences_table() -> str:
    """Return a table of the influence of an item on each aggregate, with the aggregates that share one in a row."""
    names: dict[str, list[str]] = {}
    for function in AGGREGATES.values():
        names.setdefault(function.influence, []).append(f"`{function.name}`")
    return _table(("aggregate", "the influence of an item"), [(", ".join(name), text) for text, name in names.items()])


def page_of(construct: Construct) -> str:
    """Return the page that describes a construct, without its suffix.

    >>> page_of(_construct("samples")), page_of(_construct("grade")), page_of(_construct("record_field"))
    ('ask', 'score', 'dataset')
    """
    for page, names in PAGES.items():
        if construct.name in names:
            return page
    body = construct.inside[0]
    return page_of(next(other for other in CONSTRUCTS if other.body == body))


def construct_part(construct: Construct) -> str:
    """Return the signature of a construct, where it may stand, and the contents of its block."""
    places = " or ".join(_place(body) for body in construct.inside)
    text = _wrapped(f"{_sentence(construct.summary)} Stands {places}.")
    return f"```text\n{construct.shape.shown}\n```\n\n{text}\n" + "".join(f"\n{table}" for table in _blocks(construct))


def _blocks(construct: Construct) -> Iterator[str]:
    """Yield a table of the statements in the block of a construct, and in nested blocks."""
    if construct.body in (None, REPEATED):
        return
    if construct.name in PAGES["like"]:
        page = page_of(next(inner for inner in CONSTRUCTS if inner.body == construct.body))
        yield f"Its block has the statements of [{page}]({page}.md).\n"
        return
    inside = [inner for inner in CONSTRUCTS if construct.body in inner.inside]
    page = page_of(construct)
    title = f"in the block of `{construct.starts_with}`" if construct.starts_with else f"in `{construct.shape.shown}`"
    rows = [(_linked(inner, page), inner.summary, _how_many(inner, inside)) for inner in inside]
    yield _table((_cell(title), "is", "how many"), rows)
    described = {name for names in PAGES.values() for name in names}
    for other in inside:
        if other.name not in described and other.body != construct.body:
            yield from _blocks(other)


def _how_many(construct: Construct, inside: Sequence[Construct]) -> str:
    """Return how often a construct may occur in a block, and which of the constructs in it (`inside`) it requires or
    excludes."""
    often = "any number"
    if construct.once:
        often = "at most once for each condition" if construct.for_each_condition else "at most once"
    there = {other.name for other in inside}
    names = (name for exclude in construct.excludes for name in exclude.constructs if name in there)
    if construct.counts is not None:
        least, most = construct.counts
        often += f", `COUNT` {least} or more" if most is None else f", `COUNT` {least} to {most}"
    if construct.requires is not None and construct.requires.construct in there:
        often += f", with `{construct.requires.construct}`"
    excluded = dict.fromkeys(f"`{name}`" for name in names)
    if not excluded:
        return often
    *some, last = excluded
    return f"{often}, without {', '.join(some)}{' or ' if some else ''}{last}"


def statements_table(body: str) -> str:
    """Return a table of the statements of a body with their pages."""
    rows = [(_linked(construct, "index"), construct.summary) for construct in CONSTRUCTS if body in construct.inside]
    return _table(("statement", "is"), rows)


def codes_table(prefix: str) -> str:
    """Return a table of the codes with a prefix, with the beginning of each page. Links of those pages are relative to
    docs/, and the table is in docs/reference/."""
    rows = [
        (f"`{code}`", headline, _opening_sentences(code).replace("](", "](../"))
        for code, headline in CODES.items()
        if code.startswith(prefix)
    ]
    return _table(("code", "headline", "meaning"), rows)


def families_table() -> str:
    """Return a table of the families of error codes, with links to their lists."""
    rows = []
    for family, title in FAMILIES.items():
        codes = [f"{code} {headline}" for code, headline in CODES.items() if code.startswith(family)]
        anchor = f"{family} {title}".lower().replace(" ", "-")
        rows += [(f"[{family} {title}](../reference/errors.md#{anchor})", "; ".join(codes))] if codes else []
    return _table(("family", "codes"), rows)


def aggregate_part(function: AggregateFunction) -> str:
    """Return the section of one aggregate."""
    facts = [f"It lies {_range_in_words(function)}."]
    if function.truth_only:
        facts.append("It is taken of what is true or false.")
    if function.across == "required":
        facts.append("The measure must say `across ROLE`.")
    elif function.across == "optional":
        facts.append("It takes a second column, or the measure says `across ROLE`.")
    *words, last = (f"`{word}`" for word in function.missing)
    facts.append(f"`missing:` may be {', '.join(words)} or {last}.")
    if function.source:
        what, parted, source = function.source.partition(": ")
        facts.append(f"Source of the {what}: {source}." if parted and what.islower() else f"Source: {function.source}.")
    texts = "\n\n".join(_wrapped(text) for text in (_sentence(function.summary), " ".join(facts)))
    return f"### {function.name}\n\n`{function.shown}`\n\n{texts}\n"


def slots_in(construct: Construct) -> set[str]:
    """Return the upper-case words of a signature.

    >>> sorted(slots_in(_construct("shots")))
    ['ALIAS', 'COND', 'COUNT', 'DATASET', 'DRAW', 'FILTER']
    """
    return set(_slots(construct.shape.items))


def _slots(items: tuple[Item, ...]) -> Iterator[str]:
    for item in items:
        if isinstance(item, Maybe):
            yield from _slots(item.items)
        elif isinstance(item, Slot):
            yield item.kind


def _construct(name: str) -> Construct:
    for construct in CONSTRUCTS:
        if construct.name == name:
            return construct
    raise UnknownPart(f"construct {name}")


def _place(body: str) -> str:
    """Return the place of the statements of a body, with a link to the page that describes it."""
    place = place_of(body)
    page = next((page_of(construct) for construct in CONSTRUCTS if construct.body == body), None)
    return place if page is None else re.sub(r"(?<=^in )(an? |the )?(.+)", rf"\1[\2]({page}.md)", place)


def _linked(construct: Construct, page: str) -> str:
    """Return a signature for a table, with a link if another page describes it."""
    text = f"`{_cell(construct.shape.shown)}`"
    own = page_of(construct)
    return text if own == page else f"[{text}]({own}.md)"


def _range_in_words(function: AggregateFunction) -> str:
    if function.bounds((-3.0, 7.0)) == (-3.0, 7.0):
        return "on the scale of what it takes"
    match function.bounds((None, None)):
        case None, None:
            return "anywhere"
        case None, high:
            return f"at {high:g} or below"
        case low, None:
            return f"at {low:g} or above"
        case low, high:
            return f"between {low:g} and {high:g}".replace("-", "−")


def _opening_sentences(code: str) -> str:
    """Return the first sentence of the page of a code, followed by the second if the first is short."""
    paragraphs = (find_page(code) or "").split("\n\n")
    text = next(paragraph for paragraph in paragraphs if not paragraph.startswith("#")).replace("\n", " ")
    first, *rest = re.split(r"(?<=\.) (?=[A-Z`])", text)
    return _cell(f"{first} {rest[0]}" if rest and len(first) < SHORT_SENTENCE else first)


def _sentence(text: str) -> str:
    """Return a summary as a sentence.

    >>> _sentence("the rows")
    'The rows.'
    """
    return f"{text[0].upper()}{text[1:]}."


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; bars in cells must be escaped."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


# Functions

OPENING = """\
# Functions

Every function of the [expressions](expressions.md) of a spec. All are pure: the same arguments give the
same result. In a signature, `T` is any one type, the same wherever it stands, and `K` one whose values can be told
apart and put in order: texts, numbers, true and false, choices, paths. A type that ends in `?` may be missing, an
optional parameter may be left out, and a name that ends in `…` takes any number of arguments. Whole numbers stay whole
where a function of numbers has nothing to divide.

A text may be a choice or a path too, a number may be an integer, and a list may be a set, which is in order then:
numbers from the least, texts by their characters. Where a function has no value, as the first item of an empty list,
the score is `undefined` if a reply is the reason, and counts as failed; it is `not_applicable` if the item is. `check`
warns of the former ([W0320](../reference/errors.md)). Errors that the compiler can detect are
errors of `tripos check`.

This page is generated: the signatures and texts are those of the code.
"""
WRITING = """\
## Differences of writing

Functions that compare texts or count their words, and the metrics of a corpus, see both sides without differences that
mean nothing: Unicode is in its form NFC, so that `é` is one character however it is stored; quotes and apostrophes are
straight (`It’s` is `It's`); there is one minus; a space that does not break is a space; characters without a width are
left out; and full-width letters and digits are those of ASCII (`Ａ１` is `A1`). Superscripts stay: `10⁵` is not `105`.
This holds of `exact`, `contains`, `starts_with`, `ends_with`, `words`, and all functions of the likeness of texts.
"""


def functions_page() -> str:
    """Return the Markdown reference of all functions."""
    contents = " ·\n".join(f"[{title.lower()}](#{title.lower().replace(' ', '-')})" for title in GROUPS)
    parts = [OPENING, f"Contents: {contents}\n", WRITING]
    for title, functions in GROUPS.items():
        parts.append(f"## {title}\n")
        parts.extend(_function_section(function) for function in functions)
    return "\n".join(parts)


def functions_table() -> str:
    """Return a Markdown table of all functions: signature and summary."""
    rows = "".join(f"| `{function.shown}` | {_summary_cell(function)} |\n" for function in FUNCTIONS.values())
    return "| function | description |\n| --- | --- |\n" + rows


def _summary_cell(function: Function) -> str:
    """Return a summary for a table cell.

    >>> _summary_cell(FUNCTIONS["last_number"])
    'the last number in a text; missing if there is none'
    """
    summary = function.summary.removeprefix("Return ").removesuffix(".")
    return summary if re.match(r"\w+[A-Z0-9]", summary) else summary[0].lower() + summary[1:]


def _function_section(function: Function) -> str:
    """Return the section of one function."""
    examples = list(doctest.DocTestParser().get_examples(inspect.getdoc(function.python) or ""))
    text = (inspect.getdoc(function.python) or "").split("\n>>> ")[0].strip()
    shown = "".join(_example(example) for example in examples)
    return f"### {function.name}\n\n`{function.shown}`\n\n{text}\n{shown}"


def _example(example: doctest.Example) -> str:
    """Return a doctest example as Markdown blocks; empty if a spec cannot express it."""
    expression = ast.parse(example.source.strip()).body[0]
    if not isinstance(expression, ast.Expr):
        return ""
    expr = expression.value
    try:
        match expr:
            case ast.Call(func=ast.Name(id="print"), args=[inner]):
                return f"\n```tripos fragment\n{_spec_notation(inner)}\n```\n\n```text\n{example.want}```\n"
            case ast.Tuple(elts=several):
                calls = zip(several, ast.literal_eval(example.want), strict=True)
            case _:
                calls = zip([expr], [ast.literal_eval(example.want)], strict=True)
    except _NotWritable:
        return ""
    lines = "".join(_example_line(one, result) for one, result in calls)
    return f"\n```tripos fragment\n{lines}```\n" if lines else ""


def _example_line(node: ast.expr, result: Any) -> str:
    try:
        return f"{_spec_notation(node)}  # {_value(result)}\n"
    except _NotWritable:
        return ""


class _NotWritable(Exception):
    """A spec has no notation for this."""


def _spec_notation(node: ast.expr) -> str:
    """Return a Python expression in the notation of a spec. Raises `_NotWritable`.

    >>> _spec_notation(ast.parse("square_root(-1.5)", mode="eval").body)
    'sqrt(-1.5)'
    """
    match node:
        case ast.Constant(value=value) if value is not None:
            return _value(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_spec_notation(operand)}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return f"{_spec_notation(left)} + {_spec_notation(right)}"
        case ast.List(elts=items) if items:
            return f"({', '.join(_spec_notation(item) for item in items)})"
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _spec_names():
            name = _spec_names()[name]
            if FUNCTIONS[name].values_by_name:
                return f"{name}({', '.join(_with_named_values(arguments))})"
            return f"{name}({', '.join(_spec_notation(argument) for argument in arguments)})"
    raise _NotWritable


def _with_named_values(arguments: Sequence[ast.expr]) -> Iterator[str]:
    """Yield the arguments of a call whose last two are names and their values, as a spec has them."""
    *own, names, values = arguments
    yield from map(_spec_notation, own)
    for name, value in zip(cast("ast.List", names).elts, cast("ast.List", values).elts, strict=True):
        label = ast.literal_eval(name)
        yield f"{label}: {_spec_notation(value)}" if label else _spec_notation(value)


def _spec_names() -> dict[str, str]:
    """Return the spec names of functions by their Python names; Python has some of them too, such as `round`."""
    own = {name: name for name in FUNCTIONS if hasattr(builtins, name)}
    return own | {function.python.__name__: function.name for function in FUNCTIONS.values()}


def _value(value: Any) -> str:
    """Return a Python value in the notation of a spec; None is `missing`. Raises `_NotWritable`.

    >>> _value([True, 3.0, "a"]), _value(None)
    ('(true, 3, "a")', 'missing')
    """
    match value:
        case None:
            return "missing"
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case int() | float():
            return str(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"({', '.join(_value(item) for item in value)})"
    raise _NotWritable
