"""The number at which a reply arrives, however awkwardly it is written; and the gold numbers of worked solutions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from tests.conftest import SHARED_DATA
from tests.each import each
from tests.lengths import sized, spread
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import AmbiguousAnswer

final_number = FUNCTIONS["final_number"].python
same_number = FUNCTIONS["same_number"].python

AWKWARD: list[tuple[str, float | None]] = [
    # plain, with separators, signs and units
    ("12", 12),
    ("12.", 12),
    ("1,234.50", 1234.5),
    ("1,450,000", 1_450_000),
    ("$18.00", 18),
    ("-$5", -5),
    ("$-5", -5),
    ("€1,200", 1200),
    ("12 apples", 12),
    ("3.5kg", 3.5),
    ("50%", 50),
    ("1.5e3", 1500),
    ("−7 degrees", -7),
    ("＄１８", 18),
    # several numbers
    ("18 - 6 = 12", 12),
    ("5 - 3 = 2", 2),
    ("9*2 = 18 eggs", 18),
    ("x = 5\ny = 6", 6),
    ("from 3-4 days", 4),
    ("I came 2nd with 4 points", 4),
    # fractions
    ("3/4", 0.75),
    ("-3/4", -0.75),
    ("1 3/4 cups", 1.75),
    ("½", 0.5),
    ("12/4 = 3", 3),
    (r"\frac{3}{4}", 0.75),
    (r"\(\frac{1}{2}\)", 0.5),
    ("３／４", 0.75),
    # boxes
    (r"\boxed{12}", 12),
    (r"so the answer is \boxed{12}, not 13", 12),
    (r"\boxed{\frac{3}{4}}", 0.75),
    (r"$\boxed{\$18}$", 18),
    (r"\boxed{1{,}200}", 1200),
    (r"\boxed{12 \text{ apples}}", 12),
    (r"first \boxed{1}, then \boxed{2}", 2),
    (r"\boxed{x} = 7", 7),
    # labels
    ("Answer: -3", -3),
    ("Answer: -3 degrees, not 5", -3),
    ("**Answer:** 12", 12),
    ("**Final answer: 12**", 12),
    ("Answer:\n12", 12),
    ("The final answer is $1,234.", 1234),
    ("Answer: 3 + 4 = 7 apples", 7),
    ("The answer is 5 out of 10 apples", 5),
    ("The answer is 8. Checking: 8 - 3 = 5", 8),
    ("My first answer: 3\nMy answer: 4", 4),
    ("The answer is therefore 6.", 6),
    ("Result: 40", 40),
    # after ####
    ("9*2 = $<<9*2=18>>18 a day.\n#### 18", 18),
    ("#### 2,125", 2125),
    ("x\n#### -10", -10),
    ("#### $5.50 each", 5.5),
    # Chinese
    ("十二", 12),
    ("两千", 2000),
    ("负三", -3),
    ("三点五", 3.5),
    ("答案是十二个苹果。", 12),
    ("答案：３６", 36),
    ("一共一百二十三元", 123),
    ("他还剩三分之二", 2 / 3),
    ("所以是五个", 5),
    ("第三步是七", 7),
    ("共有一万三千五百人", 13_500),
    # as it is written elsewhere
    ("The answer is 12 000.", 12_000),
    ("1\u202f234\u202f567 people", 1_234_567),
    ("Answer: 1'234", 1234),
    ("Answer: 1.234,50 €", 1234.5),
    ("Answer: 1.234", 1.234),
    ("_18_", 18),
    # powers of ten
    ("Answer: 1.5 × 10^3", 1500),
    (r"Answer: $1.5 \times 10^{3}$ metres", 1500),
    ("so 10^6 of them", 1_000_000),
    ("12 cm^2", 12),
    ("2 x 10 = 20", 20),
    ("10^999 grains, so 5", 5),
    # ten thousands
    ("答案：3万", 30_000),
    ("答案：1.2万元", 12_000),
    ("共3万5千人", 35_000),
    ("一共2亿", 200_000_000),
    ("重5千克", 5),
    ("答案是三亿三", None),
    ("answer " * 3000, None),
    # none
    ("", None),
    ("none", None),
    ("I do not know.", None),
    ("结果是一样的", None),
    ("千万不要", None),
    ("H2O and x2", None),
    ("####", None),
]


@each("text, value", AWKWARD)
def test_the_number_of_an_awkward_reply(text: str, value: float | None) -> None:
    found = final_number(text)
    assert found is None if value is None else found == pytest.approx(value)


@settings(max_examples=sized(60, 200))
@given(st.text(max_size=60) | st.text(alphabet="零〇一二两三四五六七八九十百千万亿点负是，", max_size=12))
def test_any_text_can_be_looked_through(text: str) -> None:
    try:
        found = final_number(text)
    except AmbiguousAnswer:
        return
    assert found is None or isinstance(found, float)


@given(
    st.integers(-(10**9), 10**9), st.sampled_from(["#### {}", "Answer: {}", "so it is {}.", "\\boxed{{{}}}", "{} eggs"])
)
def test_a_whole_number_is_read_with_separators_and_without(number: int, form: str) -> None:
    assert final_number(form.format(f"{number:,}")) == final_number(form.format(number)) == number


@given(st.integers(1, 9999))
def test_a_chinese_numeral_is_the_number_that_it_says(number: int) -> None:
    from cn2an import an2cn

    assert final_number(f"答案是{an2cn(number)}个") == number


def test_a_fraction_and_its_decimal_are_the_same_number() -> None:
    assert same_number(final_number("3/4"), final_number("Answer: 0.75"))


@pytest.mark.skipif(not (SHARED_DATA / "gsm8k").is_dir(), reason="the real data are not here")
def test_every_gold_answer_of_gsm8k_is_read() -> None:
    import json

    lines = (SHARED_DATA / "gsm8k" / "test.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 1319
    answers = [json.loads(line)["answer"] for line in spread(lines, 300)]
    golds = [float(answer.rpartition("####")[2].replace(",", "")) for answer in answers]
    assert [final_number(answer) for answer in answers] == golds


def test_numerals_that_no_reader_knows_are_none() -> None:
    assert final_number("答案是两亿七") is None


@pytest.mark.parametrize("piece", ["1", "一", "万"])
def test_digits_and_numerals_without_end_are_read_to_their_end(piece: str) -> None:
    assert final_number(f"{piece * 200_000}, so 12 apples") == 12
