"""A generator of benchmarks in which secrets flow: between data sets, into shots, retrieval, conversations, made rows.

    text, files = secret_spec(seed)     # the spec, and the rows of its data files by name

Every spec has rows with secrets that are asked about, in files of which some are copies. What is told to whom is drawn
by a grammar: expressions over public and secret fields, replies, and data sets as values. Some leak and some do not.

`python -m tests.secret_specs SEED` prints one.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty", "knoll", "ledge")
TOPICS = {"Plants": ["Trees", "Herbs"], "Water": ["Rivers", "Lakes"], "Stone": ["Hills", "Caves"]}
SIMPLE = ("q.level == easy", "q.fold > 0", "q.split == train")
Files = dict[str, "list[dict[str, Any]] | str"]
HEAD = """benchmark g "1.0.0" { languages en }
role candidate compared
role tutor
role author
role judge
arm style { plain, rich }
let shout(x: text) = upper(x)
let told(x: text, y: text) = "{{ x }} ({{ y }})"
"""


def secret_spec(seed: int) -> tuple[str, Files]:
    """Return the spec of a seed and its files."""
    return _Writer(random.Random(seed)).spec()


class _Writer:
    """Writes one spec."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.aside = random.Random(str(dice.getstate()))
        """Decides what was added since: so each seed keeps the rest of its spec."""
        self.free = random.Random(f"json {dice.getstate()}")
        """Decides which replies are any JSON."""
        self.risk = dice.choice((0.0, 0.04, 0.12, 0.3))
        """How often a secret is taken where a public value would do."""
        self.files: Files = {}
        self.sets: list[str] = []
        self.made: list[str] = []
        self.texts: list[str] = []
        self.numbers: list[str] = []
        self.flags: list[str] = []
        self.secrets: list[str] = []
        self.places = ("item",)
        self.count = 0

    def chance(self, of: float) -> bool:
        return self.dice.random() < of

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def spec(self) -> tuple[str, Files]:
        """Return the text and the files."""
        self._items()
        for part, likely in (
            (self._talk, 0.3),
            (self._worked, 0.5),
            (self._copy, 0.35),
            (self._pool, 0.4),
            (self._noted, 0.4),
        ):
            if self.chance(likely):
                part()
        self._scope()
        for part, likely in ((self._kept, 0.4), (self._walked, 0.2), (self._tasks, 0.4)):
            if self.chance(likely):
                part()
        scenarios = [self._scenario("one")]
        if self.chance(0.2):
            scenarios.append(self._scenario("two"))
        body = "\n".join([*self.sets, *self.made, *scenarios])
        return self._pruned(body), self.files

    def _pruned(self, body: str) -> str:
        """Return the spec without what it does not use."""
        lines = []
        for line in HEAD.splitlines():
            kind, name = [*line.split(), "", ""][:2]
            name = name.partition("(")[0]
            if kind == "role" and name != "candidate" and f"by {name}" not in body and f"    {name} {{" not in body:
                continue
            if kind == "arm" and "arms style" not in body:
                continue
            if kind == "let" and f"{name}(" not in body:
                continue
            lines.append(line)
        return "\n".join([*lines, body]) + "\n"

    # --- data ---

    def _items(self) -> None:
        rows = []
        for number in range(10):
            word = self.dice.choice(WORDS)
            rows.append(
                {
                    "id": f"i{number}",
                    "question": f"What grows in the garden number {number}?",
                    "answer": f"{word} {self.dice.choice(WORDS)}" if self.chance(0.6) else word,
                    "letter": self.dice.choice("ABC") if number else "A",  # so that no condition rules out all
                    "points": self.dice.sample(WORDS, self.dice.randrange(1, 4)),
                    "n": self.dice.randrange(6) if number else 5,
                    "level": self.dice.choice(("easy", "hard")) if number else "easy",
                    "split": "test" if number % 2 else "train",
                    "fold": number % 3,
                    "topic": self.dice.choice(list(TOPICS)),
                    "hint": f"Look for {self.dice.choice(WORDS)} in row {number}.",
                }
            )
        self.rows = rows
        self.files["items.jsonl"] = rows
        self.sets.append(
            'dataset item from "items.jsonl" {\n'
            "  id text, question text, answer text secret, letter choice(A, B, C) secret, points list<text> secret\n"
            "  n integer secret, level choice(easy, hard), split choice(train, test), fold integer\n"
            "  topic choice(Plants, Water, Stone) secret, hint text\n}"
        )

    def _talk(self) -> None:
        """A column of which one field reads public parts and another secret ones."""
        for number, row in enumerate(self.rows):
            said = {
                f"{word}{number}": {
                    "text": f"The {word} says {number}.",
                    "mark": self.dice.choice(WORDS),
                    "right": True,
                }
                for word in self.dice.sample(WORDS, self.dice.randrange(1, 4))
            }
            row["talk"] = said if number % 2 else [{"name": name, **each} for name, each in said.items()]
        both = self.dice.choice(("", "", ", right bool"))
        fields = (
            f'  said list<{{ name text, text text{both} }}> from "talk"\n'
            f'  marks list<{{ mark text{both} }}> secret from "talk"\n'
        )
        self.sets[0] = self.sets[0].removesuffix("}") + fields + "}"
        self.texts += ["first(q.said).text", "last(q.said).name"]
        self.numbers += ["length(q.said)"]
        self.secrets += ["first(q.marks).mark", "json(q.marks)"]
        if both:
            self.secrets.append('choose(first(q.said).right, "yes", "no")')

    def _noted(self) -> None:
        """Columns of JSON, of which expressions read parts: a public one, and a secret one of another form in places."""
        for number, row in enumerate(self.rows):
            row["about"] = {"at": {"word": self.dice.choice(WORDS)}, "size": number % 4}
            row["key"] = {"by": "Ada", "marks": [{"word": self.dice.choice(WORDS), "n": self.dice.randrange(4)}]}
            if self.chance(0.3):
                row["key"] = self.dice.choice(({"by": "Ben"}, {"by": 3, "marks": "none"}))
        self.sets[0] = self.sets[0].removesuffix("}") + "  about json, key json secret\n}"
        self.texts += [
            'default(json_part(q.about, "at.word", text), "none")',
            'default(json_part(q.about, "key", text), "none")',
        ]
        self.numbers += ['default(json_part(q.about, "size", integer), 0)']
        self.secrets += [
            'default(json_part(q.key, "by", text), "none")',
            'default(json_part(q.key, "marks.0.word", text), "none")',
            'choose(default(json_part(q.key, ("marks", "0", "n"), integer), 0) > 1, "yes", "no")',
            'choose(length(default(json_part(q.key, "marks", list<json>), [])) == 0, "yes", "no")',
            "json(q.key)",
        ]

    def _worked(self) -> None:
        self.files["worked.jsonl"] = [
            {"question": f"Who sails the {word} ship?", "answer": f"{word} captain", "level": self.dice.choice(("easy", "hard"))}
            for word in self.dice.sample(WORDS, 5)
        ]  # fmt: skip
        self.sets.append(
            'dataset worked from "worked.jsonl" { question text, answer text secret, level choice(easy, hard) }'
        )
        self.texts += [
            "first(worked.question)",
            "first(worked).question",
            "last(worked.answer)",
            "first(worked).answer",
        ]
        self.numbers.append("length(worked)")

    def _copy(self) -> None:
        """The answers again, under another name."""
        pairs = [{"question": row["question"], "right": row["answer"]} for row in self.rows]
        kind = self.dice.choice(("column", "csv", "gz", "record", "name", "none"))
        fields, right = "question text, right text", "copy.right"
        match kind:
            case "column":
                source, fields = "items.jsonl", 'question text, right text from "answer"'
            case "csv":
                source = "copy.csv"
                self.files[source] = pairs
            case "gz":
                source = "copy.jsonl.gz"
                self.files[source] = pairs
            case "record":
                source, fields, right = "copy.jsonl", "question text, about { right text }", "copy.about.right"
                self.files[source] = [{"question": p["question"], "about": {"right": p["right"]}} for p in pairs]
            case "name":
                source = "by/{right}.jsonl"
                by: dict[str, list[dict[str, Any]]] = {}
                for pair in pairs:
                    by.setdefault(f"by/{pair['right']}.jsonl", []).append({"question": pair["question"]})
                self.files |= by
            case _:
                source = "other.jsonl"
                self.files[source] = [{"question": f"A {w} question?", "right": f"{w} indeed"} for w in WORDS[:6]]
        self.sets.append(f'dataset copy from "{source}" {{ {fields} }}')
        self.secrets += [f"first(picked({right}, copy.question, q.question))", f"first({right})"]
        self.texts.append("first(copy.question)")
        self.flags.append("q.question in copy.question")
        self.copied = right

    def _pool(self) -> None:
        self.files["pool.jsonl"] = [{"stem": f"Of {w} and {v}.", "level": n % 3} for n, (w, v) in enumerate(zip(WORDS, WORDS[3:], strict=False))]  # fmt: skip
        self.sets.append('dataset pool from "pool.jsonl" { stem text, level integer }')
        self.texts.append("last(pool.stem)")

    def _scope(self) -> None:
        """What expressions may say of the row at hand, `q`, and of all rows."""
        over = self.over = "q"
        self.texts += [f"{over}.question", f"{over}.hint", f"shout({over}.hint)", f"told({over}.hint, {over}.id)"]
        self.numbers += [f"{over}.fold", f"words({over}.question)", "length(item.question)"]
        self.flags += [f"{over}.level == easy", f"{over}.fold > 0", f"{over}.split == test", f"words({over}.hint) > 5"]
        self.secrets += [
            f"{over}.answer", f"first({over}.points)", f"bullets({over}.points)", f"shout({over}.answer)",
            f"told({over}.question, {over}.answer)", "bullets(distinct(item.answer))", "first(item).answer",
            f"choose({over}.letter == A, \"yes\", \"no\")", f"replace({over}.question, {over}.answer, \"\")",
        ]  # fmt: skip

    # --- expressions ---

    def text(self) -> str:
        """Return a text, which may depend on a secret."""
        if self.chance(self.risk):
            return self.dice.choice([*self.secrets, self.dice.choice(self.secrets)])
        kind = self.dice.random()
        if kind < 0.06:
            return f"choose({self.flag()}, {self.dice.choice(self.texts)}, {self.dice.choice(self.texts)})"
        if kind < 0.1:
            return f"choose(true, {self.dice.choice(self.texts)}, {self.dice.choice(self.secrets)})"
        if kind < 0.16:
            return f"reveal({self.dice.choice(self.secrets[:6])})"
        if kind < 0.19:
            return "bullets(reveal(distinct(item.answer), rows: 5))"
        if kind < 0.3:
            return self.number()
        return self.dice.choice(self.texts)

    def number(self) -> str:
        """Return a number."""
        if self.chance(self.risk):
            o = self.over
            return self.dice.choice(
                (f"{o}.n", f"length({o}.points)", f"words({o}.answer)", "sum(item.n)", "length(distinct(item.answer))")
            )
        return self.dice.choice(self.numbers)

    def flag(self) -> str:
        """Return a condition."""
        if self.chance(self.risk):
            o = self.over
            return self.dice.choice(
                (
                    f"{o}.letter == A",
                    f"{o}.n > 2",
                    f'contains({o}.answer, "e")',
                    f"contains({o}.hint, {o}.answer)",
                    f"{o}.level == hard and {o}.n > 1",
                )
            )
        one = self.dice.choice(self.flags)
        return f"{one} {self.dice.choice(('and', 'or'))} {self.dice.choice(self.flags)}" if self.chance(0.2) else one

    def hole(self) -> str:
        return "{{ " + self.text().replace('"', '\\"') + " }}"

    def prompt(self, first: str) -> str:
        holes = " ".join(self.hole() for _ in range(self.dice.randrange(3)))
        return f'prompt "{first} {holes}"'

    # --- data sets that are made ---

    def _kept(self) -> None:
        """Rows of the items that a condition keeps."""
        over, self.over = self.over, "k"
        condition = (self.flag() if not self.chance(0.3) else "k.letter == A").replace("q.", "k.")
        self.over = over
        form = self.dice.choice(("require", "where"))
        some = (
            " " in condition and "(" not in condition and " and " not in condition
        )  # there is a row for which it holds
        where, block = (f" where {condition}", "") if form == "where" and some else ("", f"\n  require {condition}")
        let = "\n  let size = words(k.question)" if self.chance(0.4) or not block else ""
        self.made.append(f"dataset kept from item as k{where} {{{let}{block}\n}}")
        risky = ["length(kept.question)", 'default(first(kept.question), "none")'] if self.chance(0.6) else []
        self.texts += risky[1:]
        self.numbers += risky[:1]
        self.flags += ["q.question in kept.question"] if risky else []

    def _walked(self) -> None:
        """The items, each with paths through a tree."""
        self.files["topics.json"] = json.dumps(TOPICS)
        below = self.dice.choice(("", "", " below w.topic"))
        told = "w.question" if self.chance(0.7) else "w.answer"
        self.made.append(
            'tree topics from "topics.json"\n'
            f"dataset placed from item as w {{\n  walk paths through topics{below} by judge "
            f'{{ prompt "{{{{ {told} }}}} {{{{ bullets(branches) }}}}" }}\n}}'
        )
        self.texts.append("bullets(first(picked(placed.paths, placed.question, q.question)))")
        self.numbers.append("length(placed.question)")

    def _tasks(self) -> None:
        """Rows that an author writes from the items, or from nothing."""
        extra = " ".join("{{ " + self._of_source() + " }}" for _ in range(self.dice.randrange(2)))
        lines = [
            "dataset task by author from item as src {",
            f'  prompt "Write a task like {{{{ src.question }}}}. {extra}"',
            "  returns { task text, size 0..9, solution text secret }",
            f"  retries {self.dice.randrange(3)}",
        ]
        if self.chance(0.35):
            lines.append(
                f"  require {self.dice.choice(('task.size > 2', 'words(task.task) > 1', 'not contains(task.task, src.answer)', 'src.n > 1', 'words(task.solution) > 1'))}"
            )
        if self.chance(0.2):
            lines.append(f"  unique {self.dice.choice(('task.task', 'src.letter', 'task.solution'))}")
        if self.chance(0.25):
            told = self.dice.choice(("task.task", "task.solution", "src.answer"))
            lines.append(
                f'  verify by judge {{ prompt "Is {{{{ {told} }}}} fine?", returns {{ fine bool }}, require fine }}'
            )
        self.made.append("\n".join([*lines, "}"]))
        self.texts += ["first(task.task)"] if self.chance(0.3) else []
        self.places = ("item", "item", "task")

    def _of_source(self) -> str:
        return self.dice.choice(
            ("src.answer", "first(src.points)") if self.chance(self.risk * 2) else ("src.hint", "src.id")
        )

    # --- scenarios ---

    def _scenario(self, name: str) -> str:
        saved = (list(self.texts), list(self.numbers), list(self.flags), list(self.secrets))
        over = self.dice.choice(self.places)
        where = ""
        self.over = "q"
        if over == "task":
            self.texts += ["q.task", "q.task"]
            self.numbers.append("q.size")
            self.flags.append("q.size > 3")
            self.secrets += ["q.solution"]
        else:
            roll = self.dice.random()
            if roll < 0.3:
                where = " where q.split == test"
            elif roll < 0.4:
                where = f" where {self.dice.choice((*SIMPLE, 'q.letter == A', 'q.n > 2'))}"
        self.made_rows = over == "task"
        lines = [f"scenario {name} {{", f"  over {over} as q{where}"]
        self.arms = self.chance(0.15)
        if self.arms:
            lines.append("  arms style")
        for _ in range(self.dice.randrange(3)):
            lines.append(self._step())
        lines.append(self._ask("candidate", self.fresh("reply"), last=True))
        if self.chance(0.15):
            last = f"reply{self.count}"
            lines.append(
                f"  ask {self.fresh('again')} by candidate when not contains({last}.text, q.answer) "
                f'{{ prompt "Try again." }}' if self.chance(self.risk * 2) else
                f"  ask {self.fresh('again')} by candidate when words({last}.text) > 1 "
                f'{{ prompt "Are you sure? {{{{ {last}.text }}}}" }}'
            )  # fmt: skip
        lines.append(
            "  score right = contains(reply.text, q.answer)".replace("reply.text", f"{self._last(lines)}.text")
        )
        self.texts, self.numbers, self.flags, self.secrets = saved
        return "\n".join([*lines, "}"])

    def _last(self, lines: list[str]) -> str:
        asks = [
            line.split()[1]
            for each in lines
            for line in each.splitlines()
            if line.startswith("  ask ") and " by candidate" in line
        ]
        return asks[-1]

    def _step(self) -> str:
        kind = self.dice.choice(("hint", "hint", "retrieve", "converse", "let", "number"))
        match kind:
            case "hint":
                name = self.fresh("hint")
                step = self._ask("tutor", name)
                self.texts += [f"{name}.text", f"{name}.prompt"] if self.chance(0.3) else [f"{name}.text"] * 2
                self.flags.append(f"words({name}.text) > 4")
                self.numbers.append(f"words({name}.text)")
            case "number":
                name = self.fresh("rate")
                told = self.hole()
                if self.free.random() < 0.5:
                    return self._noting(name, told)
                step = f'  ask {name} by tutor {{ prompt "Rate. {told}", returns 1..9 }}'
                self.numbers += [name] * 2
                self.flags.append(f"{name} > 4")
            case "let":
                name = self.fresh("named")
                step = f"  let {name} = {self.dice.choice(self.secrets if self.chance(self.risk) else self.texts)}"
                self.texts += [name] * 2
            case "retrieve":
                return self._retrieve()
            case _:
                name = self.fresh("talk")
                opens = self.dice.choice(("tutor", "candidate"))
                step = (
                    f"  converse {name} {{\n    tutor {{ system \"You tutor. {self.hole()}\" }}\n"
                    f'    candidate {{ system "You learn. {self.hole()}" }}\n'
                    f"    opens {opens}\n    until tutor says \"yes\"\n    limit {self.dice.randrange(2, 5)} turns\n  }}"
                )  # fmt: skip
                self.texts.append(f"transcript({name})")
                self.numbers.append(f"turns({name})")
        return step

    def _noting(self, name: str, told: str) -> str:
        """Return an ask whose reply is any JSON."""
        self.numbers += [f'default(json_part({name}, "number", integer), 0)'] * 2
        self.texts += [f'default(json_part({name}, "answer", text), "none")', f"json({name})"]
        self.flags.append(f'default(json_part({name}, "sure", bool), false)')
        return f'  ask {name} by tutor {{ prompt "Note. {told}", returns json }}'

    def _retrieve(self) -> str:
        name = self.fresh("near")
        query = self.dice.choice([t for t in self.texts if "." in t] or self.texts)
        if self.chance(self.risk):
            query = self.dice.choice(self.secrets)
        pools = ["item as p", *(["pool as p"] if "pool.jsonl" in self.files else [])]
        pools += ["worked as p"] * 2 if "worked.jsonl" in self.files else []
        source = self.dice.choice(pools)
        field, where = ("stem", "") if source == "pool as p" else ("question", "")
        if source == "item as p":
            where = self.dice.choice(
                ("    where p.split == train\n", "    where p.fold != q.fold\n", "", "    where p.letter == A\n")
            )
        told = [f"first({name}).{field}", f"bullets({name}.{field})"]
        if source != "pool as p":
            told.append(f"bullets({name}.answer)")
        self.texts += told
        return f"  retrieve {name} from {source} {{\n{where}    top 2 by bm25({query}, p.{field})\n  }}"

    def _ask(self, role: str, name: str, last: bool = False) -> str:
        when = f" when {self.flag()}" if self.chance(0.15) and not last else ""
        lines = [f"  ask {name} by {role}{when} {{"]
        if self.chance(0.15):
            lines.append(f'    system "You are {name}. {self.hole()}"')
        if self.arms and self.chance(0.5):
            lines.append(f'    prompt "More: {self.hole()}" when style == rich')
        dice, self.dice = self.dice, self.aside
        if self.chance(0.3) and not re.search(r"\.(split|level) ==", condition := self.flag()):
            lines.append(f"    temperature 0.7 when {condition}")  # others may hold for no row of the scenario
        self.dice = dice
        if self.chance(0.25):
            lines.append(self._shots())
        if self.chance(0.2):
            lines.append(f"    {self.prompt('If so.')} when {self.flag()}")
        first = "{{ q.task }}" if self.made_rows else "{{ q.question }}"
        lines.append(f"    {self.prompt(first)}")
        if last and self.free.random() < 0.2:
            lines.append("    returns json")
        return "\n".join([*lines, "  }"])

    def _shots(self) -> str:
        choices = [
            ("item as s where s.split == train", "{{ s.answer }}"),
            ("item as s where s.split == train", "{{ s.hint }}"),
            ("item as s", "{{ s.answer }}" if self.chance(self.risk) else "{{ s.hint }}"),
        ]
        if not self.made_rows:
            choices.append(("item as s where s.fold != q.fold", "{{ s.answer }}"))
            choices.append(("item as s where s.level == q.level", "{{ s.id }}"))
            if self.chance(self.risk):
                choices.append(("item as s where s.letter == q.letter", "{{ s.id }}"))
        if "worked.jsonl" in self.files:
            choices += [("worked as s", "{{ s.answer }}")] * 2
        source, reply = self.dice.choice(choices)
        return (
            f'    shots {self.dice.randrange(1, 4)} from {source} {{ prompt "{{{{ s.question }}}}", reply "{reply}" }}'
        )


if __name__ == "__main__":
    import sys

    text, found = secret_spec(int(sys.argv[1]))
    print(text)
    print(*found)
