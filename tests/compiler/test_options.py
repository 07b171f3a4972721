"""Which option awkward replies choose."""

from __future__ import annotations

import pytest

from tests.each import each
from tests.lengths import sized
from tripos_compiler.library.functions.multiple_choice import chosen_option

NUMBERS = ("3", "5", "8", "13")
WORDS = ("细胞膜", "细胞核", "核糖体", "细胞质基质")
ENGLISH = ("the sun", "the moon", "a star", "a planet")


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
        "",
        "不知道",
        "我需要更多信息。",
        "答案是A或B",
        "答案：AB",
        "A、B 都有可能",
        "答案是E",
        "答案是80",
        "1.8",
        "选择哪一个呢？",
        "It depends.",
        "A student would say that it is C.",
        r"\boxed{}",
        r"\boxed{x^2}",
        "A student cannot say.",
        "3 5 8 13",
    ],
)
def test_a_reply_without_one_choice_is_unreadable(reply: str) -> None:
    assert chosen_option(reply, NUMBERS) is None


@pytest.mark.parametrize(
    "reply",
    [
        "答案是A或者B",
        "答案是A还是B？",
        "不选A",
        "不应选A",
        "不能选A。",
        "答案不是A",
        "答案不是A，也不是B",
        "The answer is neither A nor B.",
        "The answer is a matter of taste.",
    ],
)
def test_what_is_left_open_or_ruled_out_is_no_choice(reply: str) -> None:
    assert chosen_option(reply, NUMBERS) is None


@pytest.mark.parametrize(
    "reply", ["不应该选A，应该选B", "不是A，是B", "The answer is not A but B.", "答案不是A，答案是B"]
)
def test_what_stands_beside_an_option_that_is_ruled_out_is_chosen(reply: str) -> None:
    assert chosen_option(reply, NUMBERS) == "B"


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("细胞核", "B"),
        ("細胞核", "B"),
        ("应该是核糖體。", "C"),
        ("正確答案是細胞質基質", "D"),
        ("B. 細胞核", "B"),
        ("蛋白质在核糖体上合成。", "C"),
        ("细胞质基质中进行", "D"),
    ],
)
def test_the_text_of_an_option_is_its_choice_in_either_script(reply: str, letter: str) -> None:
    assert chosen_option(reply, WORDS) == letter


def test_options_in_traditional_characters_are_read_from_a_reply_in_simplified_ones() -> None:
    assert chosen_option("答案是细胞核", ("細胞膜", "細胞核")) == "B"


def test_a_letter_beside_the_text_of_another_option_is_the_letter_that_is_announced() -> None:
    assert chosen_option("答案：B. 8", NUMBERS) == "B"
    assert chosen_option("B. 8", NUMBERS) == "B"


@pytest.mark.parametrize(("reply", "letter"), [("The Moon", "B"), ("It is a planet, clearly.", "D"), ("a star", "C")])
def test_english_options_are_read_without_regard_to_case(reply: str, letter: str) -> None:
    assert chosen_option(reply, ENGLISH) == letter


def test_an_option_whose_text_is_part_of_another_is_not_mistaken_for_it() -> None:
    assert chosen_option("只可能是钠离子通道", ("钠离子", "钠离子通道")) == "B"


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Aabb", "B"),
        ("答案是AAbb", "C"),
        ("B. Aabb", "B"),
        ("子代的基因型为 aabb。", "D"),
        ("AABB", None),
        ("故选A", "A"),
    ],
)
def test_options_that_differ_in_case_alone_are_told_apart_by_it(reply: str, letter: str | None) -> None:
    assert chosen_option(reply, ("AaBb", "Aabb", "AAbb", "aabb")) == letter


def test_two_options_of_the_same_text_are_told_apart_by_letters_alone() -> None:
    assert chosen_option("same", ("same", "same")) is None
    assert chosen_option("B", ("same", "same")) == "B"


@pytest.mark.parametrize(
    "piece", ["答案", "选", "A、", "“", "{", "\\boxed{", "answer is ", " ", "A B", "答案是A或", "'", "Ａ"]
)
def test_a_very_long_reply_is_read_to_its_end(piece: str) -> None:
    for end in ("", "答案是C"):
        assert chosen_option(piece * (sized(20_000, 100_000) // len(piece)) + end, NUMBERS) in (None, "A", "C")


def test_half_a_character_is_read_past() -> None:
    assert chosen_option("\ud800 正確答案為C", NUMBERS) == "C"
