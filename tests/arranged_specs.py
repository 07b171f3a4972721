"""A generator of benchmarks whose files, joins and narrow doors may tell a secret, and of the worlds that they are read
in: rows of which the secrets are dealt otherwise, each in the file that its name now asks for.

    drawn = arranged_spec(seed)          # the spec, its rows, and what it does
    drawn.files(drawn.rows)              # the data files of these rows by name
    drawn.dealt(dice)                    # other rows: of those that are asked about, the secrets of others

Every prompt begins with the number of its row, which is public. So two worlds are compared prompt by prompt: one that
is other tells a secret.

`python -m tests.arranged_specs SEED` prints one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
GROUPS = ("plants", "stone", "water")
WORDS = ("amber", "birch", "cedar", "delta")
SECRET = ("group", "answer", "weight")
ROWS = 12
SOME = 7
HEAD = """benchmark g "1.0.0" { languages en }
role candidate compared
let both(x: text, y: text) = "{{ x }} {{ y }}"
"""


@dataclass
class ArrangedSpec:
    """A spec, and what its files are written from."""

    text: str
    rows: Sequence[Row]
    named: bool
    """True if the files of the rows are named by their group."""
    parted: bool
    """True if only rows of one half are asked about."""
    doors: bool
    """True if `reveal(…, rows: N)` shows what a whole column has: then rows exchange what they have and no more."""

    def files(self, rows: Sequence[Row], dice: random.Random | None = None) -> dict[str, list[dict[str, Any]]]:
        """Return the files of rows. With dice, a row that has another group stands at either end of its file."""
        found: dict[str, list[dict[str, Any]]] = {
            "tips.jsonl": [{"answer": word, "tip": f"tip {max(1, i)}", "shelf": f"s{i // 2}"} for i, word in enumerate(WORDS)],
            "few.jsonl": [{"answer": word, "few": f"few {i}"} for i, word in enumerate(WORDS[:2])],
            "shelves.jsonl": [{"shelf": f"s{i}", "room": f"room {i}"} for i in range(2)],
            "notes.jsonl": [{"n": row["n"], "note": f"note {row['n'] % 5}"} for row in self.rows],
            "plain.jsonl": [{"n": row["n"], "plain": f"plain {row['n'] % 7}"} for row in self.rows],
            "worked.jsonl": [{"question": f"Is {i} worked?", "answer": WORDS[i % 4]} for i in range(4)],
        }  # fmt: skip
        if not self.named:
            some = [{name: row[name] for name in ("n", "question", "answer")} for row in rows[:SOME]]
            return {**found, "items.jsonl": [dict(row) for row in rows], "some.csv": some}
        moved = [row for row, was in zip(rows, self.rows, strict=True) if row["group"] != was["group"]]
        for group in GROUPS:
            here = [row for row in rows if row["group"] == group and row not in moved]
            for row in (row for row in moved if row["group"] == group):
                here.insert(0 if dice is None or dice.random() < 0.5 else len(here), row)
            found[f"it/q.{group}.jsonl"] = [{name: row[name] for name in row if name != "group"} for row in here]
        return found

    def dealt(self, dice: random.Random) -> list[Row]:
        """Return the rows of another world: those that are asked about have the secrets of each other, or, where no
        door shows those of all, any."""
        asked = [place for place, row in enumerate(self.rows) if not self.parted or row["split"] == "test"]
        giving = list(asked)
        dice.shuffle(giving)
        found = list(self.rows)
        for place, other in zip(asked, giving, strict=True):
            found[place] = {**found[place], **{name: self.rows[other][name] for name in SECRET}}
        if self.doors or dice.random() < 0.4:
            return found
        for place in asked:
            drawn = {"group": dice.choice(GROUPS), "answer": dice.choice(WORDS), "weight": dice.randrange(1, 6)}
            found[place] = {**found[place], **{name: drawn[name] for name in SECRET if dice.random() < 0.5}}
        there = {row["group"] for row in found}
        return found if there == set(GROUPS) else self.dealt(dice)


def arranged_spec(seed: int) -> ArrangedSpec:
    """Return the spec of a seed."""
    return _Writer(random.Random(f"arranged {seed}")).spec()


class _Writer:
    """Writes one spec."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.named = dice.random() < 0.75
        self.parted = dice.random() < 0.25
        self.door = dice.random() < 0.35
        self.sets: list[str] = []
        self.holes: list[str] = []
        """What may stand in a hole, whoever is told it."""
        self.doors: list[str] = []

    def chance(self, of: float) -> bool:
        return self.dice.random() < of

    def spec(self) -> ArrangedSpec:
        """Return the spec."""
        rows = self._rows()
        self._item()
        for part, likely in ((self._one_file, 0.4), (self._every_file, 0.3), (self._joined_to_one, 0.3)):
            if self.named and self.chance(likely):
                part()
        if not self.named and self.chance(0.3):
            self._some_rows()
        for part, likely in ((self._plain, 0.3), (self._kept, 0.3), (self._marked, 0.3)):
            if self.chance(likely):
                part()
        self._columns()
        if self.door:
            self._doors()
        scenario = self._scenario()
        text = "\n".join([HEAD + "\n".join(self.sets), scenario]) + "\n"
        return ArrangedSpec(text, rows, self.named, self.parted, "rows: " in scenario)

    def _rows(self) -> list[Row]:
        rows = [
            {
                "n": n,
                "question": f"What is thing number {n}?",
                "level": self.dice.choice(("easy", "hard")) if n > 1 else ("easy", "hard")[n],
                "split": ("train", "test")[n % 2],
                "answer": self.dice.choice(WORDS),
                "weight": self.dice.randrange(1, 6),
                "group": GROUPS[n % 3] if n < 3 else self.dice.choice(GROUPS),
            }
            for n in range(ROWS)
        ]
        self.dice.shuffle(rows)
        return rows

    # --- data sets ---

    def _item(self) -> None:
        source = "it/q.{group}.jsonl" if self.named else "items.jsonl"
        joins, fields = [], []
        if self.chance(0.3):
            joins.append('join "tips.jsonl" on "answer"')
            fields.append(self.dice.choice(("tip text", "tip text?", "tip text secret")))
            self.holes.append('default(q.tip, \\"none\\")' if fields[-1].endswith("?") else "q.tip")
            if self.chance(0.4):
                joins.append('join "shelves.jsonl" on "shelf"')
                fields.append("room text")
                self.holes.append("q.room")
        if self.chance(0.2):
            joins.append('join "few.jsonl" on "answer"')
            fields.append("few text?")
            self.holes.append('default(q.few, \\"none\\")')
        if self.chance(0.3):
            joins.append('join "notes.jsonl" on "n"')
            fields.append("note text")
            self.holes += ["q.note"] * 2
        lines = [
            f'dataset item from "{source}" {{',
            *(f"  {each}" for each in joins),
            "  n integer, question text, level choice(easy, hard), split choice(train, test)",
            "  answer text secret, weight integer secret, group text secret",
            *(f"  {each}" for each in fields),
            "}",
        ]
        self.sets.append("\n".join(lines))

    def _one_file(self) -> None:
        answer = self.dice.choice(("", "", ", answer text secret"))
        source = f"it/q.{self.dice.choice(GROUPS)}.jsonl"
        self.sets.append(f'dataset one from "{source}" {{ n integer, question text{answer} }}')
        if answer:
            self.doors += [
                "bullets(reveal(distinct(one.answer), rows: 1))",
                "reveal(length(distinct(one.answer)), rows: 1)",
                "bullets(reveal(sorted([o.answer each o in one]), rows: 1))",
            ]
        self.holes += ["q.question in one.question", "length(one)", "bullets(sorted(one.question))", "sum(one.n)"]

    def _every_file(self) -> None:
        answer = self.dice.choice(("", ", answer text secret"))
        fields = f"n integer, question text, level choice(easy, hard){answer}"
        self.sets.append(f'dataset every from "it/q.*.jsonl" {{ {fields} }}')
        if answer:
            self.doors += ["bullets(reveal(distinct(every.answer), rows: 5))", "first(reveal(every.answer, rows: 5))"]
        self.holes += ["q.question in every.question", "length(every)", "first(every.question)", "max(every.n)"]
        self.holes += ["bullets(sorted(every.question))", 'join(every.level, \\" \\")']

    def _joined_to_one(self) -> None:
        self.sets.append(
            'dataset beside from "plain.jsonl" {\n'
            f'  join "it/q.{self.dice.choice(GROUPS)}.jsonl" on "n"\n  n integer, plain text, level choice(easy, hard)?\n}}'
        )
        self.holes += ["length(beside)", 'join([default(b.level, easy) each b in beside], \\" \\")']
        self.holes += ['join(beside.plain, \\" \\")']

    def _some_rows(self) -> None:
        """The first rows again, in a file of their own."""
        self.sets.append('dataset some from "some.csv" { n integer, question text, answer text secret }')
        self.holes += ["length(some)", "bullets(some.question)"]
        self.doors += [
            "bullets(reveal(sorted([o.answer each o in some]), rows: 3))",
            "bullets(reveal(distinct(some.answer), rows: 3))",
            "reveal(length(sorted(some.answer)), rows: 3)",
        ]

    def _plain(self) -> None:
        self.sets.append('dataset plain from "plain.jsonl" { n integer, plain text }')
        self.holes += ["first(plain.plain)", "nth(plain.plain, q.n)", "bullets(plain.plain)"]
        self.holes += ['join([p.second each p in zip(plain.plain, item.question)], \\" \\")']

    def _kept(self) -> None:
        kept = self.dice.choice(("", " where k.level == easy", " where k.split == train", ' where k.answer == "amber"'))
        block = self.dice.choice(("", "\n  unique k.level", "\n  require k.weight > 0", "\n  require k.n < 4"))
        self.sets.append(f"dataset kept from item as k{kept} {{ let size = words(k.question){block}\n}}")
        self.holes += ["length(kept)", "q.question in kept.question", 'default(first(kept.question), \\"none\\")']
        self.holes += ["bullets(sorted(kept.question))"]
        self.doors += ["bullets(reveal(distinct(kept.answer), rows: 5))", "reveal(sum(kept.weight), rows: 5)"]
        self.doors += ["reveal(sum([k.weight each k in kept]), rows: 5)"]
        self.doors += ["bullets(reveal(sorted([k.answer each k in kept]), rows: 5))"]

    def _marked(self) -> None:
        both = self.dice.choice(
            ("both(m.question, m.answer)", "upper(m.answer)", "upper(m.question)", "m.weight * m.n")
        )
        self.sets.append(f"dataset marked from item as m {{ let mark = {both} }}")
        self.holes += ["length(marked)"]
        if "weight" in both:
            self.doors += ["reveal(sum(marked.mark), rows: 5)", "reveal(max([m.mark each m in marked]), rows: 5)"]
        else:
            self.doors += ["bullets(reveal(distinct(marked.mark), rows: 5))", "reveal(length(marked.answer), rows: 5)"]
            self.doors += ["bullets(reveal(sorted([m.mark each m in marked]), rows: 5))"]
            self.doors += ["bullets(reveal(sorted([both(m.mark, m.answer) each m in marked]), rows: 5))"]

    # --- expressions ---

    def _columns(self) -> None:
        """Say what of the rows is public, in whichever order; little of it is what is secret."""
        self.holes += [
            "q.question", "q.level", "length(item)", "first(item).question", "last(item.question)",
            "nth(item.question, q.n)", "bullets(item.question)", "bullets(sorted(item.question))",
            "bullets(distinct(item.level))", "sum(item.n)", "min(item.n)", "q.question in item.question",
            "bullets(slice(item.question, 1, 2))", "q.question in without_last(item.question)",
            "first(picked(item.question, item.level, q.level))", "length(picked(item.question, item.level, q.level))",
            "bullets(sorted(picked(item.question, item.level, q.level)))", "bullets(drawn(item.question, 3, q.question))",
            "first(shuffled(item.question, q.question))", "join([upper(a.question) each a in item], \\\" \\\")",
            "bullets(sorted([both(a.question, a.level) each a in item]))", "default(majority(item.level), easy)",
            "bullets(sorted([a.question each a in item where a.level == q.level]))",
            "bullets([a.question each a in item where a.n < q.n])", "json(zip(item.n, item.level))",
            "bullets(sorted_by(item.question, item.n))", "nth(sorted(item.question), q.n)",
            "jaccard(item.question, sorted(item.question))", "any([a.n > 3 each a in item])",
        ]  # fmt: skip
        if self.chance(0.15):
            self.holes += ["q.answer", "q.group", "sum(item.weight)", "first(item.answer)"]

    def _doors(self) -> None:
        """Say what goes through the narrow door, inside and behind."""
        inside = [
            "item.answer", "sorted(item.answer)", "distinct(item.answer)", "distinct(item.group)", "item.group",
            "sorted([both(a.answer, a.group) each a in item])", "sorted([both(a.question, a.answer) each a in item])",
            "distinct([upper(a.answer) each a in item])", "sorted_by(item.answer, item.n)",
            "sorted_by(item.answer, item.weight)", "shuffled(item.answer, \\\"x\\\")", "drawn(item.answer, 2, \\\"x\\\")",
            "[a.answer each a in item]", "sorted([a.answer each a in item])", "flat([[a.answer] each a in item])",
            "sorted(flat([[a.answer, a.group] each a in item]))",
            "sorted([p.second each p in zip(item.question, item.answer)])",
            "sorted([both(p.first, p.second) each p in zip(item.question, item.answer)])",
            "sorted([both(q.question, a.answer) each a in item])", "[\\\"a\\\", first(sorted(item.answer))]",
            "sorted([b.answer each b in item where b.n > 0])", "sorted(flat([sorted(item.answer) each a in item]))",
        ]  # fmt: skip
        behind = (
            "bullets({})", "nth({}, 1)", "first({})", "length({})", "q.question in {}", "bullets(sorted({}))",
            "join([both(q.question, x) each x in {}], \\\" \\\")", "nth({}, q.n)",
        )  # fmt: skip
        numbers = (
            "sum(item.weight)", "max(item.weight)", "sum([a.weight * a.weight each a in item])", "length(item.weight)",
            "sum([a.weight * a.n each a in item])", "sum([choose(a.answer == \\\"amber\\\", 1, 0) each a in item])",
            "sum([choose(a.answer == \\\"amber\\\", a.n, 0) each a in item])", "sum(item.weight) / length(item)",
            "sum([p.first * p.second each p in zip(item.weight, item.n)])", "best_of(item.question, item.weight)",
            "json(item.weight)", "json(item)", "length(distinct(item.answer))", "any([a.weight > 4 each a in item])",
            "sum([choose(a.answer == a.group, 1, 0) each a in item])", "majority(sorted(item.answer)) == \\\"amber\\\"",
            "sum([a.weight + b.weight each a in item, b in item])", "first(sorted(item.weight)) * q.n",
        )  # fmt: skip
        self.doors += [self.dice.choice(behind).format(f"reveal({each}, rows: 5)") for each in inside]
        self.doors += [f"reveal({each}, rows: 5)" for each in numbers if ", b in" not in each]

    def _over(self) -> str:
        """Return the data set that is asked about; of one that leaves some columns out, no others are shown."""
        others = [name for name in ("every", "kept", "one") if any(f"dataset {name} " in each for each in self.sets)]
        over = self.dice.choice(others) if others and self.chance(0.3) else "item"
        gone = {"every": ("q.answer", "q.group", "q.tip", "q.room", "q.few", "q.note"), "kept": ()}
        gone["one"] = (*gone["every"], "q.level")
        self.holes = [each for each in self.holes if not any(name in each for name in gone.get(over, ()))]
        self.doors = [each for each in self.doors if not any(name in each for name in gone.get(over, ()))]
        return over

    def hole(self) -> str:
        """Return a hole of a prompt."""
        known = self.doors if self.doors and self.door and self.chance(0.5) else self.holes
        return "{{ " + self.dice.choice(known) + " }}"

    # --- scenarios ---

    def _scenario(self) -> str:
        where = " where q.split == test" if self.parted else ""
        over = self._over() if not self.parted else "item"
        lines = ["scenario s {", f"  over {over} as q{where}"]
        ask = []
        other = " where s.split == train" if self.chance(0.7 if self.parted else 0.1) else ""
        if self.chance(0.2):
            drawn = self.dice.choice(("", " drawn by q.question", ' drawn by "x"'))
            told = "{{ s.group }} {{ s.answer }}" if other and self.chance(0.5) else "{{ s.level }}"
            ask.append(f'    shots 2 from item as s{other}{drawn} {{ prompt "{{{{ s.question }}}}", reply "{told}" }}')
        if self.chance(0.2):
            condition = f"    where {other.removeprefix(' where ')}\n" if other else ""
            by = self.dice.choice(("bm25(q.question, s.question)", 'bm25("easy", s.level)'))
            lines.append(f"  retrieve near from item as s {{\n{condition}    top 3 by {by}\n  }}")
            self.holes += ["bullets(near.question)", "first(near).question"] * 3
        if self.chance(0.15):
            ask.append(f'    prompt "More." when {self.dice.choice(("first(item).level == easy", "length(item) > 3"))}')
        holes = " ".join(self.hole() for _ in range(self.dice.randrange(1, 3)))
        ask.append(f'    prompt "#{{{{ q.n }}}}. {holes}"')
        lines += ["  ask reply by candidate {", *ask, "  }", '  score right = contains(reply.text, "amber")', "}"]
        return "\n".join(lines)


if __name__ == "__main__":
    import sys

    print(arranged_spec(int(sys.argv[1])).text)
