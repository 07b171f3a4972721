"""Replies in which more is said than the answer: where it is marked, where the reasons begin, which part it answers."""

from __future__ import annotations

import json

import pytest

from tests.conftest import SHARED_DATA
from tests.each import each
from tripos_compiler.library.functions.multiple_choice import option_letters, right_or_wrong

LETTERS = [
    ("选项B和D都正确，因此选BD", "BD"),
    ("答案不是A，而是C。", "C"),
    ("**答案：B**\n\n**理由：** A 选项中的说法忽略了空气阻力，C、D 与题意无关。", "B"),
    ("答案：B\n\n理由：A、C、D均不正确。", "B"),
    ("```\nB\n```", "B"),
    ('{"选项": ["A", "C"], "分析": "B错"}', "AC"),
    ("【答案】Ａ．\n【解析】Ｂ选项错误", "A"),
    ("正確選項為 C", "C"),
    ("應選 B，因為 A 不對", "B"),
    ("選擇：A、C", "AC"),
    ("逐项分析：\nA. 正确描述了光的折射\nB. 光沿直线传播，错误\nC. 反射，错误\nD. 散射，错误\n所以正确答案是A。", "A"),
    ("A、B、C三项均错误，D项正确。", "D"),
    ("排除法：排除A、B、D，只剩下C。", "C"),
    ("答案：$B$", "B"),
    ("最终答案：\\(\\boxed{C}\\)", "C"),
    ("D。光的反射", "D"),
    ("答案：B\n理由：连接AC，在△ABC中，∠A=60°，故AB=AC。", "B"),
    ("答案：A\n理由：因此答案选A而不选B。", "A"),
    ("答案是：选A、C、D，不选B", "ACD"),
    ("本题答案为A C", "AC"),
    ("答案：A&C", "AC"),
    ("答案：A+C", "AC"),
    ("答案：A或C", "AC"),
    ("答案：A·C", "AC"),
    ("答案：A C D\n理由：B 错误。", "ACD"),
    ("答案：A选项和D选项", "AD"),
    ("A选项正确，B选项正确，C选项错误，D选项错误。所以选A、B。", "AB"),
    ("A选项正确，B选项正确，C选项错误，D选项错误。", "AB"),
    ("A：正确\nB：错误\nC：正确\nD：错误", "AC"),
    ("A错，B错，C对，D错", "C"),
    ("A. √ B. × C. √ D. ×", "AC"),
    ("错误的是B", "B"),
    ("A、C、D说法都正确，B说法错误，题目要求选错误的，因此选B。", "B"),
    ("答案：B（错误的一项）", "B"),
    ("答案：B错误", "B"),
    ("答案：C（A、B、D错误）", "C"),
    ("<think>A好像对，但B更好</think>答案：B", "B"),
    ("The correct answer is (B) because A is wrong.", "B"),
    ("I think A is a good option, but C is correct.", "C"),
    ("答案：a c", "AC"),
    ("答案：Ⓑ", "B"),
    ("答案：🅱", ""),
    ("应当选择 C。", "C"),
    ("综上，选项C最合适；A、B、D都有漏洞", "C"),
    ("正确的是：①③，故选 B", "B"),
    ("答案：B、C、D\n\nA错误：……\nB正确：……\nC正确：……\nD正确：……", "BCD"),
    ("答案：无法确定，可能是A", ""),
    ("答案：\n**C**\n理由：A 错", "C"),
    ("答案：“B”", "B"),
    ("答案：〔B〕", "B"),
    ("答案：B和D，因为A和C不正确", "BD"),
    ("答案：B以及D", "BD"),
    ("答案：B, D 两项", "BD"),
    ("答案：A\n\n理由：因为题干问的是不正确的一项，A 不正确。", "A"),
    ("选择A项，因为A项的说法错误，符合题意。", "A"),
    ("故选：A．", "A"),
    ("故答案选：AC。", "AC"),
    ("我的答案是A，而不是B", "A"),
    ("应该选B，A是干扰项。", "B"),
    ("A.", "A"),
    ("A、", "A"),
]
VERDICTS = [
    ("答案：对\n理由：这种说法没有错误。", "T"),
    ("这种说法是对的，不是错的。", "T"),
    ("这个说法不是对的。", "F"),
    ("該說法錯誤。", "F"),
    ("錯", "F"),
    ("對", "T"),
    ("正確", "T"),
    ("答案：正確", "T"),
    ("不對", "F"),
    ("答案：（√）", "T"),
    ("答案：X", "F"),
    ("答案：x", "F"),
    ("✘", "F"),
    ("╳", "F"),
    ("☓", "F"),
    ('```json\n{"answer": false}\n```', "F"),
    ("正确（√）", "T"),
    ("该题表述有误。", "F"),
    ("不准确", "F"),
    ("说法有误", "F"),
    ("说法无误", "T"),
    ("不能判断为正确，应为错误。", "F"),
    ("并不正确。", "F"),
    ("并非正确", "F"),
    ("不完全正确", "F"),
    ("不太对", "F"),
    ("答案：B（错误）", "F"),
    ("答案：A", "T"),
    ("B、错误", "F"),
    ("答案：是", "T"),
    ("答案：否。因为……", "F"),
    ("是的，这个说法正确。", "T"),
    ("正确答案是：×", "F"),
    ("此题判断为错，因为正确的应该是……", "F"),
    ("针对此说法，我认为错误。", "F"),
    ("This is not correct.", "F"),
    ("This isn't true.", "F"),
    ("Doesn't say", "N"),
    ("Not mentioned", "N"),
    ("NG", "N"),
    ("绝对值相等，说法错误。", "F"),
    ("答案：对\n理由：相对湿度……", "T"),
    ("经分析，面对困难要坚持。判断：错误", "F"),
    ("判断结果：错误", "F"),
    ("**答案：错误**\n\n**理由**：……正确应为……", "F"),
    ("答案：错误。\n理由：……所以正确的说法是……", "F"),
    ("题目说法正确吗？不正确。", "F"),
    ("答：正确。", "T"),
    ("Y", "T"),
    ("答案：假", "F"),
    ("假命题", "F"),
    ("真命题", "T"),
    ("这是假命题。", "F"),
]
PARTS = [
    ("答案：(1)A(2)C", 2, "AC"),
    ("答案：1. A  2. B  3. D", 3, "ABD"),
    ("答案：\n1. A\n2. B\n3. D\n\n理由：\n1. 由第一段可知A正确，B错误。\n2. 略", 3, "ABD"),
    ("答案：ABD\n解析：第1题选A，第2题选B。", 3, "ABD"),
    ("(1) 答案：A\n(2) 答案：C", 2, "AC"),
    ("第1题：答案：A。理由：……B错。\n第2题：答案：C。理由：……D错。", 2, "AC"),
    ("1.答案：B（理由：C、D 与文意不符）\n2.答案：D（理由：A 错）", 2, "BD"),
    ("答案：A；C\n理由：第一题中 B 项错误，第二题中 D 项错误。", 2, "AC"),
    ("答案：①C ②A ③B", 3, "CAB"),
    ("41. C  42. A  43. B", 3, "CAB"),
    ("1~3 CAB", 3, "CAB"),
    ("1—5 CABDA", 5, "CABDA"),
    ("答案：一、A；二、C", 2, "AC"),
    ("答案：题1：A，题2：C", 2, "AC"),
    ("答案：第一空选A，第二空选C", 2, "AC"),
    ("答案：1.A、B 2.C", 2, "ABC"),
]
VERDICTS_OF_PARTS = [
    ("答案：(1)对(2)错", 2, "TF"),
    ("1. √\n2. ×\n3. √", 3, "TFT"),
    ("1.对 2.错 3.对", 3, "TFT"),
    ("1. 正确。理由：原文没有错误。\n2. 错误。理由：正确的是……", 2, "TF"),
    ("答案：T F T T F", 5, "TFTTF"),
    ("1-5 TFTTF", 5, "TFTTF"),
    ("答案：TFTTF\n理由：1. 由第一段可知正确。", 5, "TFTTF"),
    ("答案：1. T 2. F\n理由：1. 文中说对。2. 文中说错。", 2, "TF"),
    ("一、对；二、错", 2, "TF"),
    ("第1题对，第2题错，第3题对", 3, "TFT"),
    ("答案：①√②×③√", 3, "TFT"),
    ("(√)(×)(√)", 3, "TFT"),
    ("√×√", 3, "TFT"),
    ("对错对", 3, "TFT"),
]
SINGLE = {"单选题", "选择题", "单项选择", "词汇选择题", "阅读单选", "多选题"}
FORMS = ("答案：{}\n理由：{}", "**答案：{}**\n\n**解析**：{}", "{}\n\n{}")
needs_data = pytest.mark.skipif(not (SHARED_DATA / "cjeval").is_dir(), reason="the real data are not here")


