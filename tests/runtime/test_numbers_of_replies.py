"""Typed replies write numbers as the language of their cell does, outside JSON; what may mean two things is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.compiler.test_locales import WAYS
from tests.each import each
from tests.runtime.small_runs import SmallRun, run_small
from tripos_compiler.plan import IntegerType, ListType, Metric, NumberType, OptionalType, RecordType, SetType, Type
from tripos_runtime.models.base import Request
from tripos_runtime.reading.judgements import read_metrics
from tripos_runtime.reading.typed import read

NUMBER, WHOLE = NumberType(), IntegerType()
RATIO = RecordType(fields={"ratio": NUMBER})
SPEC = """\
benchmark sums "1.0.0" { languages en, de, fr LOCALE }
role candidate compared
role judge
dataset item from "items.jsonl" { language language, question text }
scorer worth(text: text) by judge { prompt "Worth? {{ text }}", gives 0..5000 }
scenario sums {
  context language
  over item
  ask reply by candidate { prompt "{{ item.question }}", returns number }
  score value = reply
  score worth = worth(reply.text)
  measure mean_of = mean(value)
}
"""
ITEMS = [{"language": each, "question": f"{each}?"} for each in ("en", "de", "fr")]


@each(
    "type_, text, locale, value",
    [
        (NUMBER, "2.000", "en", 2),
        (NUMBER, "2.000", "de", 2000),
        (NUMBER, "-2.000,5", "de", -2000.5),
        (NUMBER, "Das Ergebnis ist 2.000 €.", "de", 2000),
        (NUMBER, "2 000", "fr", 2000),
        (NUMBER, "2,5", "fr", 2.5),
        (NUMBER, "2.5", "de", 2.5),
        (WHOLE, "1.234.567", "es", 1_234_567),
        (WHOLE, "1,234,567", "en", 1_234_567),
        (WHOLE, "2.000", "de", 2000),
        (WHOLE, '{"value": "2.000"}', "de", 2000),
        (WHOLE, '{"value": 2.000}', "de", 2),
        (NUMBER, '{"value": 2.5}', "de", 2.5),
        (NUMBER, '{"value": 2,5}', "de", 2.5),
        (NUMBER, "<think>2,5 or 3</think>2.000", "de", 2000),
        (NUMBER, "1e3", "de", 1000),
        (RATIO, "2.000", "de", {"ratio": 2000}),
        (RATIO, '{"ratio": "2.000,5"}', "de", {"ratio": 2000.5}),
        (RATIO, '{"ratio": 2.000}', "de", {"ratio": 2}),
        (OptionalType(of=NUMBER), "2.000", "de", 2000),
        (IntegerType(low=0, high=5000), "2.000/5.000", "de", 2000),
        (NUMBER, "{1, 2} hat 2 Elemente.\nAntwort: 2.000", "de", 2000),
        (ListType(of=NUMBER), "1,5, 2.000", "de", [1.5, 2000]),
        (ListType(of=NUMBER), "1,5\n2.000", "de", [1.5, 2000]),
        (ListType(of=NUMBER), "[1.5, 2.000]", "de", [1.5, 2]),
        (ListType(of=WHOLE), "1,2,3", "en", [1, 2, 3]),
        (ListType(of=WHOLE), "1,2", "en", [1, 2]),
        (ListType(of=WHOLE), "1,234, 5", "en", [1234, 5]),
        (SetType(of=WHOLE), "1.000; 2.000", "de", {1000, 2000}),
        (NUMBER, "5 (not 2,5)", "en", 5),
    ],
)
def test_a_number_in_a_text_is_read_as_the_locale_writes_it(type_: Type, text: str, locale: str, value: object) -> None:
    found = read(type_, text, (), locale)
    assert (found.value, found.error) == (value, None)


@pytest.mark.parametrize(
    ("type_", "text", "locale"),
    [
        (NUMBER, "2,5", "en"),
        (NUMBER, "2.000", "fr"),
        (WHOLE, "1.234.567", "en"),
        (WHOLE, "1 234", "en"),
        (NUMBER, "2.000", "x"),
        (NUMBER, "1,234,567", "de"),
        (RATIO, '{"ratio": "2.000"}', "fr"),
        (ListType(of=NUMBER), "2.000; 3", "fr"),
        (ListType(of=WHOLE), "1,200", "en"),
    ],
)
def test_digits_that_may_mean_two_things_are_reported(type_: Type, text: str, locale: str) -> None:
    found = read(type_, text, (), locale)
    assert found.status == "parse_failure" and found.error is not None
    assert "write `numbers in LOCALE`" in found.error or "may be one number or several" in found.error


@pytest.mark.parametrize("locale", WAYS)
@given(cents=st.integers(-(10**11), 10**11))
def test_what_a_locale_writes_is_read_in_it(locale: str, cents: int) -> None:
    form, written = WAYS[locale]
    assert read(NUMBER, written(form.format(cents / 100)), (), locale).value == pytest.approx(cents / 100)


def test_a_judge_writes_numbers_as_its_locale_does_too() -> None:
    metric = Metric(name="worth", title={"de": "Wert"}, dimension="d", low=0, high=5000, asks={}, levels=())
    assert read_metrics([metric], "2.000", "de")["worth"].value == 2000
    assert read_metrics([metric], '{"Wert": {"score": "2.000"}}', "de")["worth"].value == 2000
    assert read_metrics([metric], '{"Wert": {"score": 2.000}}', "de")["worth"].value == 2
    assert "`fr` writes it" in str(read_metrics([metric], "2.000", "fr")["worth"].error)


def values(done: SmallRun, metric: str) -> dict[str, tuple[float | None, str]]:
    """Return what every language's item came to."""
    items = {row["item_id"]: row["context"]["language"] for row in done.table("samples")}
    return {
        items[row["item_id"]]: (row["value"], row["status"]) for row in done.table("scores") if row["metric"] == metric
    }


def both(_: Request) -> str:
    return "2.000"


def test_the_language_of_the_cell_says_how_a_reply_is_read(tmp_path: Path) -> None:
    done = run_small(tmp_path, SPEC.replace("LOCALE", ""), {"items.jsonl": ITEMS}, script=both, judge="j")
    wanted = {"en": (2, "scored"), "de": (2000, "scored"), "fr": (None, "parse_failure")}
    assert values(done, "value") == wanted
    [fails] = [row for row in done.table("samples") if row["context"]["language"] == "fr"]
    assert "`2.000` is no number as `fr` writes it" in fails["error"]


@pytest.mark.parametrize(("said", "value"), [("numbers in de", 2000), ("numbers in en", 2)])
def test_a_locale_that_is_said_decides_for_all_languages(tmp_path: Path, said: str, value: float) -> None:
    done = run_small(tmp_path, SPEC.replace("LOCALE", f"\n{said}"), {"items.jsonl": ITEMS}, script=both, judge="j")
    for metric in ("value", "worth"):
        assert values(done, metric) == dict.fromkeys(("en", "de", "fr"), (value, "scored"))


def test_another_locale_reads_the_same_replies_anew_and_asks_nothing(tmp_path: Path) -> None:
    def tell(said: str) -> str:
        return SPEC.replace("LOCALE", f"\n{said}")

    first = run_small(tmp_path, tell("numbers in en"), {"items.jsonl": ITEMS}, script=both, judge="j")
    again = run_small(tmp_path, tell("numbers in de"), {"items.jsonl": ITEMS}, script=both, before=first, judge="j")
    assert again.asked["a"] == 0
    assert values(again, "value")["en"] == (2000, "scored")
