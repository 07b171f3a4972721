"""Benchmarks with some of every kind of step, drawn, and edits of their rows and texts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from tripos.runs.compilation import find_spec

Row = dict[str, Any]
SENT = ("question", "hint")
"""The fields of an item that prompts may show to anybody."""
TOOLS = [{"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}, "required": []}}]

HEAD = """\
benchmark drawn "1.0.0" { languages en, zh }
role candidate compared
role author
role checker
role student
role encoder
role critic
role judge panel
axis level {
  easy en "easy" zh "容易"
  hard en "hard" zh "困难"
}
axis tone {
  warm en "warm" zh "温暖"
  cool en "cool" zh "冷静"
}
arm aid {
  none en "no aid" zh "无"
  tip  en "a tip"  zh "提示"
}
dataset item from "items.jsonl" {
  language
  level
  question text
  hint     text
  note     text
  options  list<text>
  functions tools
  answer   text secret
}
dataset pool from "pool.jsonl" { stem text, weight integer }
tree map from "map.json"
"""


@dataclass
class DrawnSpec:
    """A benchmark: its text and its rows; `shown` are the fields of an item that a request may depend on."""

    text: str
    rows: list[Row]
    shown: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    """What its columns are called that have another name by now."""
    pool: list[Row] = field(default_factory=list)
    tree: Mapping[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, str]:
        """The files of the benchmark."""
        return {
            "drawn.tripos": self.text,
            "items.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows),
            "pool.jsonl": "".join(json.dumps(row) + "\n" for row in self.pool),
            "map.json": json.dumps(self.tree),
        }

    @property
    def models(self) -> tuple[str, ...]:
        """Models that can do what is asked of the role under test."""
        return ("mock/careful",) if "likelihood of" in self.text or "tools " in self.text else ("alpha", "beta")


ROLES = {
    "author": ("writer",),
    "checker": ("checker",),
    "student": ("pupil",),
    "encoder": ("mock/embedding",),
    "critic": ("mock/reward",),
    "judge": ("grader", "marker"),
}


class _Draw:
    """Draws a benchmark."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.shown: set[str] = set()
        self.parts: list[str] = []
        self.scores: list[str] = []

    def holes(self, alias: str, *more: str) -> str:
        """Return holes for some fields of a row, which are shown from now on."""
        names = self.random.sample((*SENT, *more), self.random.randint(1, 2))
        self.shown.update(names)
        return " ".join(f"{{{{ {alias}.{name} }}}}" for name in names)

    def text(self, en: str, zh: str, body: str) -> str:
        """Return a text in both languages."""
        return f'en "{en}: {body}" zh "{zh}：{body}"'

    def chance(self, p: float = 0.5) -> bool:
        return self.random.random() < p

    def made(self, name: str, source: str) -> None:
        """A data set that is made from another one row by row."""
        lines = [f"dataset {name} by author from {source} {{"]
        if source == "item" and self.chance(0.2):
            lines.append("  count 2")
        told = self.holes(source)
        if source == "item" and self.chance(0.3):
            lines.append("  context tone")
            told = f"{{{{ tone }}}} {told}"
        lines += [f"  prompt {self.text('Change', '改写', told)}"]
        lines += [f"  returns {{ {name}_y text, {name}_z choice(a, b) }}"]
        if self.chance(0.4):
            lines.append(f"  let {name}_long = words({name}.{name}_y) > 3")
        if self.chance(0.4):
            lines.append(f"  require words({name}.{name}_y) > 1")
        if self.chance(0.4):
            lines.append(f"  unique {name}.{name}_y")
        if self.chance(0.4):
            asked = self.text("Where", "哪里", self.holes(source) + " {{ bullets(branches) }}")
            lines.append(f"  walk {name}_at through map by checker {{ prompt {asked} }}")
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            own = f"{{{{ {name}.{name}_y }}}} " if self.chance(0.7) else ""
            asked = self.text("Right", "对吗", own + self.holes(source, "answer"))
            lines += [
                "  verify by checker {",
                f"    prompt {asked}",
                "    returns { right bool }",
                "    require right",
                "  }",
            ]
        lines += [f"  retries {self.random.randint(1, 2)}", "}"]
        self.parts.append("\n".join(lines))

    def scenario(self, name: str, lines: list[str], score: str) -> None:
        self.scores.append(name)
        body = "\n".join(f"  {line}" for line in lines)
        self.parts.append(f"scenario {name} {{\n{body}\n  score {name}_right = {score}\n}}")

    def asks(self, name: str, over: str) -> None:
        """An ask, with one before it under an arm, judges and a reward."""
        alias = over
        lines = [f"over {over}", "context language"]
        own = f"{{{{ {over}.{over}_y }}}} " if over != "item" else ""
        before = self.chance()
        if before:
            lines.append("arms aid")
            lines.append(
                f"ask plan by candidate when aid == tip {{ prompt {self.text('Plan', '计划', self.holes(alias))} }}"
            )
        lines.append("ask reply by candidate {")
        if before:
            lines.append('  system en "By this: {{ plan.text }}" zh "按此：{{ plan.text }}" when aid == tip')
        lines.append(f"  prompt {self.text('Solve', '解答', own + self.holes(alias))}")
        if self.chance(0.4):
            lines.append(f"  samples {self.random.randint(2, 3)}")
        lines.append("}")
        if self.chance():
            self.judge(f"{name}_kind")
            args = f"response: reply.text, task: {alias}.{self.random.choice((*SENT, 'answer'))}"
            self.shown.add(args.rpartition(".")[2])
            lines.append(f"score {name}_gentle = {name}_kind({args})")
        if self.chance(0.3):
            self.parts.append(
                f"scorer {name}_liked(response: text) by critic {{\n"
                f"  prompt {self.text('A story', '故事', '{{ response }}')}\n  gives reward\n}}"
            )
            lines.append(f"score {name}_worth = {name}_liked(response: reply.text)")
        self.scenario(name, lines, f"contains(reply.text, {alias}.answer)")

    def judge(self, name: str) -> None:
        told = self.text("Kind", "友善", "{{ response }} {{ task }}")
        self.parts.append(f"scorer {name}(response: text, task: text) by judge {{\n  prompt {told}\n  gives bool\n}}")

    def talk(self) -> None:
        taught, learnt = self.holes("item"), self.holes("item")
        lines = [
            "over item",
            "context language",
            "converse talk {",
            f"  candidate {{ system {self.text('Teach', '教', taught)} }}",
            f"  student {{ system {self.text('Learn', '学', learnt)} }}",
            "  opens candidate",
            '  until candidate says "goodbye"',
            f"  limit {self.random.randint(2, 4)} turns",
            "}",
            "ask sitting by student {",
            "  continue talk",
            f"  prompt {self.text('Test', '测验', self.holes('item'))}",
            "}",
        ]
        self.scenario("talks", lines, "contains(sitting.text, item.answer)")

    def found(self) -> None:
        sought = self.random.choice(SENT)
        self.shown.add(sought)
        lines = [
            "over item",
            "context language",
            f"retrieve near from pool as p {{ where p.weight > 1, top 2 by similarity(item.{sought}, p.stem) using encoder }}",
            f"ask pick by candidate {{ prompt {self.text('Pick', '选', '{{ json(near) }} ' + self.holes('item'))} }}",
        ]
        self.scenario("found", lines, "contains(pick.text, item.answer)")

    def likely(self) -> None:
        self.shown.add("options")
        lines = [
            "over item",
            "context language",
            f"ask ending by candidate {{ prompt {self.text('End', '结尾', self.holes('item'))}, likelihood of item.options }}",
        ]
        self.scenario("likely", lines, "ending.likeliest == 0")

    def calling(self) -> None:
        self.shown.add("functions")
        lines = [
            "over item",
            "context language",
            f"ask act by candidate {{ prompt {self.text('Act', '行动', self.holes('item'))}, tools item.functions }}",
        ]
        self.scenario("calling", lines, "length(act.calls) > 0")


