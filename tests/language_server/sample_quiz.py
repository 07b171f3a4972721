"""A small benchmark in two files, with an emoji here and there."""

from __future__ import annotations

import json
from pathlib import Path

QUIZ = """\
# A quiz in two files. 😀
benchmark quiz "1.0.0" {
  languages en, zh
}

use "shared.tripos"

dataset item from "items.jsonl" {
  language, stage
  question  text
  answer    text secret
}

scenario sums en "Sums 😀" zh "求和" {
  context language * stage
  over item where item.stage == easy
  ask reply by candidate {
    prompt en "😀 {{ item.question }} ({{ stage }})"
    prompt zh "😀 题目：{{ item.question }}（{{ stage }}）"
    returns { said text, sure bool }
  }
  score long = words(reply.said) > 3
  score rubric(task: item.question, response: reply.text)
}

scenario shouts {
  context language * stage
  over item
  ask reply by candidate {
    prompt "Shout at {{ stage }} level: {{ item.question }}"
  }
  score rubric(task: item.question, response: reply.text)
}

measure overall = mean(rubric)
measure easy    = mean(rubric) by stage, scenario
"""

SHARED = """\
role candidate compared
role judge panel

axis stage {
  easy  en "easy"  zh "简单"
  hard  en "tough" zh "困难"
}

dimension quality en "Quality" zh "质量" {
  metric CLEAR en "Clarity" zh "清晰" {
    scale 1..10
    asks en "Is the reply clear?" zh "回答清楚吗？"
  }
}

scorer rubric(task: text, response: text) by judge {
  prompt "{{ metrics }} Task: {{ task }} Reply: {{ response }}"
  gives allocated metrics
}

allocate rubric {
  |        | CLEAR |
  | sums   |   x   |
  | shouts |   x   |
}
"""

ITEMS = [
    {"language": "en", "stage": "easy", "question": "1 + 1", "answer": "2"},
    {"language": "zh", "stage": "hard", "question": "12 + 30", "answer": "42"},
    {"language": "zh", "stage": "easy", "question": "三加四", "answer": "7"},
]


def write(folder: Path) -> Path:
    """Write the quiz into a folder."""
    (folder / "quiz.tripos").write_text(QUIZ, "utf-8")
    (folder / "shared.tripos").write_text(SHARED, "utf-8")
    lines = [json.dumps(item, ensure_ascii=False) for item in ITEMS]
    (folder / "items.jsonl").write_text("\n".join(lines), "utf-8")
    return folder
