"""A hundred kinds of single edits of the small benchmark, as data: a name, and what becomes of its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.reuse.quiz import Files

Edit = Callable[[Files], dict[str, str]]
Rows = list[dict[str, Any]]
QUIZ = "quiz.tripos"


def text(*pairs: tuple[str, str], file: str = QUIZ) -> Edit:
    """Put the second of every pair wherever the first stands."""

    def edit(files: Files) -> dict[str, str]:
        changed = files[file]
        for old, new in pairs:
            assert old in changed, old
            changed = changed.replace(old, new)
        return {**files, file: changed}

    return edit


def rows(file: str, change: Callable[[Rows], Rows]) -> Edit:
    """Change the rows of a data file."""

    def edit(files: Files) -> dict[str, str]:
        before = [json.loads(line) for line in files[file].splitlines()]
        changed = change([dict(row) for row in before])
        assert changed != before
        return {**files, file: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in changed)}

    return edit


def cell(file: str, row: int, **values: Any) -> Edit:
    """Return changes values of one row."""

    def change(every: Rows) -> Rows:
        every[row] |= values
        return every

    return rows(file, change)


def both(*edits: Edit) -> Edit:
    """Return one edit that takes changes of several files."""

    def edit(files: Files) -> dict[str, str]:
        changed = dict(files)
        for each in edits:
            changed = each(changed)
        return changed

    return edit


def added(statements: str) -> Edit:
    """Add statements at the end."""
    return lambda files: {**files, QUIZ: files[QUIZ] + statements}


def renamed_file(old: str, new: str) -> Edit:
    """Return a data file another name."""

    def edit(files: Files) -> dict[str, str]:
        changed = {(new if name == old else name): content for name, content in files.items()}
        return {**changed, QUIZ: changed[QUIZ].replace(f'"{old}"', f'"{new}"')}

    return edit


SUMS = 'prompt en "Solve with {{ hint }}: {{ item.question }}" zh "用{{ hint }}解答：{{ item.question }}"'
PLAN = 'prompt en "Plan ({{ level }}): {{ item.question }}" zh "计划（{{ level }}）：{{ item.question }}"'
SHOTS = "shots 2 from worked as w where w.language == item.language and w.marks > 1 {"

EDITS: Mapping[str, Edit] = {
    # data
    "a reference answer that no candidate sees": cell("items.jsonl", 0, answer="40 + 2"),
    "a reference answer in the other language": cell("items.jsonl", 2, answer="七"),
    "every reference answer": rows(
        "items.jsonl", lambda all_: [{**row, "answer": row["answer"] + "."} for row in all_]
    ),
    "a question": cell("items.jsonl", 0, question="What is 7 * 6?"),
    "a field that no spec declares": cell("items.jsonl", 0, note="checked"),
    "a field that is declared and not used": both(
        rows("items.jsonl", lambda all_: [{**row, "source": "book"} for row in all_]),
        text(("  answer   text secret\n}\ndataset worked", "  answer   text secret\n  source text\n}\ndataset worked")),
    ),
    "a new row": rows(
        "items.jsonl", lambda all_: [*all_, {"language": "en", "level": "easy", "question": "5 + 5?", "answer": "10"}]
    ),
    "a row less": rows("items.jsonl", lambda all_: all_[1:]),
    "rows in another order": rows("items.jsonl", lambda all_: all_[::-1]),
    "a question twice with two answers": rows("items.jsonl", lambda all_: [*all_, {**all_[0], "answer": "6 * 7"}]),
    "a question twice": rows("items.jsonl", lambda all_: [*all_, dict(all_[0])]),
    "the level of a row": cell("items.jsonl", 0, level="hard"),
    "an unused row of the shots": cell("worked.jsonl", 2, answer="six"),
    "a new row of the shots that none may see": rows(
        "worked.jsonl",
        lambda all_: [*all_, {"language": "en", "question": "9 + 9?", "answer": "18", "marks": 0}],
    ),
    "a row of the shots that is shown": cell("worked.jsonl", 0, answer="two"),
    "the marks of a shown shot": cell("worked.jsonl", 0, marks=5),
    "a row of the shots less that none may see": rows("worked.jsonl", lambda all_: all_[:2] + all_[3:]),
    "shots in another order": rows("worked.jsonl", lambda all_: all_[::-1]),
    "a stem of the pool that is not searched": cell("pool.jsonl", 2, stem="Where is the lake?"),
    "a stem of the pool that is searched": cell("pool.jsonl", 3, stem="What is a quarter of 8?"),
    "a weight of the pool without effect": cell("pool.jsonl", 0, weight=9),
    "a new stem of the pool": rows("pool.jsonl", lambda all_: [*all_, {"stem": "What is half of 10?", "weight": 2}]),
    "the pool in another order": rows("pool.jsonl", lambda all_: all_[::-1]),
    "another name of a data file": renamed_file("items.jsonl", "questions.jsonl"),
    # texts
    "an English word of a prompt": text(("Solve with", "Answer with")),
    "a Chinese word of a prompt": text(("解答：", "回答：")),
    "a Chinese word of a system message": text(("提示：{{ plan.text }}", "参考：{{ plan.text }}")),
    "a Chinese word of an earlier step": text(("计划（", "方案（")),
    "a Chinese word of a judge's prompt": text(("友善吗？", "态度好吗？")),
    "a Chinese word of a rubric": text(("清楚吗？", "明白吗？")),
    "a Chinese word of a level": text(('zh "否"', 'zh "不"')),
    "a Chinese word of a conversation": text(('zh "学习。"', 'zh "好好学习。"')),
    "a Chinese word of an author's prompt": text(("的谜语。", "的小谜语。")),
    "an English word of a conversation": text(('"Teach {{', '"Explain {{')),
    "an English word of an author's prompt": text(("A riddle on", "A short riddle on")),
    "an English word of a rubric": text(("Is it clear?", "Is it plain?")),
    "an English word of a comparison": text(("One: {{ one }}", "First: {{ one }}")),
    "an English word of a judge's system message": text(("You grade.", "You grade strictly.")),
    "a hole that prints the same": text(('{{ hint }}: {{ item.question }}"', '{{ hint }}: {{ trim(item.question) }}"')),
    "quotes in place of one line": text(('zh "学习。"', 'zh """\n        学习。\n        """')),
    # labels
    "a Chinese label of an axis": text(('zh "容易"', 'zh "简单"')),
    "an English label of an axis": text(('en "easy" zh', 'en "simple" zh')),
    "a Chinese label of an axis of cells": text(('zh "雨"', 'zh "下雨"')),
    "a Chinese label of an arm": text(('zh "没有提示"', 'zh "无提示"')),
    "an English label of an arm": text(('en "a tip"', 'en "one tip"')),
    "a Chinese label of a metric": text(('zh "清晰"', 'zh "清晰度"')),
    "an English label of a metric": text(('en "Clarity"', 'en "Lucidity"')),
    "a label of a dimension": text(('dimension quality "Quality"', 'dimension quality "Overall quality"')),
    "a title of a scenario": text(('scenario sums "Sums"', 'scenario sums "Arithmetic"')),
    "a title of the benchmark": text(('title "Quiz"', 'title "A quiz"')),
    "a version of the benchmark": text(('benchmark quiz "1.0.0"', 'benchmark quiz "1.1.0"')),
    # names
    "another name of the benchmark": text(("benchmark quiz ", "benchmark exam ")),
    "another name of a scenario": text(
        ("scenario sums ", "scenario arithmetic "), ("| sums  |", "| arithmetic |"), ("sums.right", "arithmetic.right")
    ),
    "another name of a scenario of cells": text(("scenario essay ", "scenario prose "), ("| essay |", "| prose |")),
    "another name of a scenario with a conversation": text(("scenario lesson ", "scenario tuition ")),
    "another name of a scenario that retrieves": text(
        ("scenario found ", "scenario search "), ("found.right", "search.right")
    ),
    "another name of a scenario of made rows": text(("scenario riddles ", "scenario puzzles ")),
    "another alias of a row": text(("taught", "shown"), ("measure shown ", "measure taught ")),
    "another alias of a row that retrieves": text(("asked", "wanted")),
    "another alias of a shot": text(
        (" as w where w.language", " as v where v.language"),
        ("w.marks", "v.marks"),
        ("{{ w.question }}", "{{ v.question }}"),
        ("{{ w.answer }}", "{{ v.answer }}"),
    ),
    "another alias of an element": text(
        ("from pool as p {", "from pool as q {"), ("p.weight", "q.weight"), ("p.stem", "q.stem")
    ),
    "another name of a parameter": text(
        ("scorer kind(response: text)", "scorer kind(said: text)"),
        ("友善吗？{{ response }}", "友善吗？{{ said }}"),
        ("kind? {{ response }}", "kind? {{ said }}"),
        ("kind(response: reply.text)", "kind(said: reply.text)"),
    ),
    "another name of a parameter of a rubric": text(
        ("rubric(task: text,", "rubric(about: text,"),
        ("{{ task }}", "{{ about }}"),
        ("rubric(task: ", "rubric(about: "),
    ),
    "parameters in another order": text(
        ("better(one: text, two: text)", "better(two: text, one: text)"),
        ("better(first.reply.title, second.reply.title)", "better(two: second.reply.title, one: first.reply.title)"),
    ),
    "another name of a role": text(("role judge panel", "role assessor panel"), ("by judge {", "by assessor {")),
    "another name of a role that talks": text(("student", "learner")),
    "another name of a step": text(("ask plan by", "ask draft by"), ("plan.text", "draft.text")),
    "another name of the last step": text(("ask sitting by", "ask test by"), ("sitting.text", "test.text")),
    "another name of a conversation": text(
        ("converse talk {", "converse chatting {"), ("continue talk", "continue chatting")
    ),
    "another name of a scorer": text(("scorer kind(", "scorer friendly("), ("= kind(", "= friendly(")),
    "another name of a rubric": text(("rubric", "grading")),
    "another name of a comparison": text(("preferred", "chosen")),
    "another name of a retrieving step": text(("retrieve near ", "retrieve close "), ("json(near)", "json(close)")),
    "another name of an axis value": both(
        text(("  easy en", "  plain en"), ("level == easy", "level == plain")),
        rows("items.jsonl", lambda all_: [{**r, "level": r["level"].replace("easy", "plain")} for r in all_]),
    ),
    "another name of an axis": both(
        text(
            ("axis level", "axis grade"),
            ("  level\n  question", "  grade\n  question"),
            ("* level", "* grade"),
            ("({{ level }})", "({{ grade }})"),
            ("（{{ level }}）", "（{{ grade }}）"),
            ("taught.level", "taught.grade"),
            ("asked.level", "asked.grade"),
        ),
        rows("items.jsonl", lambda all_: [{("grade" if k == "level" else k): r[k] for k in r} for r in all_]),
    ),
    "another name of an arm": text(
        ("arm hint {", "arm help {"),
        ("arms hint", "arms help"),
        ("{{ hint }}", "{{ help }}"),
        ("hint == tip", "help == tip"),
        ("by hint", "by help"),
    ),
    "another name of an arm's value": text(("  tip  en", "  some en"), ("hint == tip", "hint == some")),
    "another name of a field": both(
        text(
            ("  question text\n  answer   text secret", "  stem text\n  answer   text secret"),
            ("item.question", "item.stem"),
            ("taught.question", "taught.stem"),
            ("asked.question", "asked.stem"),
        ),
        rows("items.jsonl", lambda all_: [{("stem" if k == "question" else k): r[k] for k in r} for r in all_]),
    ),
    "another name of a data set": text(
        ("dataset worked ", "dataset examples "), ("from worked as", "from examples as")
    ),
    "another name of a pool": text(("dataset pool ", "dataset stock "), ("from pool as", "from stock as")),
    "another name of a made data set": text(
        ("dataset riddle ", "dataset puzzle "),
        ("over riddle", "over puzzle"),
        ("riddle.text_", "puzzle.text_"),
        ("riddle.solution", "puzzle.solution"),
    ),
    "another name of a metric": text(("metric RIGHT ", "metric EXACT "), ("| RIGHT |", "| EXACT |")),
    "another name of a measure": text(("measure kindness", "measure friendliness")),
    "another name of a score": text(("score gentle", "score soft"), ("mean(gentle)", "mean(soft)")),
    # orders
    "values of an axis in another order": text(
        (
            '  easy en "easy" zh "容易"\n  hard en "hard" zh "困难"',
            '  hard en "hard" zh "困难"\n  easy en "easy" zh "容易"',
        )
    ),
    "values of an axis of cells in another order": text(
        ('  rain en "rain" zh "雨"\n  wind en "wind" zh "风"', '  wind en "wind" zh "风"\n  rain en "rain" zh "雨"')
    ),
    "values of an arm in another order": text(
        (
            '  none en "no hint" zh "没有提示"\n  tip  en "a tip"   zh "提示"',
            '  tip  en "a tip"   zh "提示"\n  none en "no hint" zh "没有提示"',
        )
    ),
    "languages in another order": text(("languages en, zh", "languages zh, en")),
    "axes of a context in another order": text(("context language * topic", "context topic * language")),
    "declarations in another order": text(
        ('dataset pool from "pool.jsonl" { stem text, weight integer }\n', ""),
        ("role judge panel\n", 'role judge panel\ndataset pool from "pool.jsonl" { stem text, weight integer }\n'),
    ),
    "languages of a text in another order": text(
        ('en "Explain {{ topic }}." zh "解释{{ topic }}。"', 'zh "解释{{ topic }}。" en "Explain {{ topic }}."')
    ),
    # conditions
    "a where without effect": text((SHOTS, SHOTS.replace("w.marks > 1", "w.marks >= 2"))),
    "a where of rows without effect": text(("  over item\n", "  over item where length(item.question) > 0\n")),
    "a where of a source without effect": text(("where p.weight > 1", "where p.weight >= 2")),
    "a where that drops rows": text(("  over item\n", "  over item where item.level == easy\n")),
    "a condition in other words": text(("when hint == tip {", "when hint != none {")),
    "a condition that always holds": text(
        ("  ask sitting by student {", "  ask sitting by student when turns(talk) > 0 {")
    ),
    "an until that nobody said": text(
        ('until candidate says "goodbye"', 'until candidate says "goodbye"\n    until student says "enough of it"')
    ),
    "an until that ends earlier": text(('until candidate says "goodbye"', 'until candidate says "sun"')),
    "a lower limit": text(("limit 4 turns", "limit 2 turns")),
    "a higher limit": text(("limit 4 turns", "limit 6 turns")),
    # how often, by whom, and how
    "more samples": text(("    samples 2\n", "    samples 3\n")),
    "fewer samples": text(("    samples 2\n", "    samples 1\n")),
    "more conversations": text(("repeat 2", "repeat 3"), ("samples 4", "samples 6")),
    "a shot more": text(("shots 2 from", "shots 1 from")),
    "another temperature": text(("temperature 0.5", "temperature 0.6")),
    "another temperature of a judge": text(("  temperature 0\n  gives", "  temperature 0.2\n  gives")),
    "a limit of tokens": text(("temperature 0.9", "temperature 0.9, max_tokens 99")),
    "another type of a reply": text(("mood choice(glad, sad)", "mood choice(sad, glad)")),
    "a field more in a reply": text(("mood choice(glad, sad)", "mood choice(glad, sad), why text")),
    "another band of a level": text(("level 1..2", "level 1..3"), ("level 3..5", "level 4..5")),
    "another scale of a judge": text(("gives bool", "gives 0..3")),
    "a metric more in a scenario": text(("| essay |   x   |   .   |", "| essay |   x   |   x   |")),
    "a weight of a metric": text(("| sums  |   x   |   x   |", "| sums  |   2   |   x   |")),
    # what scores and figures are made of
    "another score": text(("words(reply.title) > 2", "words(reply.title) > 3")),
    "a new score": text(("  score long =", "  score short = words(reply.title) < 2\n  score long =")),
    "another measure": text(("mean(long) by topic", "mean(long) by language")),
    "a new measure": added("measure spread = stdev(long)\n"),
    "a new step at the end": text(
        (
            "  score passed =",
            '  ask after by student { prompt en "After {{ sitting.text }}?" zh "{{ sitting.text }}之后呢？" }\n  score again = words(after.text) > 0\n  score passed =',
        )
    ),
    "a scenario twice": added(
        "scenario again {\n  context language * topic\n  ask reply by candidate {\n"
        '    prompt en "Explain {{ topic }}." zh "解释{{ topic }}。"\n'
        "    returns { title text, mood choice(glad, sad) }\n    temperature 0.5\n  }\n"
        "  score long = words(reply.title) > 2\n}\n"
    ),
    "a step of a treatment more": text(
        ('  none en "no hint" zh "没有提示"\n', '  none en "no hint" zh "没有提示"\n  more en "more" zh "更多"\n')
    ),
    "comments and blank lines": text(("scenario essay", "# the essay\n\nscenario essay")),
}
"""Every edit by its name. After most of them less is asked than everything, after many nothing."""