def drawn_spec(random: Random) -> DrawnSpec:
    """Draw a benchmark."""
    draw = _Draw(random)
    sets = ["made"] if draw.chance(0.8) else []
    if sets and draw.chance(0.3):
        sets.append("more")
    for name, source in zip(sets, ("item", "made"), strict=False):
        draw.made(name, source)
        if name == "made" or draw.chance():
            draw.asks(f"over_{name}", name)
    if not sets or draw.chance(0.3):
        draw.asks("plain", "item")
    if draw.chance(0.25):
        draw.talk()
    if draw.chance(0.2):
        draw.found()
    if draw.chance(0.2):
        draw.likely()
    elif draw.chance(0.2):
        draw.calling()
    measures = [f"measure m_{name} = mean({name}_right)" for name in draw.scores]
    rows = [_row(random) for _ in range(random.randint(2, 5))]
    if draw.chance(0.4):  # the same request twice
        rows.append({**random.choice(rows), "answer": word(random)})
    pool = [{"stem": word(random), "weight": random.randint(1, 3)} for _ in range(3)]
    pool += [{"stem": word(random), "weight": 3}]
    tree = {"Numbers": ["Fractions", "Percentages"], "Shapes": ["Triangles", "Circles"]}
    text = "\n".join([HEAD, *draw.parts, *measures, ""])
    for role, by in (("encoder", "using encoder"), ("critic", "by critic")):
        if by not in text:  # it would be taken for one that writes
            text = text.replace(f"role {role}\n", "")
    found = DrawnSpec(text, rows, draw.shown, {}, pool, tree)
    if not compiles(found):  # which rows are kept would tell of the secret
        found = replace(found, text=text.replace("answer   text secret", "answer   text"))
    return found


