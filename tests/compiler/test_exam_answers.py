"""Replies to questions of an exam, as models write them in Chinese: what is read of them."""

from __future__ import annotations

import pytest

from tests.each import each
from tripos_compiler.library.functions.multiple_choice import option_letters, right_or_wrong
from tripos_compiler.library.registry import FUNCTIONS

LETTERS = [
    ("B", "B"),
    ("b", "B"),
    ("(a)", "A"),
    ("（Ｂ）", "B"),
    ("ＢＤ", "BD"),
    ("答案是B。", "B"),
    ("【答案】C", "C"),
    ("答案：B、D", "BD"),
    ("答案：b", "B"),
    ("A,D", "AD"),
    ("A和D", "AD"),
    ("A 与 C", "AC"),
    ("故选D", "D"),
    ("选BD。", "BD"),
    ("因此，正确答案是 **C**。", "C"),
    ("\\boxed{B}", "B"),
    ("最后得 $\\boxed{BD}$。", "BD"),
    ('["BD"]', "BD"),
    ('["B","D"]', "BD"),
    ('{"answer": ["A", "C"]}', "AC"),
    ("A. 鞋底有花纹\nC. 车轮做成圆的", "AC"),
    ("A 项错误，B 项正确，C 项错误。", "B"),
    ("答案：A\n解析：B 项说法不对。", "A"),
    ("答案为A，B错在没有考虑摩擦。", "A"),
    ("选项C正确", "C"),
    ("应选择B选项", "B"),
    ("A选项错误，因此选B", "B"),
    ("正确选项是：A、B、C、D", "ABCD"),
    ("ABD。其中C不对", "ABD"),
    ("本题选C，因为A、B、D都错", "C"),
    ("排除A、C，所以D", "D"),
    ("【解答】解：A、B、D错误，C正确；故选：C。", "C"),
    ("The answer is D.", "D"),
    ("我认为是 C", "C"),
    ("以上都不对", ""),
    ("不知道", ""),
    ("", ""),
]
VERDICTS = [
    *(("对", "T"), ("错", "F"), ("√", "T"), ("×", "F"), ("正确", "T"), ("错误", "F"), ("✓", "T"), ("✗", "F")),
    *(("T", "T"), ("F", "F"), ("Ｔ", "T"), ("True", "T"), ("false", "F"), ("是", "T"), ("否", "F"), ("A", "T")),
    ("答案：错误", "F"),
    ("【答案】×", "F"),
    ("不正确", "F"),
    ("不对。", "F"),
    ("没错", "T"),
    ("B. 错误", "F"),
    ("这句话是错误的。", "F"),
    ("判断：√", "T"),
    ("错误。改正：正确的是长江。", "F"),
    ("该说法不正确。因为对角线相等是对的", "F"),
    ("因为 2 是质数，所以这句话错误。", "F"),
    ("答案：F\n解析：前半句是对的。", "F"),
    ("本题答案为“对”", "T"),
    ("说法正确，没有错误。", "T"),
    ("不知道", ""),
    ("", ""),
]


@each("reply, letters", LETTERS)
def test_the_letters_of_an_awkward_reply_are_read(reply: str, letters: str) -> None:
    assert "".join(option_letters(reply)) == letters


@each("reply, verdict", VERDICTS)
def test_the_verdict_of_an_awkward_reply_is_read(reply: str, verdict: str) -> None:
    assert "".join(right_or_wrong(reply)) == verdict


@pytest.mark.parametrize(
    "reply", ["1. B 2. C 3. A", "1-3 BCA", "(1)B；(2)C；(3)A", "第一题选B，第二题选C，第三题选A", "答案：B C A"]
)
def test_the_parts_of_a_reading_are_read_in_their_order(reply: str) -> None:
    assert option_letters(reply, 3) == ["B", "C", "A"]


@pytest.mark.parametrize("reply", ["TFN", "T F N", "1.T 2.F 3.N", "√，×，未提及", "正确 错误 未提到"])
def test_the_verdicts_on_a_reading_are_read_in_their_order(reply: str) -> None:
    assert right_or_wrong(reply, 3) == ["T", "F", "N"]


def test_the_answers_of_the_data_are_read_as_replies_are() -> None:
    assert option_letters(["BD"]) == option_letters(["B", "D"]) == option_letters("答案：D、B")[::-1]
    assert right_or_wrong(["√", "√", "×"]) == ["T", "T", "F"]
    assert right_or_wrong(["错误：短程导弹；改正：原子弹。"]) == ["F"]


def test_both_are_functions_of_the_language() -> None:
    assert {"option_letters", "right_or_wrong", "picked", "drawn"} <= FUNCTIONS.keys()
