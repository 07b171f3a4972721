"""Forms of a reply that a prompt asks for in its own words, such as `Rating: [[5]]`, JSON, or reasons before a verdict.

A judge's prompt ends with the form of the JSON that it should give, unless `gives` says that the prompt states one. A
published protocol with a form of its own would so be changed without a word: the judge is asked for two forms, or for a
verdict without the reasons that should come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tripos_compiler.diagnostics.text_format import shorten
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import paths_in, subexpressions, template_expressions
from tripos_compiler.library.types import type_notation
from tripos_compiler.plan import VERDICTS, Call, Expr, Literal_, Passage, RecordType, Ref, Scorer, Type
from tripos_compiler.replies.stated_forms import HOLE as VERDICT_HOLE
from tripos_compiler.replies.text import late_pattern
from tripos_compiler.resolve.program import Program
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Text
from tripos_compiler.typecheck.expressions import HOLE
from tripos_compiler.typecheck.templates import CheckedHole

BLANK = "\0"
"""Stands for each character of a hole, whose value is no part of the author's words."""
_VERDICT = r"(?:verdict|rating|score|grade|judge?ment|decision|preference)"
_VERDICT_ZH = "(?:评分|打分|得分|分数|评级|等级|结论|判断|裁决|判定)"
_SAY = (
    r"(?:output|respond|reply|answer|return|print|write|say|state|end|conclude|finish|format|provide|give|present|put)"
)
_SAY_ZH = "(?:输出|返回|回复|回答|给出|写出|打印|以|用|按|采用)"
_BRACKETS = r"\[\[(?!\[)[^\[\]\n\0]{1,30}\]\]"
_JSON = (
    rf"\b{_SAY}\b[^.\n\0]{{0,80}}\bjson\b|\bjson\b[^.\n\0]{{0,12}}\b(?:format|object|dictionary|dict|only|schema|output)\b"
    rf"|{_SAY_ZH}[^。\n\0]{{0,20}}json|json\s?(?:格式|形式|对象|字典)"
)
_LABEL = (
    rf"\b{_VERDICT}\s?\*{{0,2}}[:=]\s?\*{{0,2}}\s?(?:[\"'`]|<[^<>\n\0]{{1,40}}>|\[[^\[\]\n\0]{{1,40}}\]"
    r"|\{[^{}\n\0]{1,40}\}|[A-Z]\b(?![\w'])(?:\s*/|\s*or\b)|\d+\s?(?:/|\.\.|-|–)|_{2,}|\.{3}|…)"
    rf"|{_VERDICT_ZH}\s?[:：]\s?(?:<[^<>\n\0]{{1,40}}>|\[[^\[\]\n\0]{{1,40}}\]|【[^【】\n\0]{{1,40}}】|[xX]\b|_{{2,}}|…)"
)
_FINAL = (
    rf"\bfinal {_VERDICT}\b[^.\n\0]{{0,40}}?(?:\bis\b|:|\bas\b|\bin\b|\bmust\b|\bshould\b|\bwith\b)|最终{_VERDICT_ZH}"
)
_ONLY = (
    rf"\b{_SAY}\b\s(?:with\s)?(?:only|just|nothing but|a single|exactly one)\b|\bonly\s{_SAY}\b"
    r"|\b(?:reply|respond|answer)\swith\b[^.\n\0]{0,40}\b(?:only|alone|and nothing else)\b"
    r"|(?:只|仅)(?:需|要|能|可|须)?(?:输出|回答|回复|返回|给出)"
)
OWN_FORM = late_pattern(f"{_BRACKETS}|{_JSON}|{_LABEL}|{_FINAL}|{_ONLY}", re.IGNORECASE)
"""Words that ask for a form of the reply."""
_REASON = r"(?:reason(?:s|ing)?|explanations?|explain|analy[sz](?:e|is)|rationale|justif(?:y|ication)|critique|think)"
REASONS_FIRST = late_pattern(
    rf"\b{_REASON}\b[^.\n\0]{{0,60}}\b(?:first|before|step[- ]by[- ]step)\b"
    rf"|\b{_REASON}\b[^.\n\0]{{0,40}},?\s(?:and\s)?(?:only\s)?then\b"
    rf"|\b(?:first|begin|start)\b[^.\n\0]{{0,60}}\b{_REASON}\b|\bbefore\s(?:giving|stating|you give|assigning)\b"
    rf"|\bthink\s(?:it\s)?(?:through\s)?step[- ]by[- ]step\b"
    rf"|\b(?:explain|justify)\syour\s(?:{_VERDICT}|choice|answer|reasoning|thinking)\b"
    r"|\b(?:give|write|provide|state|include)\s(?:your|the|a|an|some)?\s?(?:brief\s|short\s|detailed\s)?"
    r"(?:reasons?|reasoning|rationale|explanation|justification|critique)\b"
    r"|先[^。\n\0]{0,30}(?:理由|分析|解释|说明|推理|思考)|(?:理由|分析|解释|推理|思考)[^。\n\0]{0,20}(?:然后|再|最后|之后)"
    r"|(?:逐步|一步一?步)地?(?:思考|推理|分析)|(?:说明|给出|写出|写明|阐述)(?:你的|评分的|判断的)?(?:理由|原因|依据)",
    re.IGNORECASE,
)
"""Words that ask for reasons before the verdict."""
_KEY = late_pattern(r"[\"'“`]([^\"'“”`\n\0]{1,60})[\"'”`]\s*:")


