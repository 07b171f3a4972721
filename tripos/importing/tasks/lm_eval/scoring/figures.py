"""Figures of a whole data set that tasks compute in Python, as aggregates: those known by what their code does.

The text of a function is parsed and never executed. It is known if it hands the targets and predictions to
scikit-learn's `f1_score` or `matthews_corrcoef` and gives what comes out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tripos.importing.tasks.spec_text import Untranslated

_F1 = '''
def weighted_f1(gold: list[int], said: list[int]) -> float:
    """F1 of each class, weighted by how often the class is right, as scikit-learn's `average="weighted"`."""
    total = 0.0
    for label in set(gold):
        right = sum(g == s == label for g, s in zip(gold, said, strict=True))
        total += gold.count(label) * 2 * right / (gold.count(label) + said.count(label))
    return total / len(gold)
'''
_PERPLEXITY = '''
def weighted_perplexity(nats: list[float], counts: list[int]) -> float:
    """e to the power of the negative logarithms by the words, bytes or texts that they are of."""
    return math.exp(sum(nats) / sum(counts))
'''
_BITS = '''
def bits_per_byte(nats: list[float], counts: list[int]) -> float:
    """Bits for each byte."""
    return sum(nats) / sum(counts) / math.log(2)
'''
_FOUND = '''
def found(text: str, pattern: str, which: int, fallback: str) -> str:
    """What a regular expression finds at one of its places: the first group that holds something."""
    every = re.findall(pattern, text)
    if not every:
        return fallback
    match = every[which]
    if isinstance(match, tuple):
        match = next((each for each in match if each), fallback)
    return match.strip()
'''
_MULTI_CHOICE = '''
def multi_choice(
    text: str, choices: list[str], pattern: str, which: int, fallback: str, case: bool, marks: bool, ignored: list[str]
) -> str:
    """The letter in brackets that a reply gives: by a regular expression, by the text of a choice, or after a colon."""

    def plain(given: str) -> str:
        for each in ignored:
            given = re.sub(each, "", given) if each else given
        given = given.lower() if case else given
        return "".join(each for each in given if not (marks and unicodedata.category(each).startswith("P")))

    def first(regex: str, where: str, names: dict[str, str]) -> str:
        every = re.findall(regex, where)
        match = every[which] if every else ""
        if isinstance(match, tuple):
            match = next((each for each in match if each), "")
        return names.get(match.strip(), match.strip())

    letters = [chr(ord("A") + place) for place in range(len(choices))]
    known = {plain(each.strip()): f"({letter})" for each, letter in zip(choices, letters, strict=True)}
    texts = sorted((re.escape(plain(each.strip())) for each in choices), key=len, reverse=True)
    found_letter = first(pattern, text, {}) or first("|".join(texts), plain(text), known)
    behind = ":[\\\\s]*(" + "|".join(letters) + ")"
    return found_letter or first(behind, text, {each: f"({each})" for each in letters}) or fallback
'''


@dataclass(frozen=True)
class KnownFigure:
    """A figure of targets and predictions: a call of an aggregate, and its source where it is one in Python."""

    name: str
    pattern: str
    declared: str = ""
    source: str = ""

    @property
    def statement(self) -> str:
        """Return how a spec declares it, before its path: an aggregate, or a function of one row."""
        return f"aggregate {self.declared} -> number" if self.declared else f"function {self.name}"

    def call(self, gold: str, said: str) -> str:
        """Return the figure of two columns."""
        return self.pattern.format(gold=gold, said=said)


FIGURES = {
    "found": KnownFigure("found", "", source=_FOUND),
    "multi_choice": KnownFigure("multi_choice", "", source=_MULTI_CHOICE),
    "weighted_perplexity": KnownFigure(
        "weighted_perplexity", "", "weighted_perplexity(nats: list<number>, counts: list<integer>)", _PERPLEXITY
    ),
    "bits_per_byte": KnownFigure(
        "bits_per_byte", "", "bits_per_byte(nats: list<number>, counts: list<integer>)", _BITS
    ),
    "weighted": KnownFigure(
        "weighted_f1", "weighted_f1({gold}, {said})", "weighted_f1(gold: list<integer>, said: list<integer>)", _F1
    ),
    "micro": KnownFigure("f1_micro", "f1({said}, {gold}, average: micro)"),
    "macro": KnownFigure("f1_macro", "f1({said}, {gold}, average: macro)"),
    "binary": KnownFigure("f1", "f1({said} == 1, {gold} == 1, average: binary, positive: true)"),
    "mcc": KnownFigure("mcc", "mcc({said}, {gold})"),
}


def figure_of(source: str) -> KnownFigure:
    """Return the figure that the text of a Python function computes. Raises `Untranslated` for one that is not
    known."""
    try:
        function = ast.parse(source).body[0]
    except (SyntaxError, IndexError, ValueError, RecursionError, MemoryError) as error:
        raise Untranslated("an aggregation in Python that cannot be read") from error
    if not isinstance(function, ast.FunctionDef):
        raise Untranslated("an aggregation that is no function")
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
    known = [each for each in calls if _name(each) in ("f1_score", "matthews_corrcoef")]
    others = {_name(each) for each in calls} - {"f1_score", "matthews_corrcoef", "list", "zip", "max"}
    loops = [each for each in ast.walk(function) if isinstance(each, ast.For | ast.While | ast.If | ast.comprehension)]
    operations = [each for each in ast.walk(function) if isinstance(each, ast.BinOp)]
    if len(known) != 1 or others or loops or operations:
        raise Untranslated(f"`{function.name}` is an aggregation in Python")
    given = {each.arg: each.value for each in known[0].keywords}
    if set(given) - {"average"} or [getattr(each, "id", "") for each in known[0].args] != ["golds", "preds"]:
        raise Untranslated(f"`{function.name}` is an aggregation in Python")
    if _name(known[0]) == "matthews_corrcoef":
        return FIGURES["mcc"]
    average = getattr(given.get("average"), "value", "binary")
    if average not in FIGURES:
        raise Untranslated(f"`{function.name}` takes the average `{average}`")
    return FIGURES[average]


def _name(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))
