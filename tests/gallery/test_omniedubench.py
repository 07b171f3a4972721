"""OmniEduBench by its description: choices by the standard answer, other types by a judge, and means over questions."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

from tests.gallery.playing import facts_of, is_answer, play

CATEGORIES = {
    "knowledge": ("FD", "HH", "SSEM", "LP", "MH", "IIS"),
    "cultivation": ("TCS", "EMH", "SIS", "CV", "PD", "TFS"),
}
SHOTS = {"zero": 0, "one": 1, "three": 3, "five": 5}
SINGLE = {
    "答案是A": "A",
    "推理如下。\n答案是 B": "B",
    "故选：Ｃ。": "C",
    "\\boxed{D}": "D",
    "**答案：A**": "A",
    "（B）": "B",
}
SINGLE |= {
    "答案是D，因为 A 与题意不符": "D",
    "": "",
    "无法判断。": "",
    "答案是A或B": "",
    "答案是F": "",
    "The answer is C.": "C",
}
SEVERAL = {
    "答案是AC": "AC",
    "答案是 C、A": "AC",
    "故选：ＢＤ": "BD",
    "答案是ABD。因为 C 不对": "ABD",
    "": "",
    "不选 A。答案是B": "B",
}
VERDICT = {"答案是对": "对", "答案是错": "错", "答案是×": "错", "正确。": "对", "不清楚": "", "": ""}
OPEN = {"天涯若比邻": True, "不知道": False, "": False, "结果是 $\\frac{1}{2}$。": True, "½": True}


def test_accuracies_are_means_over_questions_and_over_categories(tmp_path: Path) -> None:
    dice, facts = random.Random(24602), facts_of("omniedubench")
    rows: list[dict[str, object]] = []
    right: dict[tuple[int, str], bool] = {}
    said: dict[tuple[int, str], str] = {}
    for number in range(facts.replies // 4):
        domain = dice.choice(("knowledge", "cultivation"))
        kind = dice.choice(("单选题", "多选题", "判断题", "填空题", "简答题")) if domain == "knowledge" else "单选题"
        readings = {"单选题": SINGLE, "多选题": SEVERAL, "判断题": VERDICT}.get(kind, OPEN)
        truth = dice.choice([each for each in readings.values() if each]) if readings is not OPEN else "参考"
        for shots in SHOTS:
            key = (number, shots)
            said[key] = dice.choice(list(readings))
            right[key] = readings[said[key]] is True if readings is OPEN else readings[said[key]] == truth
        rows.append(
            {"dimension": domain, "category": dice.choice(CATEGORIES[domain][: 6 - number % 3]), "subject": "数学"}
            | {
                "level": dice.choice(("K-12", "高中", "大学")),
                "type": kind,
                "question": f"第{number:03}题",
                "answer": truth,
            }
            | {"options": ["甲", "乙", "丙", "丁"] if kind in ("单选题", "多选题") else []}
        )

    def candidate(messages: list[str]) -> str:
        shots = next(name for name, count in SHOTS.items() if len(messages) == 2 * count + 1)
        (number,) = re.findall(r"第(\d{3})题", messages[-1])
        assert all(("答案是" in each) == (place % 2 == 1) for place, each in enumerate(messages[:-1]) if place % 2)
        return said[int(number), shots]

    def judge(messages: list[str]) -> str:
        reply = messages[-1].split("考生作答：\n")[1].split("\n\n")[0].strip()
        return '{"value": true}' if OPEN[reply] else '{"value": false}'

    figures = play(tmp_path, "omniedubench", {"questions.jsonl": rows}, candidate, {"judge": judge})
    asked = [score for score in figures.scores if score.status != "not_applicable"]
    assert len(asked) == len(right) == facts.replies
    assert sum(score.value or 0 for score in asked) == sum(right.values())
    assert sum(score.value is None for score in asked) == sum(not is_answer(each) for each in said.values())
    right = {key: value for key, value in right.items() if is_answer(said[key])}
    near = lambda value: pytest.approx(value, abs=facts.apart)  # noqa: E731
    labels = {"knowledge": "knowledge", "cultivation": "cultivation"}
    for domain, categories in CATEGORIES.items():
        for shots in SHOTS:
            own = [number for number, row in enumerate(rows) if row["dimension"] == domain]
            own = [number for number in own if (number, shots) in right]
            micro = np.mean([right[number, shots] for number in own])
            cells = [[right[n, shots] for n in own if rows[n]["category"] == category] for category in categories]
            by = {(row.by[0], row.by[1]): row.value for row in figures.rows["accuracy"]}
            macro = {(row.by[0], row.by[1]): row.value for row in figures.rows["macro"]}
            assert by[labels[domain], shots] == near(micro)
            assert macro[domain, shots] == near(np.mean([np.mean(cell) for cell in cells if cell]))
            if shots == "zero":
                assert figures[domain].value == near(micro)
    types = {(row.by[0], row.by[1]): row.value for row in figures.rows["questions.by_type"]}
    for kind in ("单选题", "多选题", "判断题", "填空题", "简答题"):
        own = [number for number, row in enumerate(rows) if row["type"] == kind]
        assert types[kind, "five"] == near(
            np.mean([right[number, "five"] for number in own if (number, "five") in right])
        )