@each("reply, letters", LETTERS)
def test_letters_are_read_where_the_answer_is_and_not_in_its_reasons(reply: str, letters: str) -> None:
    assert "".join(option_letters(reply)) == letters


@each("reply, verdict", VERDICTS)
def test_a_verdict_is_read_where_the_answer_is_and_not_in_its_reasons(reply: str, verdict: str) -> None:
    assert "".join(right_or_wrong(reply)) == verdict


@each("reply, parts, letters", PARTS)
def test_every_part_has_its_own_letter(reply: str, parts: int, letters: str) -> None:
    assert "".join(option_letters(reply, parts)) == letters


@each("reply, parts, verdicts", VERDICTS_OF_PARTS)
def test_every_part_has_its_own_verdict(reply: str, parts: int, verdicts: str) -> None:
    assert "".join(right_or_wrong(reply, parts)) == verdicts


def test_reasons_for_an_answer_in_other_words_are_not_its_letters() -> None:
    assert option_letters("答案：36\n理由：连接 AC，由 A 到 B 的距离不变。") == []


@needs_data
@pytest.mark.parametrize("form", FORMS)
def test_the_references_of_the_data_are_read_with_their_explanations_behind(form: str) -> None:
    misread = []
    for path in sorted((SHARED_DATA / "cjeval" / "test").glob("*.json")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            answer = row["ques_answer"]
            if row["ques_type"] not in SINGLE or not option_letters(answer):
                continue
            several = len(answer) > 1 and row["ques_type"] != "多选题"
            said = "；".join(f"{at}. {each}" for at, each in enumerate(answer, 1)) if several else "".join(answer)
            reply = form.format(said, row["ques_analyze"])
            if option_letters(reply, len(answer) if several else 1) != option_letters(answer):
                misread.append(reply)
    assert misread == []
