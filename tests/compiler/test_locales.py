"""Numbers are read as the language of the cell writes them; what contradicts it is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.compiler.compiling import compile_files, plan_of
from tests.each import each
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import AmbiguousAnswer
from tripos_compiler.plan import Plan, Score
from tripos_compiler.replies.number_tokens import convention_of

READERS = ("last_number", "final_number", "number")
WAYS = {
    "en": ("{:,.2f}", str),
    "zh": ("{:,.2f}", str),
    "hi": ("{:,.2f}", str),
    "de": ("{:,.2f}", lambda text: text.translate(str.maketrans(",.", ".,"))),
    "pt_BR": ("{:,.2f}", lambda text: text.translate(str.maketrans(",.", ".,"))),
    "fr": ("{:,.2f}", lambda text: text.translate(str.maketrans(",.", "\u202f,"))),
    "ru": ("{:,.2f}", lambda text: text.translate(str.maketrans(",.", "\u00a0,"))),
    "pl": ("{:,.2f}", lambda text: text.translate(str.maketrans(",.", " ,"))),
    "de_CH": ("{:,.2f}", lambda text: text.replace(",", "’")),
    "ar": ("{:,.2f}", lambda text: text.translate(str.maketrans("0123456789,.", "٠١٢٣٤٥٦٧٨٩٬٫"))),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("locale", WAYS)
@given(cents=st.integers(0, 10**11))
def test_a_number_that_a_locale_writes_is_read_in_it(locale: str, reader: str, cents: int) -> None:
    form, written = WAYS[locale]
    assert FUNCTIONS[reader].python(written(form.format(cents / 100)), locale) == pytest.approx(cents / 100)


@each("reader", READERS)
@each(
    "text, locale, value",
    [
        ("2.000", "de", 2000),
        ("2.000", "en", 2),
        ("2,5", "de", 2.5),
        ("1.234.567", "es", 1_234_567),
        ("1 000", "fr", 1000),
        ("1 000", "en", 1000),
        ("1\u00a0234", "ru", 1234),
        ("1,234", "en", 1234),
        ("1,234", "it", 1.234),
        ("2.5", "de", 2.5),
        ("1.234,5", "en", 1234.5),
        ("1,234.5", "de", 1234.5),
        ("1,00,000", "hi", 100_000),
        ("1’234.5", "de-CH", 1234.5),
        ("3.5", "x", 3.5),
        ("2{,}5", "de", 2.5),
    ],
)
def test_a_number_is_read_as_the_locale_says(reader: str, text: str, locale: str, value: float) -> None:
    assert FUNCTIONS[reader].python(text, locale) == value


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("2,5", "en"),
        ("1,23", "en"),
        ("1.234.567", "en"),
        ("1 234", "en"),
        ("2.000", "fr"),
        ("1,234,567", "de"),
        ("1,234", "x"),
        ("2.000", ""),
        ("24.12.2024", "de"),
    ],
)
def test_a_number_that_may_mean_two_things_is_not_guessed_at(reader: str, text: str, locale: str) -> None:
    with pytest.raises(AmbiguousAnswer, match="numbers in LOCALE"):
        FUNCTIONS[reader].python(text, locale)


@pytest.mark.parametrize(
    "text",
    ["the point (3,4)", "the interval [-2,4)", r"$\left(1,4\right]$", r"\{1,4\}", "1,2,3,4", "1 2 3 4", "是3，4"],
)
def test_several_numbers_are_several(text: str) -> None:
    assert FUNCTIONS["last_number"].python(text) == 4


def test_what_is_no_number_of_the_locale_does_not_matter_before_the_one_that_is_read() -> None:
    assert FUNCTIONS["last_number"].python("On 24.12.2024 there were 2,5 or so: 7 apples") == 7


@pytest.mark.parametrize("locale", ["de", "de_CH", "pt-BR", "zh-Hant-TW", "es_419"])
def test_a_locale_is_known_by_its_language(locale: str) -> None:
    assert convention_of(locale) is not None


SPEC = """\
benchmark demo "1.0.0" {
  languages LANGUAGES
  SAID
}
role candidate compared
scorer right(said: text) = default(last_number(said), 0) == 2000
scenario one {
  context language
  OWN
  ask reply by candidate { prompt "1999 + 1? ({{ language }})" }
  score good = right(reply.text)
}
"""


def planned(folder: Path, languages: str, said: str = "", own: str = "") -> Plan:
    text = SPEC.replace("LANGUAGES", languages).replace("SAID", said).replace("OWN", own)
    return plan_of(compile_files(folder, {"spec.tripos": text}))


def score(plan: Plan, reply: str, language: str) -> object:
    (step,) = [step for step in plan.scenarios[0].steps if isinstance(step, Score)]
    try:
        return evaluate(step.value, {"reply": {"text": reply}, "language": language})
    except Unavailable as error:
        return error.status


def test_the_language_of_the_cell_decides(tmp_path: Path) -> None:
    plan = planned(tmp_path, "en, de")
    assert score(plan, "2.000", "de") is True
    assert score(plan, "2.000", "en") is False
    assert score(plan, "2,000", "en") is True
    assert score(plan, "2,5", "en") == "parse_failure"


@pytest.mark.parametrize(
    ("said", "own"), [("numbers in de", ""), ("", "numbers in de"), ("numbers in fr", "numbers in de")]
)
def test_a_locale_that_is_said_overrides_the_language(tmp_path: Path, said: str, own: str) -> None:
    assert score(planned(tmp_path, "en, zh", said, own), "2.000", "en") is True


def test_a_language_that_nobody_knows_has_what_is_ambiguous_reported(tmp_path: Path) -> None:
    plan = planned(tmp_path, "x")
    assert [score(plan, reply, "x") for reply in ("2000", "2.000")] == [True, "parse_failure"]


def test_the_plan_names_a_locale_where_it_is_not_the_usual_one(tmp_path: Path) -> None:
    assert "numbers" not in json.dumps(
        [step.model_dump(mode="json") for step in planned(tmp_path, "en, zh").scenarios[0].steps]
    )
    prints = {
        planned(tmp_path, "de", said).scenarios[0].steps[-1].fingerprint
        for said in ("", "numbers in en", "numbers in fr")
    }
    assert len(prints) == 3
