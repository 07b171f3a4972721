"""A generator of benchmarks: a seed gives a spec, its data files and scripted models.

    generated = generate(seed, folder)      # writes `folder/s.tripos` and its data files
    generated.spec                          # the path of the spec
    generated.roles                         # {"candidate": ("m/a", "m/b"), "judge": ("m/j",), …}
    generated.uses                          # the constructs in it, such as {"converse", "made", "retrieve"}
    generated_replies.script(…)             # what a model replies to what is sent, beside this module

The same seed gives the same bytes. Every spec compiles without an error, and declares the role `candidate` as the
compared one. The role `encoder`, where there is one, is filled by `mock/embedding`, which embeds; all other models are
scripted. `tests/plan_exactness.py` runs them in process; for a run by the command line put `script` behind a server.

The specs have scenarios over rows or axes alone; arms; conditions on items, axes, arms and replies, also of settings;
holes whose value may be undefined for an item or for a reply; passages; samples; judges, panels and verdicts in
expressions; compare; converse; shots; retrieve; data sets that models write, review and walk through a tree for.

`python -m tests.generated_specs SEED FOLDER` writes one and prints it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import generated_settings
from tests.generated_chats import Step, go_on, script
from tests.generated_replies import WORDS
from tests.generated_settings import LEVEL


@dataclass(frozen=True)
class Generated:
    """A benchmark in a folder, and who fills its roles."""

    seed: int
    spec: Path
    roles: Mapping[str, tuple[str, ...]]
    uses: frozenset[str]


def generate(seed: int, folder: Path) -> Generated:
    """Write the benchmark of a seed into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = _Writer(random.Random(seed))
    text = writer.benchmark()
    for name, rows in writer.files.items():
        if isinstance(rows, str):
            (folder / name).write_text(rows, "utf-8")
        else:
            (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    spec = folder / "s.tripos"
    spec.write_text(text, "utf-8")
    return Generated(seed, spec, writer.roles, frozenset(writer.uses))


ITEM_TEXTS = (
    "item.question", 'default(item.hint, "none")', "nth(item.options, 1)", "first(item.options)",
    "bullets(item.options)", "json(item.options)", "words(item.question)", "10 / item.n", "kind", "upper(item.question)",
)  # fmt: skip
ITEM_FLAGS = (
    "item.n > 1", "kind == a", "kind in (a, c)", "length(item.options) > 1", "6 / item.n > 2", "not kind == b",
    'contains(first(item.options), "sun")', "item.n > 0 and 6 / item.n > 2", "item.n == 0 or 6 / item.n > 2",
)  # fmt: skip
MADE_TEXTS = ("item.task", 'default(item.hint, "none")', "upper(item.task)", "kind", "words(item.task)")
MADE_FLAGS = ("kind == a", "item.size > 2", "words(item.task) > 1", "6 / item.size > 1")
POOL_TEXTS = (
    "first(pool.stem)",
    "nth(pool.stem, 1)",
    "nth(pool.stem, 8)",
    "first([p.stem each p in pool where p.level > 3])",
)
"""Texts out of a data set, of which the last two have no value."""
ARMS = {"style": "rich", "help": "given"}
SCORERS = {
    "good": 'good(said: text) by judge { prompt "Is it good? {{ said }}", gives bool }',
    "level": f'level(said: text) by judge {{ prompt "How good is it? {{{{ said }}}}", gives 1..5\n  {LEVEL} }}',
    "better": 'better(one: text, two: text) by judge { prompt "1: {{ one }} 2: {{ two }}", gives choice(one, two, tie) }',
}
AXIS_TEXTS = ("kind", "size")
AXIS_FLAGS = ("kind == a", "size != big", "kind in (a, b) and size == big")


class _Writer:
    """Writes one benchmark."""

    continues = 0.0
    """The chance that an ask continues another: none, so that each seed keeps the spec that it had."""

    elements = 0.0
    """The chance of a score for each element of a list, and of texts out of a data set, for the same reason."""

    any_json = 0.4
    """The chance that an ask returns any JSON in place of a record."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.aside = random.Random(str(dice.getstate()))
        self.roles: dict[str, tuple[str, ...]] = {}
        self.files: dict[str, str | list[Mapping[str, Any]]] = {}
        self.uses: set[str] = set()
        self.measures: list[str] = []
        self.names = 0

    def benchmark(self) -> str:
        """Return the text of the spec; who fills its roles and its files are known by then."""
        calm = "/calm" if self.chance(0.15) else ""
        some = {
            "candidate": ("m/a", "m/b") if self.chance(0.4) else ("m/a",),
            "judge": ("m/j", "m/k") if self.chance(0.3) else ("m/j",),
            "helper": ("m/h",),
            "author": ("m/w",),
            "encoder": ("mock/embedding",),
        }
        every = {
            role: tuple(f"{name}{calm}" if name[0:2] == "m/" else name for name in each) for role, each in some.items()
        }
        if calm:
            self.uses.add("calm")
        parts = [self.scenario(number) for number in range(self.dice.choice((1, 1, 2)))]
        body = "\n".join(parts)
        arms = {arm for line in body.splitlines() if line.startswith("  arms ") for arm in line.split()}
        declared = [
            f"role {role}{' compared' if role == 'candidate' else ' panel' if role == 'judge' else ''}"
            for role in every
        ]
        self.roles = {
            role: models for role, models in every.items() if role == "candidate" or self._mentions(body, role)
        }
        head = [
            'benchmark g "1.0.0" { languages en }',
            *(line for line in declared if line.split()[1] in self.roles),
            'axis kind { a "the first", b "the second", c "the third" }',
            'axis size { small "small", big "big" }',
            *(["arm style { plain, rich }"] if "style" in arms else []),
            *(["arm help { absent, given }"] if "help" in arms else []),
            *(f"scorer {text}" for scorer, text in SCORERS.items() if f" {scorer}(" in body),
        ]
        head += self._data(body)
        return "\n".join([*head, body, *self.measures]) + "\n"

    def _mentions(self, body: str, role: str) -> bool:
        """Return true if scenarios need a role; judges are needed by the scorers that they use."""
        return any(f" {scorer}(" in body for scorer in SCORERS) if role == "judge" else f" {role}" in body

    def chance(self, of: float) -> bool:
        return self.dice.random() < of

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def _data(self, body: str) -> list[str]:
        found = []
        if "over item" in body:
            self.files["items.jsonl"] = self._items()
            found.append(
                'dataset item from "items.jsonl" '
                "{ question text, answer text secret, hint text?, options list<text>, n integer, kind }"
            )
        if re.search(r"\bpool\b", body):
            self.files["pool.jsonl"] = [
                {"stem": f"passage {n} of {self.dice.choice(WORDS)}", "level": n % 3} for n in range(6)
            ]
            found.append('dataset pool from "pool.jsonl" { stem text, level integer }')
        if "through topics" in body:
            tree = {"Sums": ["Small", "Large"], "Shapes": ["Round", "Square"]}
            self.files["topics.json"] = json.dumps(tree)
            found.append('tree topics from "topics.json"')
        return found

    def _items(self) -> list[Mapping[str, Any]]:
        rows = []
        for number in range(self.dice.randint(2, 4)):
            row: dict[str, Any] = {
                "question": f"question {number} on {self.dice.choice(WORDS)}",
                "answer": self.dice.choice(WORDS),
                "options": [self.dice.choice(WORDS) for _ in range(self.dice.randrange(4))],
                "n": self.dice.randrange(4) if number else 1,
                "kind": self.dice.choice("abc"),
            }
            if self.chance(0.5):
                row["hint"] = self.dice.choice(WORDS)
            rows.append(row)
        return rows

    def scenario(self, number: int) -> str:
        """Return one scenario with its steps."""
        over = self.dice.choice(("item", "item", "item", "axes", "made"))
        self.uses.add(over)
        self.texts = {"item": ITEM_TEXTS, "axes": AXIS_TEXTS, "made": MADE_TEXTS}[over]
        self.flags = {"item": ITEM_FLAGS, "axes": AXIS_FLAGS, "made": MADE_FLAGS}[over]
        self.base = {"item": ("item.question", "kind"), "axes": AXIS_TEXTS, "made": ("item.task", "kind")}[over]
        if self.elements and self.aside.random() < self.elements:
            self.texts += POOL_TEXTS
        self.arms = [arm for arm in ("style", "help") if self.chance(0.25)]
        self.steps: list[Step] = []
        lines = [f"scenario s{number} {{"]
        if over == "item":
            lines += ["  over item" + (" where item.n < 3" if self.chance(0.2) else ""), "  context kind"]
        else:
            lines.append("  context kind" + (" * size" if over == "axes" else ""))
        if over == "made":
            lines.append(self.made())
        if self.arms:
            lines.append(f"  arms {' * '.join(self.arms)}")
            self.uses.add("arms")
        for _ in range(self.dice.randint(1, 4)):
            lines.append(self.step())
        if not any(step.compared for step in self.steps):
            lines.append(self.ask("candidate", everywhere=True))
        lines += self.scores(over == "item")
        return "\n".join([*lines, "}"])

    def made(self) -> str:
        """Return a data set that a model writes in the cells of the scenario."""
        lines = [
            "  dataset item by author {",
            f"    count {self.dice.randint(1, 2)}",
            '    prompt "Write a task on {{ kind }}."',
            "    returns { task text, hint text?, size 0..9 }",
            f"    retries {self.dice.randrange(3)}",
        ]
        lines += generated_settings.of_author(self)
        if self.chance(0.4):
            lines.append("    require item.size > 1")
        if self.chance(0.3):
            lines.append("    unique item.task")
        if self.chance(0.3):
            lines.append('    walk topics_ through topics by helper { prompt "{{ item.task }} {{ branches }}" }')
            self.uses.add("walk")
        if self.chance(0.5):
            lines.append(
                '    verify by helper { prompt "Is it fine? {{ item.task }}", returns { fine bool }, require fine }'
            )
            self.uses.add("verify")
        return "\n".join([*lines, "  }"])

    def step(self) -> str:
        """Return one of the steps that yield something."""
        kind = self.dice.choice(("ask", "ask", "ask", "ask", "converse", "retrieve"))
        if self.continues and kind == "ask" and self.chance(self.continues / 2):
            return script(self, self.dice.choice(("candidate", "candidate", "helper")))
        if kind == "converse":
            return self.converse()
        return (
            self.retrieve() if kind == "retrieve" else self.ask(self.dice.choice(("candidate", "candidate", "helper")))
        )

    def hole(self) -> str:
        """Return a hole of a prompt."""
        texts = list(self.texts)
        for step in self.steps:
            texts += [*step.texts, *step.numbers, *step.printed, *step.texts[:1] * 3]
        return "{{ " + _escaped(self.dice.choice(texts)) + " }}"

    def flag(self, arms: Sequence[str] = (), alone: bool = False) -> str:
        """Return a condition, which may look at these arms; `alone`, one that can hold whatever the rows are."""
        flags = [*self.flags, *(f"{arm} == {ARMS[arm]}" for arm in arms for _ in range(4))]
        flags += [each for step in self.steps for each in step.flags]
        one = self.dice.choice(flags)
        if not alone and self.chance(0.25):
            return f"{one} {self.dice.choice(('and', 'or'))} {self.dice.choice(flags)}"
        return one

    def when(self, chance: float, arms: Sequence[str] = ()) -> str:
        """Return a condition, by that chance."""
        return f" when {self.flag(arms)}" if self.chance(chance) else ""

    def _built(self, text: str) -> bool:
        """Return true if a text takes something from what the compared role said."""
        return any(re.search(rf"\b{step.name}\b", text) for step in self.steps if step.compared)

    def ask(self, role: str, everywhere: bool = False) -> str:
        """Return a question to a role; unless it must be `everywhere`, maybe under some arms only."""
        name = self.fresh("ask")
        only = f" when {self.flag(self.arms)}" if self.arms and not everywhere and self.chance(0.2) else None
        lines = [f"  ask {name} by {role}{self.when(0.35) if only is None else only} {{"]
        if self.chance(0.15):
            lines.append(f'    system "You are {name}. {self.hole()}"{self.when(0.5, self.arms)}')
        holes = [f"{{{{ {each} }}}}" for each in self.base] + [self.hole() for _ in range(self.dice.randrange(3))]
        lines.append(f'    prompt "{name}: {" ".join(holes)}"')
        if self.chance(0.25):
            lines.append(f'    prompt "More: {self.hole()}" when {self.flag(self.arms)}')
            self.uses.add("passage")
        if self.chance(0.12):
            lines.append(
                '    shots 2 from pool where pool.level > 0 { prompt "{{ pool.stem }}", reply "{{ pool.level }}" }'
            )
            self.uses.add("shots")
        lines += generated_settings.of_ask(self)
        go_on(self, role, lines)
        step = Step(name, role == "candidate" or self._built("\n".join(lines)), [f"{name}.text"], role=role)
        step.texts += [f"{name}.prompt", f'nth(split({name}.text, "ANSWER:"), 1)', f"last(lines({name}.text))"]
        step.numbers = [f"words({name}.text)", f"10 / words({name}.text)"]
        step.flags = [f'contains({name}.text, "seven")', f"words({name}.text) > 2", f"6 / words({name}.text) > 2"]
        form = self.dice.choice(("text", "text", "record", "integer", "choice"))
        if form == "record" and random.Random(f"json {lines}").random() < self.any_json:
            lines.append("    returns json")
            self.uses.add("json")
            step.texts += [f"json({name})", f'default(json_part({name}, "why", text), "none")']
            step.numbers += [
                f'default(json_part({name}, "sum", integer), 7)',
                f'readable(json_part({name}, "sum", integer))',
            ]
            step.printed += [name, name]
            step.flags += [
                f'default(json_part({name}, "sum", integer), 7) > 4',
                f'readable(json_part({name}, "sum", integer)) > 4',
            ]
        elif form == "record":
            lines.append("    returns { sum 0..9, why text, note text? }")
            step.texts += [f"{name}.why", f'default({name}.note, "none")']
            step.numbers += [f"{name}.sum", f"1 / {name}.sum"]
            step.flags += [f"{name}.sum > 4", f"1 / {name}.sum < 1"]
        elif form == "integer":
            lines.append("    returns 1..9")
            step.numbers.append(name)
            step.flags.append(f"{name} > 4")
        elif form == "choice":
            lines.append("    returns choice(up, down)")
            step.printed.append(name)
            step.flags.append(f"{name} == up")
        if self.chance(0.25):
            lines.append(f"    samples {self.dice.randint(2, 3)}")
            self.uses.add("samples")
        if only is None:  # what some arms lack nothing may build on
            self.steps.append(step)
        return "\n".join([*lines, "  }"])

    def converse(self) -> str:
        """Return a conversation, and now and then what goes on where it ended."""
        name = self.fresh("talk")
        self.uses.add("converse")
        opens, other = ("candidate", "helper") if self.chance(0.5) else ("helper", "candidate")
        lines = [
            f"  converse {name}{self.when(0.25)} {{",
            f'    {opens} {{ system "{name}: {" ".join(f"{{{{ {each} }}}}" for each in self.base)} {self.hole()}" }}',
            f'    {other} {{ system "You listen."{generated_settings.of_speaker(self)} }}',
            f"    opens {opens}",
            f'    until {self.dice.choice((opens, other))} says "yes"',
            f"    limit {self.dice.randint(2, 5)} turns",
        ]
        if self.chance(0.3):
            lines.append("    repeat 2")
        lines.append("  }")
        self.steps.append(
            Step(name, True, [f"transcript({name})", f"last({name}).text"], [f"turns({name})"], [f"turns({name}) > 2"])
        )
        if self.chance(0.4):
            after = self.fresh("ask")
            lines += [f"  ask {after} by helper {{", f"    continue {name}", f'    prompt "{after}: and now?"', "  }"]
            self.steps.append(
                Step(after, True, [f"{after}.text"], [f"words({after}.text)"], [f"words({after}.text) > 2"])
            )
        return "\n".join(lines)

    def retrieve(self) -> str:
        """Return what is nearest in the pool, by letters or by vectors."""
        name, vectors = self.fresh("near"), self.chance(0.5)
        self.uses |= {"retrieve", *(["using"] if vectors else [])}
        text = self.texts[0] if self.chance(0.7) else self.texts[1]
        by = f"similarity({text}, p.stem) using encoder" if vectors else f"bm25({text}, p.stem)"
        self.steps.append(Step(name, False, [f"json({name})", f"first({name}).stem"], [], [f"length({name}) > 1"]))
        return f"  retrieve {name} from pool as p{self.when(0.2)} {{\n    where p.level < 2\n    top 2 by {by}\n  }}"

    def scores(self, over_items: bool) -> list[str]:
        """Return scores of what the compared role said, by expressions and by judges."""
        steps = [step for step in self.steps if step.compared]
        found = []
        for _ in range(self.dice.randint(1, 3)):
            step = self.dice.choice(steps)
            text, kind = (
                self.dice.choice(step.texts),
                self.dice.choice(("plain", "number", "verdict", "mixed", "compare")),
            )
            name = self.fresh("score")
            self.measures.append(f"measure {name}_ = {'win_rate' if kind == 'compare' else 'mean'}({name})")
            if kind == "compare":
                told = step.texts[0].replace(step.name, "{}." + step.name)
                found.append(f"  compare {name} using better({told.format('first')}, {told.format('second')})")
            elif kind == "number" and step.numbers:
                found.append(f"  score {name} = {self.dice.choice(step.numbers)}{self.when(0.2)}")
            elif kind == "verdict":
                found.append(f"  score {name} = good({text}){self.when(0.3)}")
            elif kind == "mixed":
                found.append(f'  score {name} = level({text}) > 2 and contains({step.texts[0]}, "seven")')
            else:
                found.append(f'  score {name} = contains({step.texts[0]}, "seven")')
            self.uses.add(kind)
        if over_items and self.elements and self.aside.random() < self.elements:
            found.append(self.for_each(self.aside.choice(steps)))
        return found

    def for_each(self, step: Step) -> str:
        """Return a score for each element of a list, by a judge that may need a reply for some of them."""
        name, said, pick = self.fresh("score"), self.aside.choice(step.texts), self.aside.choice(self.flags)
        other = self.aside.choice(("option", said, "first(item.options)", *POOL_TEXTS))
        value = self.aside.choice(
            (
                f"good({said})",
                f"good(choose({pick}, {said}, {other}))",
                f"better(choose(length(option) > 4, {said}, {other}), option) == one",
                f"better({said}, option) == one and {pick}",
            )
        )
        where = self.aside.choice(("", "", " where length(option) > 4", f" where {pick}"))
        every = f"{value} each option in item.options{where}"
        self.measures.append(f"measure {name}_ = mean({name})")
        self.uses.add("elements")
        return f"  score {name} = {every if self.aside.random() < 0.6 else f'any( {every})'}"


def _escaped(text: str) -> str:
    """Return a text inside quotation marks of a spec."""
    return text.replace('"', '\\"')


if __name__ == "__main__":
    import sys

    made = generate(int(sys.argv[1]), Path(sys.argv[2]))
    print(made.spec.read_text("utf-8"), dict(made.roles), sorted(made.uses))
