"""Which option awkward replies choose."""

from __future__ import annotations

import pytest

from tests.each import each
from tests.lengths import sized
from tripos_compiler.library.functions.multiple_choice import chosen_option

NUMBERS = ("3", "5", "8", "13")
WORDS = ("细胞膜", "细胞核", "核糖体", "细胞质基质")
ENGLISH = ("the sun", "the moon", "a star", "a planet")
CASES = ("AaBb", "Aabb", "AAbb", "aabb")


@each(
    "reply, letter",
    [
        ("C", "C"),
        ("c", "C"),
        ("C.", "C"),
        ("（C）", "C"),
        ("Ｃ", "C"),
        ("**C**", "C"),
        ("【C】", "C"),
        ("选项C", "C"),
        ("C. 8", "C"),
        ("C、8", "C"),
        ("C）8。", "C"),
        ("答案：C", "C"),
        ("答案是C", "C"),
        ("答案为 C。", "C"),
        ("答案应该是(C)", "C"),
        ("正确答案是：**C**", "C"),
        ("**答案：** C", "C"),
        ("答案是选项C", "C"),
        ("答案選C", "C"),
        ("正確答案為「C」", "C"),
        ("正確選項是Ｃ", "C"),
        ("正确选项为 C. 8", "C"),
        ("故选C。", "C"),
        ("故選：C", "C"),
        ("因此选择 C 项", "C"),
        ("应选C", "C"),
        ("本题选 C", "C"),
        (r"所以 $\boxed{C}$", "C"),
        (r"\boxed{\text{C}}", "C"),
        (r"\boxed{8}", "C"),
        (r"$\boxed{\mathrm{Ｃ}}$。", "C"),
        ("The answer is C.", "C"),
        ("the correct answer is (c)", "C"),
        ("Answer: C", "C"),
        ("ANSWER = C", "C"),
        ("The correct option is C", "C"),
        ("I choose C because it is even.", "C"),
        ('{"answer": "C"}', "C"),
        ('{"value": "C"}', "C"),
        ("8", "C"),
        ("答案是8", "C"),
        ("经计算得到的结果是\n8", "C"),
        ("排除A、B、D后，\n答案：C", "C"),
        ("A错误；B错误；C正确；D错误。故选C。", "C"),
        ("先算出5，再加3。\nC. 8", "C"),
        ("答案是A。不对，重新计算后答案是C。", "C"),
        ("不选A，选C", "C"),
        ("答案不是A，而是C", "C"),
        ("不应该选A，应该选B", "B"),
        ("不是A，是B", "B"),
        ("The answer is not A but B.", "B"),
        ("答案不是A，答案是B", "B"),
        ("我认为C项符合题意", "C"),
        ("C is correct.", "C"),
        ("A错误，B错误，C正确，D错误", "C"),
        ("结果是13，所以得到13。", "D"),
        ("答案是13", "D"),
    ],
)
def test_a_reply_chooses_an_option(reply: str, letter: str) -> None:
    assert chosen_option(reply, NUMBERS) == letter


@each(
    "reply",
    [
        "", "不知道", "我需要更多信息。", "答案是A或B", "答案：AB", "A、B 都有可能", "答案是E", "答案是80", "1.8", "选择哪一个呢？", "It depends.",
        "A student would say that it is C.", r"\boxed{}", r"\boxed{x^2}", "A student cannot say.", "3 5 8 13",
        "答案是A或者B", "答案是A还是B？", "不选A", "不应选A", "不能选A。", "答案不是A", "答案不是A，也不是B", "The answer is neither A nor B.",
        "The answer is a matter of taste.",
    ],
)  # fmt: skip
def test_a_reply_without_one_choice_is_unreadable(reply: str) -> None:
    assert chosen_option(reply, NUMBERS) is None


@each(
    "reply, options, letter",
    [
        ("细胞核", WORDS, "B"),
        ("細胞核", WORDS, "B"),
        ("应该是核糖體。", WORDS, "C"),
        ("正確答案是細胞質基質", WORDS, "D"),
        ("B. 細胞核", WORDS, "B"),
        ("蛋白质在核糖体上合成。", WORDS, "C"),
        ("细胞质基质中进行", WORDS, "D"),
        ("答案是细胞核", ("細胞膜", "細胞核"), "B"),
        ("答案：B. 8", NUMBERS, "B"),
        ("B. 8", NUMBERS, "B"),
        ("The Moon", ENGLISH, "B"),
        ("It is a planet, clearly.", ENGLISH, "D"),
        ("a star", ENGLISH, "C"),
        ("只可能是钠离子通道", ("钠离子", "钠离子通道"), "B"),
        ("Aabb", CASES, "B"),
        ("答案是AAbb", CASES, "C"),
        ("B. Aabb", CASES, "B"),
        ("子代的基因型为 aabb。", CASES, "D"),
        ("AABB", CASES, None),
        ("故选A", CASES, "A"),
        ("same", ("same", "same"), None),
        ("B", ("same", "same"), "B"),
    ],
)
def test_the_text_of_an_option_is_its_choice_unless_a_letter_is_announced(
    reply: str, options: tuple[str, ...], letter: str | None
) -> None:
    assert chosen_option(reply, options) == letter


@pytest.mark.parametrize(
    "piece", ["答案", "选", "A、", "“", "{", "\\boxed{", "answer is ", " ", "A B", "答案是A或", "'", "Ａ"]
)
def test_a_very_long_reply_is_read_to_its_end(piece: str) -> None:
    for end in ("", "答案是C"):
        assert chosen_option(piece * (sized(20_000, 100_000) // len(piece)) + end, NUMBERS) in (None, "A", "C")


def test_half_a_character_is_read_past() -> None:
    assert chosen_option("\ud800 正確答案為C", NUMBERS) == "C"
