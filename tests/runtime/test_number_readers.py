"""All that reads a number reads the same one: of a value in every notation, in sentences of four languages."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from tests.lengths import sized
from tests.number_notations import Draw, draws, in_json
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import AmbiguousAnswer
from tripos_compiler.plan import IntegerType, Metric, NumberType
from tripos_runtime.reading.judgements import read_metrics
from tripos_runtime.reading.typed import read

SEED = 39
COUNT = sized(1_500, 20_000)
"""Each draw is read five times."""
MOST_UNREAD = 0.01
Reader = Callable[[str, str], float | None]


def function(name: str) -> Reader:
    def reader(text: str, locale: str) -> float | None:
        try:
            found = FUNCTIONS[name].python(text, locale)
        except AmbiguousAnswer:
            return None
        return None if found is None else float(found)

    return reader


def typed(text: str, locale: str) -> float | None:
    return read(NumberType(), text, locale=locale).value


READERS: dict[str, Reader] = {
    "returns number": typed,
    "final_number": function("final_number"),
    "last_number": function("last_number"),
    "number": function("number"),
}


def said(draw: Draw) -> dict[str, float | None]:
    found = {name: reader(draw.text, draw.locale) for name, reader in READERS.items()}
    return found | {"JSON": typed(in_json(draw), draw.locale)}


def is_same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-12)


def ends_with_its_number(draw: Draw) -> bool:
    return "Explanation" not in draw.text and ", not " not in draw.text


def test_every_reader_gives_the_value_or_nothing() -> None:
    unread: dict[str, list[Draw]] = {"returns number": [], "final_number": [], "JSON": []}
    for draw in draws(SEED, COUNT):
        for name, value in said(draw).items():
            if name == "last_number" and not ends_with_its_number(draw):
                continue
            if value is None:
                unread.get(name, []).append(draw)
            else:
                assert is_same(value, draw.value), (name, value, draw)
    for name, lost in unread.items():
        assert len(lost) <= MOST_UNREAD * COUNT, (name, lost[:20])


@given(st.integers(0, 10**6), st.sampled_from(["**{}**", "{}\u200b", "{}   ", "<think>9 or 8</think>{}", "\n{}\n"]))
def test_emphasis_and_blanks_and_thinking_change_no_reading(seed: int, form: str) -> None:
    (draw,) = draws(seed, 1)
    if draw.text.startswith(("<", "*", "#")) or "\n" in draw.text or "**" in draw.text:
        return
    for name, reader in READERS.items():
        assert reader(form.format(draw.text), draw.locale) == reader(draw.text, draw.locale), name


@given(st.integers(0, 10**6))
def test_decomposed_letters_and_curly_quotes_change_no_reading(seed: int) -> None:
    (draw,) = draws(seed, 1)
    for name, reader in READERS.items():
        assert reader(unicodedata.normalize("NFD", draw.text), draw.locale) == reader(draw.text, draw.locale), name


@given(
    st.integers(1, 10),
    st.sampled_from(["{}/10", "{} out of 10", "Score: {}", "I give it {}.", "得分：{}", "我给{}分。"]),
)
def test_scores_of_judges_and_typed_ranges_agree(score: int, form: str) -> None:
    metric = Metric(name="worth", title={"en": "Worth"}, dimension="d", low=1, high=10, asks={}, levels=())
    text = form.format(score)
    assert read_metrics([metric], text)["worth"].value == read(IntegerType(low=1, high=10), text).value == score


FRAMES = {
    "denied": ("not {}", "The answer is not {}.", "It isn't {}.", "It isn’t {}.", "anything but {}", "答案不是{}。"),
    "several": ("{0} or {1}", "{0}, {1}", "{0}~{1}", "{0}-{1}", "from {0} to {1}", "{0}或{1}", "\\boxed{{{0}, {1}}}"),
    "rough": ("about {}", "at least {}", "more than {}", "~{}", "大约{}", "{}左右", "> {}"),
    "asked": ("Is it {}?", "是{}吗？"),
    "other": ("{} (was {1})", "{0}_000", "{0}①", "\\sqrt{{{0}}}", "{0}\\pi", "{0}th", "{0}:{1}5", "H{0}O"),
}


@pytest.mark.parametrize("frame", FRAMES)
@given(one=st.integers(2, 99), other=st.integers(2, 99))
def test_what_is_not_one_number_has_none(frame: str, one: int, other: int) -> None:
    other = other + 1 if one == other else other
    for form in FRAMES[frame]:
        text = form.replace("{}", "{0}").format(one, other)
        for type_ in (NumberType(), IntegerType(), IntegerType(low=1, high=100)):
            assert read(type_, text).value is None, text
            assert read(type_, f'{{"value": "{text}"}}').value is None, text
        assert FUNCTIONS["number"].python(text) is None, text


@given(st.lists(st.sampled_from("0123456789.,-–/ %$^×=()[]{}<>\\'\"负万分之又半 answer:Score not or the"), max_size=40))
def test_readers_of_any_text_agree_where_two_read_anything(pieces: list[str]) -> None:
    text = "".join(pieces)
    whole = READERS["number"](text, "en")
    if whole is not None:
        for name, reader in READERS.items():
            value = reader(text, "en")
            assert value is None or is_same(value, whole), (name, value, whole, text)


TYPESET = (
    r"\ {}", r"{}\ ", r"\,{}", r"{}\,", r"\;{}", r"\!{}", r"\quad {}", r"{}\quad", "{{{}}}", "{{ {} }}", r"\text{{{}}}",
    r"\mathrm{{{}}}", r"\mathbf{{{}}}", r"\textbf{{{}}}", r"\boldsymbol{{{}}}", r"\color{{red}}{}", r"\color{{red}}{{{}}}",
    r"{{\color{{blue}}{}}}", r"\displaystyle {}", r"\left({}\right)", "({})", "${}$", r"\({}\)", r"\[{}\]", "{}.",
)  # fmt: skip
"""Ways to set a number in LaTeX, which change nothing of what it is."""
SET = ("12", "-2", "0.75", "1,234.5", r"\frac{3}{4}", r"-\frac34", r"1\frac{1}{2}", "10^{3}")


@given(st.sampled_from(SET), st.lists(st.sampled_from(TYPESET), max_size=2), st.booleans())
def test_a_number_is_the_same_however_it_is_set(number: str, coats: list[str], boxed: bool) -> None:
    said = number
    for coat in coats:
        if said != number and coat == "{}.":
            continue
        said = coat.format(said)
    if boxed:
        said = rf"\boxed{{{said}}}"
    value = READERS["number"](number, "en")
    assert value is not None
    assert READERS["number"](said, "en") in (value, None), said
    if number.strip("-").isdigit() and coats.count("({})") + coats.count(TYPESET[19]) < 2:
        assert READERS["number"](said, "en") == value, said
