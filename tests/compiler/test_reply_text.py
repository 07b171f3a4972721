"""The normal form of a reply: what is thinking, and what differences of writing mean nothing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from tripos_compiler.replies.text import TAGS, ReplyText, comparable

CASES = [
    ("B", "B", None),
    ("<think>A?</think>\n\nB", "B", "A?"),
    ("<THINK>A?</Think> B", "B", "A?"),
    ("< think >A?</ think >B", "B", "A?"),
    ("A? No.</think>\nB", "B", "A? No."),
    ("A? </think> still </think>\nB", "B", "A?  still"),
    ("<think>one</think>x<think>two</think>y", "x y", "one\n\ntwo"),
    ("<think>a<think>b</think>c</think>B", "B", "abc"),
    ("<think>a <think> b</think> B", "B", "a  b"),
    ("<think>I close with </think> now. A</think> B", "B", "I close with  now. A"),
    ("<reasoning>A</reasoning><thinking>C</thinking>B", "B", "A\n\nC"),
    ("[THINK]A[/THINK]B", "B", "A"),
    ("◁think▷A◁/think▷B", "B", "A"),
    ("<longcat_think>A</longcat_think>B", "B", "A"),
    ("<unused94>thought\nA<unused95>B", "B", "A"),
    ("<|inner_prefix|>A<|inner_suffix|>B", "B", "A"),
    ("<think>A</think><|begin_of_box|>B<|end_of_box|>", "B", "A"),
    ("<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>", "B", "A?"),
    (
        "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>commentary<|message|>C"
        "<|end|><|start|>assistant<|channel|>final<|message|>B",
        "B",
        "A?C",
    ),
    ("analysisThey ask for A or B.assistantfinalB", "B", "They ask for A or B."),
    ("analysis of the text: assistant final", "analysis of the text: assistant final", None),
    ("Use the `<think>` tag and `</think>`.", "Use the `<think>` tag and `</think>`.", None),
    ("<think>A</think> Use `</think>` to end.", "Use `</think>` to end.", "A"),
    ("```\n<think>x</think>\n```", "```\n<think>x</think>\n```", None),
    ("The <think> tag opens it.", "The <think> tag opens it.", None),
    ("<think>```python\nprint(1)\n</think>\nB", "B", "```python\nprint(1)"),
    ("B<|im_end|>", "B", None),
    ("<think></think>\nB", "B", ""),
    ("A list[int] and x < 3", "A list[int] and x < 3", None),
]


@pytest.mark.parametrize(("raw", "answer", "thinking"), CASES)
def test_an_answer_is_parted_from_its_thinking(raw: str, answer: str, thinking: str | None) -> None:
    assert ReplyText.parse(raw) == ReplyText(answer, thinking)


@pytest.mark.parametrize("raw", ["<think>A, or", "\n<thinking>A", "[THINK]A", "<|channel|>analysis<|message|>A"])
def test_thinking_that_never_ends_leaves_no_answer(raw: str) -> None:
    parsed = ReplyText.parse(raw)
    assert (parsed.answer, parsed.closed) == ("", False)
    assert parsed.thinking is not None and parsed.thinking.startswith("A")


PIECES = st.sampled_from(
    [f"<{tag}>" for tag in TAGS]
    + [f"</{tag}>" for tag in TAGS]
    + ["[THINK]", "[/THINK]", "◁think▷", "<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "<|end|>"]
    + ["A", " is 12.", "\n", "`", "```", "<thi", "nk>", "</", "analysis", "assistantfinal", " "]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)
WORDS = st.text(alphabet="ABc 12.\n", max_size=20)


@given(TEXTS)
def test_parsing_an_answer_again_changes_nothing(raw: str) -> None:
    answer = ReplyText.parse(raw).answer
    assert ReplyText.parse(answer).answer == answer


@given(st.sampled_from(TAGS), TEXTS.filter(lambda text: "`" not in text), WORDS)
def test_a_closed_block_before_an_answer_changes_nothing(tag: str, thought: str, answer: str) -> None:
    inside = thought.replace("<", "(").replace("[", "(").replace("◁", "(").replace("assistantfinal", "")
    assert ReplyText.parse(f"<{tag}>{inside}</{tag}>\n{answer}").answer == answer.strip()


@given(st.text(max_size=60))
def test_a_comparable_text_is_comparable(text: str) -> None:
    once = comparable(text)
    assert comparable(once) == once
    assert comparable(unicodedata.normalize("NFD", text)) == once


def test_differences_that_mean_nothing_are_gone() -> None:
    assert comparable("It isn’t “Ａ１”\u00a0− ok\u200b") == 'It isn\'t "A1" - ok'
    assert comparable("10⁵ ½ ．") == "10⁵ ½ ．"