def compiles(spec: DrawnSpec) -> bool:
    """Return true if a benchmark is one."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in spec.files.items():
            (Path(folder) / name).write_text(text, "utf-8")
        return find_spec(str(Path(folder) / "drawn.tripos")).compile().plan is not None


def _row(random: Random) -> Row:
    return {
        "language": random.choice(("en", "zh")),
        "level": random.choice(("easy", "hard")),
        "question": random.choice(("What is 6 * 7?", "What is half of 9?", word(random))),
        "hint": random.choice(("think", "draw", word(random))),
        "note": "n",
        "options": ["one", "two", word(random)],
        "functions": TOOLS,
        "answer": random.choice(("42", "4.5", word(random))),
    }


def word(random: Random) -> str:
    """Return a word that is nowhere else."""
    return f"w{random.getrandbits(48):x}"


@dataclass(frozen=True)
class DrawnEdit:
    """An edit, in words, and the fields of an item that it changes; `None` where it may change what is sent otherwise."""

    name: str
    spec: DrawnSpec
    fields: frozenset[str] | None = None


def drawn_edit(random: Random, spec: DrawnSpec) -> DrawnEdit:
    """Draw an edit of a benchmark after which it is one."""
    while True:
        found = random.choice(_EDITS)(random, spec)
        if compiles(found.spec):
            return found


def _changed(spec: DrawnSpec, text: str | None = None, rows: list[Row] | None = None) -> DrawnSpec:
    return replace(spec, text=text or spec.text, rows=rows or spec.rows)


def _field(random: Random, spec: DrawnSpec) -> DrawnEdit:
    name = random.choice(("question", "hint", "note", "note", "answer", "answer", "answer"))
    name = spec.names.get(name, name)
    places = [place for place in range(len(spec.rows)) if random.random() < 0.5] or [0]
    rows = [{**row, name: word(random)} if at in places else row for at, row in enumerate(spec.rows)]
    return DrawnEdit(f"{name} of rows {places}", _changed(spec, rows=rows), frozenset((name,)))


def _unused(random: Random, spec: DrawnSpec) -> DrawnEdit:
    """One more column that nothing uses."""
    name = f"more_{word(random)}"
    text = spec.text.replace("  options  list<text>", f"  {name} text\n  options  list<text>")
    rows = [{**row, name: word(random)} for row in spec.rows]
    spec = replace(spec, names={**spec.names, name: name})
    return DrawnEdit("an unused column", _changed(spec, text, rows), frozenset((name,)))


def _renamed(random: Random, spec: DrawnSpec) -> DrawnEdit:
    """A column of another name."""
    was = random.choice(("question", "hint", "note", "answer"))
    name, new = spec.names.get(was, was), f"{was}_{word(random)}"
    text = spec.text.replace(f"  {name} ", f"  {new} ").replace(f".{name} ", f".{new} ")
    text = text.replace(f".{name})", f".{new})").replace(f".{name},", f".{new},")
    rows = [{(new if key == name else key): value for key, value in row.items()} for row in spec.rows]
    shown = {new if each == name else each for each in spec.shown}
    edited = replace(_changed(spec, text, rows), names={**spec.names, was: new}, shown=shown)
    return DrawnEdit(f"{name} is renamed", edited)


def _order(random: Random, spec: DrawnSpec) -> DrawnEdit:
    rows = random.sample(spec.rows, len(spec.rows))
    return DrawnEdit("another order of the rows", _changed(spec, rows=rows))


def _less(random: Random, spec: DrawnSpec) -> DrawnEdit:
    if len(spec.rows) < 2:
        return _order(random, spec)
    at = random.randrange(len(spec.rows))
    return DrawnEdit(f"row {at} is gone", _changed(spec, rows=spec.rows[:at] + spec.rows[at + 1 :]))


def _more(random: Random, spec: DrawnSpec) -> DrawnEdit:
    fresh = {spec.names.get(name, name): value for name, value in _row(random).items()}
    fresh = {name: fresh.get(name, word(random)) for name in spec.rows[0]}
    row = random.choice((fresh, {**random.choice(spec.rows), spec.names.get("answer", "answer"): word(random)}))
    at = random.randint(0, len(spec.rows))
    return DrawnEdit("a new row", _changed(spec, rows=[*spec.rows[:at], row, *spec.rows[at:]]))


def _text(random: Random, spec: DrawnSpec) -> DrawnEdit:
    """A word of a prompt, in one language or in both."""
    pairs = [
        ("Change:", "改写："),
        ("Right:", "对吗："),
        ("Where:", "哪里："),
        ("Plan:", "计划："),
        ("Solve:", "解答："),
    ]
    pairs += [("Kind:", "友善："), ("A story:", "故事："), ("Teach:", "教："), ("Learn:", "学："), ("Test:", "测验：")]
    pairs += [("Pick:", "选："), ("End:", "结尾："), ("Act:", "行动：")]
    there = [pair for pair in pairs if pair[0] in spec.text]
    en, zh = random.choice(there)
    changed = random.choice(((en,), (zh,), (en, zh)))
    text = spec.text
    for each in changed:
        text = text.replace(each, f"{word(random)} {each}")
    return DrawnEdit(f"the text {' '.join(changed)}", _changed(spec, text))


def _when(random: Random, spec: DrawnSpec) -> DrawnEdit:
    """Another condition."""
    if "when aid == tip {" not in spec.text:
        return _text(random, spec)
    return DrawnEdit("a condition", _changed(spec, spec.text.replace("when aid == tip", "when aid == none")))


def _samples(random: Random, spec: DrawnSpec) -> DrawnEdit:
    number = next((each for each in (2, 3) if f"samples {each}" in spec.text), None)
    if number is None:
        return _field(random, spec)
    text = spec.text.replace(f"samples {number}", f"samples {random.choice((1, 4))}", 1)
    return DrawnEdit("the number of samples", _changed(spec, text))


def _language(random: Random, spec: DrawnSpec) -> DrawnEdit:
    """Another language in which nothing is asked yet, or one less of a row."""
    rows = [{**row} for row in spec.rows]
    row = random.choice(rows)
    row["language"] = "zh" if row["language"] == "en" else "en"
    return DrawnEdit("a row in the other language", _changed(spec, rows=rows))


def _arm(random: Random, spec: DrawnSpec) -> DrawnEdit:
    """One more treatment."""
    if "arms aid" not in spec.text:
        return _field(random, spec)
    name = f"more_{word(random)}"
    text = spec.text.replace("arm aid {\n", f'arm aid {{\n  {name} en "more" zh "更多"\n')
    return DrawnEdit("one more arm", _changed(spec, text))


_EDITS: tuple[Callable[[Random, DrawnSpec], DrawnEdit], ...] = (
    _field,
    _field,
    _field,
    _unused,
    _renamed,
    _order,
    _less,
    _more,
    _text,
    _text,
    _when,
    _samples,
    _language,
    _arm,
)