class OwnForm(NamedTuple):
    """Place in a text that asks for a form of the reply, or for reasons first."""

    start: int
    end: int
    reasons: bool


def own_form(text: str, appended: Type | None) -> OwnForm | None:
    """Return the place where a prompt asks for another form than the JSON that is appended to it; None if nowhere.

    `appended` is the type of the JSON; None is a score and a reason for each metric. A record that has all keys that
    the text names is the form that it asks for, and one with reasons is no obstacle to reasons.

    >>> from tripos_compiler.plan import ChoiceType
    >>> own_form("Say [[A]] or [[B]].", ChoiceType(values=("A", "B")))
    OwnForm(start=4, end=9, reasons=False)
    >>> own_form("Explain first, and then judge.", ChoiceType(values=("A", "B"))).reasons
    True
    >>> own_form("Which answer is better?", ChoiceType(values=("A", "B")))
    """
    reasoned = appended is None or (isinstance(appended, RecordType) and not _verdicts_only(appended))
    known = isinstance(appended, RecordType) and {key[1] for key in _KEY.finditer(text)} <= set(appended.fields)
    for match in OWN_FORM.finditer(text):
        if not (known and "json" in match[0].lower()):
            return OwnForm(match.start(), match.end(), False)
    first = None if reasoned else REASONS_FIRST.search(text)
    return None if first is None else OwnForm(first.start(), first.end(), True)


def _verdicts_only(record: RecordType) -> bool:
    """Return true if a record has no room for reasons."""
    return all(of.kind in VERDICTS for of in record.fields.values())


def warn_of_two_forms(
    program: Program,
    texts: Sequence[Text],
    holes: Sequence[CheckedHole],
    name: str,
    appended: Type | None,
    gives: str | None = None,
) -> None:
    """Warn if the texts of a judge or of an ask want another form of the reply than the one that is appended to them.

    `holes` are theirs. `gives` is what a judge gives, in the notation of a spec.
    """
    for said, found, span in _places(texts, holes, appended):
        phrase = _phrase(said, found)
        message = f"`{name}` asks for `{phrase}`, and its prompt is sent with another form of the reply at its end"
        if found.reasons:
            message = f"`{name}` asks for reasons (`{phrase}`), and the form at the end of its prompt has none"
        help_ = (
            "take the form out of the prompt, or `returns` out of the ask, and read the text of the reply in the score"
        )
        if gives is not None:
            help_ = _judge_hint(phrase, gives, appended)
        program.diagnostics.warning("W1012", message, span, help=help_)
        return


