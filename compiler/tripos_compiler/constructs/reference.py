"""The parts of the reference of the language that are made from the compiler's own tables.

A page marks such a part with `<!-- generated: construct ask -->` and `<!-- end -->`; `filled` writes what belongs
between them. The parts are `construct NAME`, `statements BODY`, `slots`, `aggregates`, `families` and `codes E05`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tripos_compiler.constructs.construct import FILE, Construct
from tripos_compiler.constructs.signature import Item, Maybe, Slot
from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.diagnostics import CODES, find_page
from tripos_compiler.language.figures import AGGREGATES, AggregateFunction

ALONE = (
    *("benchmark", "role", "axis", "arm", "tree", "function", "made", "walk", "verify"),
    *("scenario", "context", "over", "arms", "ask", "shots", "converse", "retrieve", "compare"),
    *("allocate", "aggregate", "measure", "expect", "subset", "export"),
)
PAGES: dict[str, tuple[str, ...]] = {name: (name,) for name in ALONE} | {
    "dimension": ("dimension", "metric"),
    "dataset": ("dataset", "like"),
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
"""The pages below `docs/language/`, and the constructs that each describes with a signature of their own. Any other
construct is described where the block is that it stands in."""

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
"""What stands for each word in capitals of a signature."""

PLACES = {
    FILE: "at the top of a file",
    "axis group": "in a `group` of an `axis`",
    "made": "in a `dataset` that is [made](made.md)",
    "record": "in a record",
    "extra": "in a record of `provider`",
}
"""Where a body is, where its construct's name does not say it."""

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
"""What the first digits of a compiler's code say."""

WIDTH = 120
SHORT = 120
"""A first sentence of fewer characters is followed by the second."""

PART = re.compile(r"(?<=<!-- generated: )(?P<what>[^\n]+) -->\n.*?(?=<!-- end -->)", re.DOTALL)


class UnknownPart(Exception):
    """A page marks a part that nobody makes, or of a construct that does not exist."""


def filled(page: str) -> str:
    """Return the text of a page with its generated parts as they should be. Raises `UnknownPart`.

    >>> print(filled("# use\\n<!-- generated: construct use -->\\nold\\n<!-- end -->\\n").replace("`" * 3, "---"))
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
    return PART.sub(lambda found: f"{found['what']} -->\n\n{part(found['what'])}\n", page)


def reference_parts(page: str) -> list[str]:
    """Return what the generated parts of a page are, in order.

    >>> reference_parts("<!-- generated: slots -->\\n<!-- end -->")
    ['slots']
    """
    return [found["what"] for found in PART.finditer(page)]


def part(what: str) -> str:
    """Return a generated part, as whole lines. Raises `UnknownPart`."""
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
    raise UnknownPart(what)


def page_of(construct: Construct) -> str:
    """Return the page that describes a construct, without its ending.

    >>> page_of(_construct("samples")), page_of(_construct("grade")), page_of(_construct("record_field"))
    ('ask', 'score', 'dataset')
    """
    for page, names in PAGES.items():
        if construct.name in names:
            return page
    body = construct.inside[0]
    return page_of(next(each for each in CONSTRUCTS if each.body == body))


def construct_part(construct: Construct) -> str:
    """Return how a construct is written, where it stands, and what stands in its block."""
    places = " or ".join(_place(body) for body in construct.inside)
    said = _wrapped(f"{_sentence(construct.summary)} Stands {places}.")
    return f"```text\n{construct.shape.shown}\n```\n\n{said}\n" + "".join(f"\n{table}" for table in _blocks(construct))


def _blocks(construct: Construct) -> Iterator[str]:
    """Yield a table of what stands in the block of a construct, and in the blocks that stand in there."""
    if construct.body is None:
        return
    inside = [each for each in CONSTRUCTS if construct.body in each.inside]
    page = page_of(construct)
    title = f"in the block of `{construct.starts_with}`" if construct.starts_with else f"in `{construct.shape.shown}`"
    rows = [(_linked(each, page), each.summary, _how_many(each)) for each in inside]
    yield _table((_cell(title), "is", "how many"), rows)
    described = {name for names in PAGES.values() for name in names}
    for each in inside:
        if each.name not in described and each.body != construct.body:
            yield from _blocks(each)


def _how_many(construct: Construct) -> str:
    """Return how often a construct may stand in a block."""
    if not construct.once:
        return "any number"
    return "at most once for each condition" if construct.for_each_condition else "at most once"


def statements_table(body: str) -> str:
    """Return the statements of a body, each with its page."""
    rows = [(_linked(each, "index"), each.summary) for each in CONSTRUCTS if body in each.inside]
    return _table(("statement", "is"), rows)


def codes_table(prefix: str) -> str:
    """Return the codes that begin so, each with what its page says first."""
    rows = [(f"`{code}`", headline, _first(code)) for code, headline in CODES.items() if code.startswith(prefix)]
    return _table(("code", "headline", "meaning"), rows)


def families_table() -> str:
    """Return the families of codes that say that a spec is wrong, with a link to the list of each."""
    rows = []
    for family, title in FAMILIES.items():
        codes = [f"{code} {headline}" for code, headline in CODES.items() if code.startswith(family)]
        anchor = f"{family} {title}".lower().replace(" ", "-")
        rows += [(f"[{family} {title}](../errors.md#{anchor})", "; ".join(codes))] if codes else []
    return _table(("family", "codes"), rows)


def aggregate_part(function: AggregateFunction) -> str:
    """Return the section of one aggregate."""
    facts = [f"It lies {_lies(function)}."]
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
    said = "\n\n".join(_wrapped(text) for text in (_sentence(function.summary), " ".join(facts)))
    return f"### {function.name}\n\n`{function.shown}`\n\n{said}\n"


def slots_in(construct: Construct) -> set[str]:
    """Return the words in capitals of a signature.

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
    if body in PLACES:
        return PLACES[body]
    page = page_of(next(each for each in CONSTRUCTS if each.body == body))
    return f"in {'an' if body[0] in 'aeiou' else 'a'} [`{body}`]({page}.md)"


def _linked(construct: Construct, page: str) -> str:
    """Return the signature in a table of a page, with a link where another page describes it."""
    shown = f"`{_cell(construct.shape.shown)}`"
    own = page_of(construct)
    return shown if own == page else f"[{shown}]({own}.md)"


def _lies(function: AggregateFunction) -> str:
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


def _first(code: str) -> str:
    """Return the first sentence of the page of a code, and the second where that is short."""
    paragraphs = (find_page(code) or "").split("\n\n")
    text = next(paragraph for paragraph in paragraphs if not paragraph.startswith("#")).replace("\n", " ")
    first, *rest = re.split(r"(?<=\.) (?=[A-Z`])", text)
    return _cell(f"{first} {rest[0]}" if rest and len(first) < SHORT else first)


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
    """Return a table in Markdown; cells hold no bar that is not escaped."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))
