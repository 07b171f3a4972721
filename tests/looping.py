"""Replies of models that repeat themselves: one shape for each thing that is repeated."""

from __future__ import annotations

from collections.abc import Iterator

REPEATED = (
    "[", "{", "]", "}", "[]", "{}", "{[", '"', "'", "“", "“”", "`", "```\n", "```json\n{\n", "1", "0", "1,", "1,234,",
    ",123", "5 points ", "1.1 ", "-", "+", "-1", "/", "1/2 ", "1/", "1 of ", "out of ", ",", ";", "，", "：", ":", "a:",
    ": ", "\n", "\r\n", " ", "\t", "\xa0", "\n ", "\x0b", "a", "A", "B ", "AB", "I ", "word ", "是", "答案", "选", "不",
    "一", "一、", "万", "分之", "三分之", "\u0301", "a\u0301", "\u0301\u0323", "\u1100\u1161", "\U0001f600", "\u200d",
    "\ud800", "\x00", "\x1b[0m", "\u202e", "*", "**", "**a", "_", "#", "####", "$", "\\", "\\boxed{", "\\boxed{1}",
    "\\frac{", "\\frac{1}", "\\(", "\\text{", "(", "()", "（", "（）", "(a", ")", "<think>", "<thinking>", "</think>",
    "<think>a</think>", "<", "<answer>", "score", "score: ", "score is is ", "is ", "=", "score  ", "answer ",
    "Answer: ", "the answer is ", "the ", "true ", "yes ", "no", "not ", "n't", "sorry ", "I'm sorry ", "i cannot ",
    '{"value": ', '{"a": 1, ', '"a": ', "'a': '", '\\"', '":', '",', '"：', '，"', "，“", '["a", ', "[1, ", '{"a": {',
    '{"a": 1} ', "{'a': 1} ", "[1] ", "{a ", "[a ", "{ ", "[ ", '{"', "['", "{\n", '[""', '" "', '"  ', "- ", "- a\n",
    "1. ", "1) a\n", "(1) ", "1、", "\u2022", "-\n", "Teacher: hi\n", "老师：", " : ", "%", "1% ", "5分", "\u20ac", "10^",
    "1e", "e1", "10^2 ", "1 × ", "½", "1½", "\u0661", "\u0661\u066c", "1\u2009", "1 ", " 234", "1.234.", "1,234.5",
    "1'", "1st ", "_1", "x2 ", "A or B ", "A,", "A、", "A and ", "选A", "不选A", "A项错误", "A is wrong ", "非", "对", "错",
    "√", "×", "T ", "F,", "理由", "答案是", "答案：", "第1题 ", "1.A ", "option ", "N/A ", "a ", "a-", "a_", ".", "\u2026 ",
    "a. ", "!", "? ", "。", "result ", "结果", "Result:\n", "= 1 ", "final ", "Antwort", "'s ", "正确的", "和", "以及", '"A" ',
    "it's ", "1,2 ", "null ", "a@", "https://", "|", "| a ", "&", "\u2014", "\u2013", "\u3000", "\u2028", "\x85",
    "\x1c", "\ue000", "\ue0001,2\ue001", "\ufb03", "\ufdfa", "１", "Ａ", "①", "1\u0301", '{"a": [', "[[1], ", '"}',
    "{}\n", "<br>", "\\n", "\\u00", '"a": "b", ', "a b ", "，“a”", "- [ ] ", "1:1 ", "No. ", "A: ", "B: a\n", "ok\n\n",
    "(A) ", "A/B ", "10%", "1e5 ", "-1 ", "2 + 2 = ", "= 4\n", "{{", "}}", "${", "\u200b", "\ufeff", "é", "ß", "İ",
    "\ufb00", "the result is . ", "as a result ", "答案：!", "x <think> ", "`<think>`", "```<think>", "<think></think>`",
)  # fmt: skip
BEGINNINGS = (
    "", "score", "{", "1", "\\boxed{", "选", "不", "答案", '{"value": "', "Answer: ", "[", "a ", "<think>", "(", "**",
)  # fmt: skip
"""What stands before it."""


def looping(length: int) -> Iterator[tuple[str, str]]:
    """Yield a reply of that length for each shape, by its name."""
    for number, repeated in enumerate(REPEATED):
        beginning = BEGINNINGS[number % len(BEGINNINGS)] if number % 2 else ""
        yield ascii(beginning + repeated), (beginning + repeated * (length // len(repeated) + 1))[:length]