def _phrase(text: str, form: OwnForm) -> str:
    return shorten(" ".join(text[form.start : form.end].split()))


def warn_of_form_in_rows(
    program: Program, scorer: Scorer, arguments: Mapping[str, Expr], rows: Sequence[Mapping[str, Any]], place: Span
) -> None:
    """Warn if the rows of a scenario bring the whole prompt of a judge, and it asks for another form of the reply than
    the one that is appended to it. `arguments` are those of the judge, and `rows` the values of the names in each case.
    """
    if scorer.stated or not scorer.writes:
        return
    gives = scorer.record or scorer.gives
    for parameter in _whole_prompts(scorer):
        expr = _template_in(arguments[parameter]) if parameter in arguments else None
        for number, names in enumerate(rows if expr is not None else (), 1):
            assert expr is not None
            try:
                text = evaluate(expr, names)
            except (Unavailable, LookupError, TypeError):
                continue
            form = own_form(text, gives) if isinstance(text, str) else None
            if form is not None:
                phrase = _phrase(text, form)
                message = (
                    f"row {number} has `{scorer.name}` ask for `{phrase}`, and the prompt is sent with another form of "
                    "the reply at its end"
                )
                shown = "allocated metrics" if scorer.gives is None else type_notation(scorer.gives)
                program.diagnostics.warning("W1012", message, place, help=_judge_hint(phrase, shown, gives))
                return


def _whole_prompts(scorer: Scorer) -> set[str]:
    """Return the parameters of a judge whose texts are its whole prompt: nothing else in it has a letter."""
    names: set[str] = set()
    for template in scorer.prompt.values():
        parts = [
            part
            for passage in template.parts
            for part in (passage.parts if isinstance(passage, Passage) else (passage,))
        ]
        if not any(character.isalpha() for part in parts if isinstance(part, str) for character in part):
            names |= {path[0] for expr in template_expressions(template) for path in paths_in(expr)}
    return names


def _template_in(expr: Expr) -> Expr | None:
    """Return the text in which functions such as `replace` put values: their first argument, or the expression itself
    if it calls none."""
    while isinstance(expr, Call) and expr.args:
        expr = expr.args[0]
    return expr if isinstance(expr, Ref) else None


def _judge_hint(phrase: str, shown: str, gives: Type | None) -> str:
    """Return the help for a judge's prompt with a form of its own, of which `phrase` is a part. `shown` is what it
    `gives` in the notation of a spec.
    """
    if gives is None:
        return "write `gives allocated metrics as stated`, and nothing is appended; or take the form out of the prompt"
    if isinstance(gives, RecordType):
        return "write `gives as stated { … }`, and nothing is appended; or take the form out of the prompt"
    record = f"{{ reasons text, verdict {shown} }}"
    if "json" in phrase.lower():
        return (
            f"write `gives as stated {record}` with the keys that the prompt names, and nothing is appended; or take "
            f"the form out of the prompt, and write `gives {record}`"
        )
    return (
        f'write `gives {shown} in "[[{VERDICT_HOLE}]]"` with the form that the prompt names, and nothing is appended; '
        f"or take the form out of the prompt, and write `gives {record}`"
    )


def _places(
    texts: Sequence[Text], holes: Sequence[CheckedHole], gives: Type | None
) -> Iterator[tuple[str, OwnForm, Span]]:
    """Yield the places in the author's words: in the texts of a scorer, and in the texts that their holes insert."""
    for text in texts:
        words = HOLE.sub(lambda hole: BLANK * len(hole[0]), text.value)
        form = own_form(words, gives)
        if form is not None:
            span = Span(text.span.source, text.offsets[form.start], text.offsets[form.end - 1] + 1)
            yield words, form, span
    for hole in holes:
        for part in subexpressions(hole.typed.expr):
            if isinstance(part, Literal_) and isinstance(part.value, str):
                form = own_form(part.value, gives)
                if form is not None:
                    yield part.value, form, hole.span
