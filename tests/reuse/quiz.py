"""A small benchmark with something of everything that asks: what single edits are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Files = Mapping[str, str]
"""A spec and its data, by file name."""

SPEC = """\
benchmark quiz "1.0.0" {
  title "Quiz"
  languages en, zh
}
role candidate compared
role student
role author
role encoder
role judge panel

axis level {
  easy en "easy" zh "容易"
  hard en "hard" zh "困难"
}
axis topic {
  rain en "rain" zh "雨"
  wind en "wind" zh "风"
}
arm hint {
  none en "no hint" zh "没有提示"
  tip  en "a tip"   zh "提示"
}
dimension quality "Quality" {
  metric CLEAR en "Clarity" zh "清晰" {
    scale 1..5
    asks en "Is it clear?" zh "清楚吗？"
    level 1..2 en "No" zh "否"
    level 3..5 en "Yes" zh "是"
  }
  metric RIGHT en "Correctness" zh "正确" { scale 1..5, asks en "Is it right?" zh "对吗？" }
}
dataset item from "items.jsonl" {
  language
  level
  question text
  answer   text secret
}
dataset worked from "worked.jsonl" {
  language
  question text
  answer   text
  marks    integer
}
dataset pool from "pool.jsonl" { stem text, weight integer }

scorer rubric(task: text, response: text) by judge {
  system en "You grade." zh "你来评分。"
  prompt en "{{ metrics }}\\nTask: {{ task }}\\nReply: {{ response }}" zh "{{ metrics }}\\n任务：{{ task }}\\n回答：{{ response }}"
  temperature 0
  gives allocated metrics
}
scorer kind(response: text) by judge {
  prompt en "Is this kind? {{ response }}" zh "友善吗？{{ response }}"
  gives bool
}
scorer better(one: text, two: text) by judge {
  prompt en "One: {{ one }}\\nTwo: {{ two }}" zh "一：{{ one }}\\n二：{{ two }}"
  gives choice(one, two, tie)
}
allocate rubric {
  |       | CLEAR | RIGHT |
  | sums  |   x   |   x   |
  | essay |   x   |   .   |
}

scenario sums "Sums" {
  over item
  context language * level
  arms hint
  ask plan by candidate when hint == tip {
    prompt en "Plan ({{ level }}): {{ item.question }}" zh "计划（{{ level }}）：{{ item.question }}"
    temperature 0
  }
  ask reply by candidate {
    system en "You are tutored by this: {{ plan.text }}" zh "提示：{{ plan.text }}" when hint == tip
    shots 2 from worked as w where w.language == item.language and w.marks > 1 {
      prompt en "{{ w.question }}" zh "{{ w.question }}"
      reply  en "{{ w.answer }}" zh "{{ w.answer }}"
    }
    prompt en "Solve with {{ hint }}: {{ item.question }}" zh "用{{ hint }}解答：{{ item.question }}"
    samples 2
  }
  score right = contains(reply.text, item.answer)
  score gentle = kind(response: reply.text)
  score rubric(task: item.question, response: reply.text)
}
scenario essay "Essay" {
  context language * topic
  ask reply by candidate {
    prompt en "Explain {{ topic }}." zh "解释{{ topic }}。"
    returns { title text, mood choice(glad, sad) }
    temperature 0.5
  }
  score long = words(reply.title) > 2
  score rubric(task: reply.prompt, response: reply.text)
  compare preferred using better(first.reply.title, second.reply.title)
}
scenario lesson {
  over item as taught where taught.level == easy
  context language
  converse talk {
    candidate { system en "Teach {{ taught.question }}" zh "教{{ taught.question }}" }
    student { system en "Learn." zh "学习。", temperature 0.9 }
    opens candidate
    until candidate says "goodbye"
    limit 4 turns
    repeat 2
  }
  ask sitting by student {
    continue talk
    prompt en "{{ taught.question }}" zh "{{ taught.question }}"
    samples 4
  }
  score passed = contains(sitting.text, taught.answer)
}
scenario found {
  over item as asked where asked.level == hard
  context language
  retrieve near from pool as p { where p.weight > 1, top 2 by similarity(asked.question, p.stem) using encoder }
  ask pick by candidate { prompt en "{{ json(near) }} {{ asked.question }}" zh "{{ json(near) }} {{ asked.question }}" }
  score right = contains(pick.text, asked.answer)
}
dataset riddle by author {
  context language * topic
  prompt en "A riddle on {{ topic }}." zh "出一个关于{{ topic }}的谜语。"
  returns { text_ text, solution text secret }
  temperature 0.7
}
scenario riddles {
  context language * topic
  over riddle
  ask guess by candidate { prompt en "Guess: {{ riddle.text_ }}" zh "猜：{{ riddle.text_ }}" }
  score solved = contains(guess.text, riddle.solution)
}

measure accuracy = mean(sums.right) by hint
measure clarity  = mean(rubric) by scenario
measure kindness = mean(gentle)
measure lengths  = mean(long) by topic
measure won      = win_rate(preferred)
measure taught   = mean(passed)
measure picked   = mean(found.right)
measure guessed  = mean(solved)
"""
ITEMS: tuple[dict[str, Any], ...] = (
    {"language": "en", "level": "easy", "question": "What is 6 * 7?", "answer": "42"},
    {"language": "en", "level": "hard", "question": "What is half of 9?", "answer": "4.5"},
    {"language": "zh", "level": "easy", "question": "三加四等于几？", "answer": "7"},
    {"language": "zh", "level": "hard", "question": "九的一半是多少？", "answer": "4.5"},
)
WORKED: tuple[dict[str, Any], ...] = (
    {"language": "en", "question": "What is 1 + 1?", "answer": "2", "marks": 2},
    {"language": "en", "question": "What is 2 + 2?", "answer": "4", "marks": 3},
    {"language": "en", "question": "What is 3 + 3?", "answer": "6", "marks": 1},
    {"language": "zh", "question": "一加一等于几？", "answer": "2", "marks": 2},
    {"language": "zh", "question": "二加二等于几？", "answer": "4", "marks": 3},
)
POOL: tuple[dict[str, Any], ...] = (
    {"stem": "What is half of 8?", "weight": 2},
    {"stem": "八的一半是多少？", "weight": 3},
    {"stem": "Where is the sea?", "weight": 1},
    {"stem": "What is a third of 9?", "weight": 5},
)
MODELS = ("alpha", "beta")
ROLES = {
    **dict.fromkeys(("student", "learner"), ("pupil",)),
    **dict.fromkeys(("judge", "assessor"), ("grader", "critic")),
    "author": ("writer",),
    "encoder": ("mock/embedding",),
}
"""The models of every role that is not compared, also of those that an edit gives another name."""


def lines(rows: Any) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def files() -> dict[str, str]:
    """Return the benchmark as it is first run."""
    return {"quiz.tripos": SPEC, "items.jsonl": lines(ITEMS), "worked.jsonl": lines(WORKED), "pool.jsonl": lines(POOL)}
