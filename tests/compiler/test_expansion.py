"""`like`, `rows` and `for each`: a drawn spec has the plan of the same spec written out by hand, and mistakes keep their
places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from compiling import compile_file, compile_files, plan_of

from tests.lengths import sized
from tripos_compiler.compile import compile_spec
from tripos_compiler.resolve.incremental import Memory
from tripos_compiler.source.text import CopiedText
from tripos_runtime.datasets.data_files import DataFolders

SEEDS = range(sized(20, 1500))
HEAD = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
arm tone { plain, warm }
dataset items from "items.jsonl" { question text, kind text, answer text secret }
dataset others from "items.jsonl" like items
"""
ITEMS = '{"question": "2 + 2", "kind": "sum", "answer": "4"}\n{"question": "3 * 7", "kind": "Q&A", "answer": "21"}\n'
TITLES = ("A title", 'An \\"odd\\" one', "题目", "C: {x}")
KINDS = ("sum", "Q&A")


def of_files(folder: Path, text: str) -> str:
    """Return the plan of a spec as JSON."""
    return plan_of(compile_files(folder, {"items.jsonl": ITEMS, "spec.tripos": HEAD + text})).model_dump_json()


# Scenarios


@dataclass(frozen=True)
class Written:
    """Scenario as its statements, by their key: the first word and the name."""

    name: str
    statements: tuple[tuple[str, str], ...]

    def text(self) -> str:
        body = "".join(f"  {statement}\n" for _, statement in self.statements)
        return f"scenario {self.name} {{\n{body}}}\n"


def variants(key: str, draw: Random) -> str:
    """Return one of the forms of a statement. The names that a form uses are those that every scenario has."""
    word, _, name = key.partition(" ")
    number = draw.randrange(9)
    forms = {
        "over": [f"over {data} as item{where}" for data in ("items", "others") for where in ("", " where item.kind == \"sum\"")],
        "arms": ["arms tone"],
        "ask": [
            f'ask {name} by candidate {{ prompt "{number} {{{{ item.question }}}} {{{{ tone }}}}" }}',
            f'ask {name} by candidate {{ prompt "{{{{ item.question }}}} {{{{ said }}}}", temperature 0.{number}, system "Be {{{{ tone }}}}." }}',
        ],
        "let": [f'let {name} = "{number}"', f"let {name} = item.question"],
        "score": [f"score {name} = contains(reply.text, said)", f"score {name} = words(reply.text) > {number}"],
        "measure": [f"measure {name} = mean({draw.choice('abc')}) by tone", f"measure {name} = mean(words(reply.text) > {number})"],
    }  # fmt: skip
    return draw.choice(forms[word])


KEYS = ("over", "arms", "let said", "ask reply", "score a", "score b", "score c", "measure first", "measure second")
MORE = ("score d", "score e", "measure third", "let last")


def base(draw: Random) -> Written:
    return Written("plain", tuple((key, variants(key, draw)) for key in KEYS))


def derived(of: Written, name: str, draw: Random) -> tuple[Written, str]:
    """Return a scenario that is like another one, as it is written out, and as it is written with `like`."""
    keys = [key for key, _ in of.statements]
    changed = {key: variants(key, draw) for key in keys if draw.random() < 0.3}
    gone = {key for key in keys if key not in changed and key.startswith("measure") and draw.random() < 0.3}
    added = [(key, variants(key, draw)) for key in MORE if key not in keys and draw.random() < 0.3]
    kept = [(key, changed.get(key, text)) for key, text in of.statements if key not in gone]
    whole = Written(name, (*kept, *added))
    lines = [*changed.values(), *(f"without {key}" for key in gone)]
    draw.shuffle(lines)
    if added:
        lines.append("add {\n" + "".join(f"    {text}\n" for _, text in added) + "  }")
    body = "".join(f"  {line}\n" for line in lines)
    return whole, f"scenario {name} like {of.name} {{\n{body}}}\n"


@pytest.mark.parametrize("part", range(4))
def test_a_scenario_like_another_has_the_plan_of_one_that_is_written_out(part: int, tmp_path: Path) -> None:
    for seed in SEEDS[part::4]:
        draw = Random(seed)
        first = base(draw)
        second, like_second = derived(first, "second", draw)
        third, like_third = derived(second, "third", draw)
        by_hand = first.text() + second.text() + third.text()
        assert of_files(tmp_path, by_hand) == of_files(tmp_path, first.text() + like_second + like_third), seed


def test_what_is_added_stands_before_the_statement_that_follows_it(tmp_path: Path) -> None:
    whole = """
scenario plain {
  over items as item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, "4")
}
"""
    like = 'scenario other like plain {\n  add { let wanted = "5" }\n  score right = contains(reply.text, wanted)\n}\n'
    by_hand = whole.replace("plain", "other").replace("  score right", '  let wanted = "5"\n  score right')
    assert of_files(tmp_path, whole + like) == of_files(tmp_path, whole + by_hand.replace('text, "4"', "text, wanted"))


def test_a_data_set_like_another_names_itself(tmp_path: Path) -> None:
    stories = """
role author
dataset stories by author from items as item {
  count   2
  prompt  "A story on {{ item.question }}."
  returns { story text, moral text secret }
  require length(stories.story) > 3 and stories.story != stories.moral
  verify by author {
    prompt  "Is {{ stories.story }} a story?"
    returns { fine bool }
    require fine
  }
  unique  stories.story
  key     stories.story
}
"""
    scenario = """
scenario a {
  over stories as s
  ask reply by candidate { prompt "{{ s.story }}" }
  score right = contains(reply.text, s.moral)
}
scenario b {
  over riddles as s
  ask reply by candidate { prompt "{{ s.story }}" }
  score right = contains(reply.text, s.moral)
}
"""
    text = 'prompt  "A riddle on {{ item.question }}."'
    by_hand = stories.replace("role author\n", "").replace("stories", "riddles")
    by_hand = by_hand.replace('prompt  "A story on {{ item.question }}."', text)
    like = f"dataset riddles like stories {{\n  {text}\n}}\n"
    assert of_files(tmp_path, stories + like + scenario) == of_files(tmp_path, stories + by_hand + scenario)


# Tables

SOLVE = """
scenario solve {
  over items as item
  arms tone
  ask reply by candidate { prompt "{{ item.question }} {{ tone }}" }
  score right = contains(reply.text, item.answer)
}
measure accuracy = mean(right) by tone
measure by_kind  = mean(right) by item.kind
"""
TABLE_KEYS = ("rows", "column", "values tone", "values item.kind", "digits", "points", "mark", "note")
MORE_OF_TABLES = ("differences", "group", "published")


def variants_of_table(key: str, draw: Random) -> str:
    """Return one of the forms of the statements of a table with this key."""
    word, _, name = key.partition(" ")
    forms = {
        "rows": ["rows model, tone"],
        "column": ['column by_kind "kinds"', 'column accuracy under "All" "all"\n  column by_kind'],
        "values": {
            "tone": ['values tone { plain "Plain", warm }', "values tone { plain, warm }"],
            "item.kind": ['values item.kind { sum "Sums" }', 'values item.kind { "Q&A" "Products", sum }'],
        }.get(name, []),
        "digits": [f"digits {draw.randrange(5)}"],
        "points": ["points"],
        "mark": ["mark best", "mark 2 best"],
        "note": ['note "One."', 'note "One."\n  note "Two."'],
        "differences": ["differences from plain", "differences from warm beside values"],
        "group": ["group item.kind"],
        "published": ['published "As printed" {\n    | model | tone  | sum |\n    | a/b   | plain | 0.5 |\n  }'],
    }
    return draw.choice(forms[word])


@pytest.mark.parametrize("part", range(4))
def test_a_table_like_another_has_the_plan_of_one_that_is_written_out(part: int, tmp_path: Path) -> None:
    for seed in SEEDS[part::4]:
        draw = Random(seed)
        more = [key for key in MORE_OF_TABLES if draw.random() < 0.3]
        first = {key: variants_of_table(key, draw) for key in (*TABLE_KEYS, *more)}
        inherited = {key: text for key, text in first.items() if key != "published"}
        changed = {key: variants_of_table(key, draw) for key in inherited if draw.random() < 0.3}
        gone = [key for key in ("digits", "points", "mark", "note") if key not in changed and draw.random() < 0.2]
        new = {key: variants_of_table(key, draw) for key in MORE_OF_TABLES if key not in inherited}
        added = {key: text for key, text in new.items() if draw.random() < 0.4}
        whole = {key: text for key, text in {**inherited, **changed, **added}.items() if key not in gone}
        lines = [*changed.values(), *(f"without {key}" for key in gone)]
        draw.shuffle(lines)
        lines += [added.pop("published")] if "published" in added else []
        lines += [f"add {{ {text} }}" for text in added.values()]
        like = 'table second en "Two" like first {\n' + "".join(f"  {line}\n" for line in lines) + "}\n"
        one, two = (
            f"table {head} {{\n" + "".join(f"  {text}\n" for text in each.values()) + "}\n"
            for head, each in (("first", first), ('second en "Two"', whole))
        )
        assert of_files(tmp_path, SOLVE + one + two) == of_files(tmp_path, SOLVE + one + like), seed


def test_published_figures_are_those_of_one_table(tmp_path: Path) -> None:
    """Another measure under the same heading would else have the published figures of the first."""
    text = """
table normal {
  rows   model, tone
  column accuracy "Won"
  published {
    | model | tone  | Won |
    | a/b   | plain | 0.5 |
  }
}
table other like normal { column 1 - accuracy "Won" }
"""
    plan = plan_of(compile_files(tmp_path, {"items.jsonl": ITEMS, "spec.tripos": HEAD + SOLVE + text}))
    assert {table.name: len(table.published) for table in plan.tables} == {"normal": 1, "other": 0}


# Rows


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    kind: str
    data: str
    which: str
    most: int

    def cells(self) -> str:
        return f'| {self.name} | "{self.title}" | "{self.kind}" | {self.data} | {self.which} | {self.most} |'


BODY = """\
scenario {name} "{title}" {{
  over {data} as item where item.kind == "{kind}" and {which}
  arms tone
  ask reply by candidate {{
    prompt "{title}, {kind}, {name}: {{{{ item.question }}}} {{{{ tone }}}} {{{{ upper(\\"{kind}\\") }}}} {most}"
    system "At most {most} words." when tone == warm
  }}
  score right = contains(reply.text, "{kind}") and words(reply.text) < {most}
  measure rate = mean(right) by tone
}}
measure of_{name} = {name}.rate[tone: plain]
"""
REPEATED = """\
for each task in tasks {
  scenario task.name task.title {
    over task.data as item where item.kind == task.kind and task.which
    arms tone
    ask reply by candidate {
      prompt "{{ task.title }}, {{ task.kind }}, {{task.name}}: {{ item.question }} {{ tone }} {{ upper(task.kind) }} {{ task.most }}"
      system "At most {{ task.most }} words." when tone == warm
    }
    score right = contains(reply.text, task.kind) and words(reply.text) < task.most
    measure rate = mean(right) by tone
  }
  measure "of_{{ task.name }}" = task.name.rate[tone: plain]
}
"""
LIKE_EACH = """\
for each task in tasks {
  scenario "again_{{ task.name }}" like task.name { without measure rate }
}
"""


def rows(draw: Random) -> list[Row]:
    names = draw.sample(("one", "two", "three", "four", "f5"), draw.randint(1, 4))
    which = ("length(item.question) > 1", "true", 'item.question != "x"')
    return [
        Row(
            name,
            draw.choice(TITLES),
            draw.choice(KINDS),
            draw.choice(("items", "others")),
            draw.choice(which),
            draw.randint(1, 99),
        )
        for name in names
    ]


def table(drawn: list[Row]) -> str:
    lines = "".join(f"  {row.cells()}\n" for row in drawn)
    return f"rows tasks {{\n  | name | title | kind | data | which | most |\n{lines}}}\n"


@pytest.mark.parametrize("part", range(4))
def test_declarations_for_each_row_have_the_plan_of_those_that_are_written_out(part: int, tmp_path: Path) -> None:
    for seed in SEEDS[part::4]:
        draw = Random(seed)
        drawn = rows(draw)
        by_hand = [BODY.format(**vars(row)) for row in drawn]
        text, written = table(drawn) + REPEATED, "".join(by_hand)
        if draw.random() < 0.5:
            text += LIKE_EACH
            again = (re.sub(r"  measure rate.*\n|^measure .*\n", "", body, flags=re.MULTILINE) for body in by_hand)
            written += "".join(re.sub(r'scenario (\w+) ".*" \{', r"scenario again_\1 {", body) for body in again)
        assert of_files(tmp_path, text) == of_files(tmp_path, written), seed


def test_values_of_an_axis_are_rows_with_their_labels(tmp_path: Path) -> None:
    axis = 'axis stage { group early { first en "the first" }, second en "the second" }\n'
    body = 'scenario NAME en "LABEL" {\n  over items as item\n  ask reply by candidate { prompt "LABEL {{ item.question }}" }\n  score right = reply.text == "4"\n}\n'
    each = body.replace("NAME", "one.name").replace('"LABEL"', "one.en").replace("LABEL", "{{ one.en }}")
    by_hand = "".join(body.replace("NAME", name).replace("LABEL", f"the {name}") for name in ("first", "second"))
    assert of_files(tmp_path, axis + f"for each one in stage {{\n{each}}}\n") == of_files(tmp_path, axis + by_hand)


def test_an_expression_of_a_cell_stays_in_its_hole(tmp_path: Path) -> None:
    table = "rows tasks {\n  | name | shown |\n  | one | upper(item.question) |\n}\n"
    body = 'scenario one {\n  over items as item\n  ask reply by candidate { prompt "Say {{ SHOWN }}, {{ lower(SHOWN) }}." }\n  score right = reply.text == "4"\n}\n'
    each = body.replace("SHOWN", "task.shown").replace("scenario one", "scenario task.name")
    by_hand = body.replace("SHOWN", "upper(item.question)")
    assert of_files(tmp_path, f"{table}for each task in tasks {{\n{each}}}\n") == of_files(tmp_path, by_hand)


CELLS = (
    "3", "-3", "1 + 2", "7 - 2 - 1", "2 * 3", "1 + 2 * 3", "(1 + 2)", "abs(-2)", "words(item.question)",
    "max(1, 2) - 1",
)  # fmt: skip
OPERATORS = ("+", "-", "*", "/")


def test_a_cell_is_one_operand_of_the_expression_around_it(tmp_path: Path) -> None:
    body = 'scenario one {\n  over items as item\n  ask reply by candidate { prompt "Say {{ HOLE }}." }\n  score right = reply.text == "4"\n}\n'
    for seed in range(sized(20, 600)):
        draw = Random(seed)
        cells = {name: draw.choice(CELLS) for name in ("first", "second")}
        hole = "2 OP task.first OP task.second OP 5"
        while "OP" in hole:
            hole = hole.replace("OP", draw.choice(OPERATORS), 1)
        table = f"rows tasks {{\n  | name | first | second |\n  | one | {cells['first']} | {cells['second']} |\n}}\n"
        grouped = re.sub(r"task\.(\w+)", r"({\1})", hole).format(**cells)
        by_hand = body.replace("HOLE", grouped)
        each = body.replace("HOLE", hole).replace("scenario one", "scenario task.name")
        assert of_files(tmp_path, f"{table}for each task in tasks {{\n{each}}}\n") == of_files(tmp_path, by_hand), seed


def test_a_release_is_written_out_before_parts_of_it_are_taken(tmp_path: Path) -> None:
    released = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
rows kinds {
  | name |
  | easy |
  | calm |
}
dataset items from "items.jsonl" { question text, answer text secret }
for each kind in kinds {
  scenario kind.name {
    over items as item
    ask reply by candidate { prompt "{{ kind.name }} {{ item.question }}" }
    score right = contains(reply.text, item.answer)
  }
}
scenario hard like easy {
  add { score long = words(reply.text) > 9 }
}
"""
    own = """\
benchmark more "1.0.0" { languages en }
use release "sums@1" { take scenarios hard }
scenario mine like hard {
  without score long
}
"""
    folder = "releases/sums-1.0.0/spec"
    files = {f"{folder}/sums.tripos": released, f"{folder}/items.jsonl": ITEMS, "spec.tripos": own}
    plan = plan_of(compile_files(tmp_path, files))
    steps = {each.name: [step.name for step in each.treatments[0].steps] for each in plan.scenarios}
    assert steps == {"mine": ["reply", "right"], "hard": ["reply", "right", "long"]}


# Mistakes


MISTAKES = (
    ("contains(reply.text, said)", "contains(reply.txt, said)", "txt"),
    ("words(reply.text)", "wrds(reply.text)", "wrds"),
    ("item.question", "item.qestion", "qestion"),
    ("over items", "over itms", "itms"),
    ("mean(", "meen(", "meen"),
    ("{{ tone }}", "{{ tne }}", "tne"),
    ("task.kind", "task.knd", "knd"),
    ("| items |", "| itms |", "itms"),
    ("without measure first", "without measure frst", "frst"),
    ("like plain", "like plan", "plan"),
    ("by tone", "by tne", "tne"),
)


def drawn_spec(draw: Random) -> str:
    first = base(draw)
    second, like_second = derived(first, "second", draw)
    _, like_third = derived(second, "third", draw)
    return HEAD + first.text() + like_second + like_third + table(rows(draw)) + REPEATED + LIKE_EACH


@pytest.mark.parametrize("part", range(4))
def test_a_mistake_is_reported_where_it_is_written(part: int, tmp_path: Path) -> None:
    for seed in SEEDS[part::4]:
        draw = Random(seed)
        text = drawn_spec(draw)
        right, wrong, word = draw.choice([each for each in MISTAKES if each[0] in text])
        places = [match.start() for match in re.finditer(re.escape(right), text)]
        place = draw.choice(places)
        text = text[:place] + wrong + text[place + len(right) :]
        compilation = compile_files(tmp_path, {"items.jsonl": ITEMS, "spec.tripos": text})
        reported = [item for item in compilation.diagnostics if item.severity == "error"]
        spans = [label.span for item in compilation.diagnostics for label in item.labels]
        assert not any(isinstance(span.anchor, CopiedText) for span in spans), seed
        line = text.count("\n", 0, place + wrong.index(word)) + 1
        lines = {item.labels[0].span.source.position(item.labels[0].span.start)[0] for item in reported}
        assert line in lines, (seed, wrong, [item.message for item in reported])
        places_told = [(item.code, item.labels[0].span) for item in reported]
        assert len(places_told) == len(set(places_told)), seed


@pytest.mark.parametrize(
    ("text", "message", "help_"),
    [
        (
            "scenario sums_a like sums_b { over items as item }",
            "there is no scenario `sums_b`",
            "there is `dataset_of_sums`",
        ),
        (
            "scenario a like dataset_of_sum { over items as item }",
            "there is no scenario `dataset_of_sum`",
            "did you mean `dataset_of_sums`?",
        ),
        (
            "scenario a like dataset_of_sums { score rigth = true }",
            "scenario `dataset_of_sums` has no `score rigth` that this could replace",
            "did you mean `score right`? A new statement goes into `add { … }`",
        ),
        (
            "scenario a like dataset_of_sums { context stage }",
            "scenario `dataset_of_sums` has no `context` that this could replace",
            "it has `ask reply`, `over`, `score right`; a new statement goes into `add { … }`",
        ),
        ("dataset c like datasets { count 2 }", "there is no data set `datasets`", "there is `items`, `others`"),
        (
            "dataset c { add { count 2 } }",
            "`add` changes what is inherited, and this data set is like no other",
            "write `dataset c like … { … }`, or remove it",
        ),
    ],
)
def test_a_message_about_like_names_what_the_author_wrote(text: str, message: str, help_: str, tmp_path: Path) -> None:
    scenario = """
scenario dataset_of_sums {
  over items as item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, "4")
}
"""
    compiled = compile_files(tmp_path, {"items.jsonl": ITEMS, "spec.tripos": HEAD + scenario + text})
    assert (message, help_) in [(item.message, item.help) for item in compiled.diagnostics]


def test_a_mistake_of_one_copy_names_it_and_one_of_all_names_none(tmp_path: Path) -> None:
    text = table([Row("one", "t", "sum", "items", "true", 1), Row("two", "t", "sum", "bare", "true", 1)]) + REPEATED
    bare = 'dataset bare from "items.jsonl" { question text }\n'
    one = compile_files(tmp_path, {"items.jsonl": ITEMS, "spec.tripos": HEAD + bare + text}).diagnostics
    [error] = [item for item in one if item.severity == "error"]
    assert [label.text for label in error.labels[1:]] == ["in the repetition for this row"]
    assert error.labels[1].span.source.text[error.labels[1].span.start :].startswith("two")
    wrong = text.replace("reply.text", "reply.txt").replace("bare", "items")
    both = compile_files(tmp_path, {"items.jsonl": ITEMS, "spec.tripos": HEAD + wrong}).diagnostics
    errors = [item for item in both if item.severity == "error"]
    assert {len(item.labels) for item in errors} == {1}


# Editors


def test_copies_are_one_place_in_the_index(tmp_path: Path) -> None:
    draw = Random(1)
    text = drawn_spec(draw)
    (tmp_path / "items.jsonl").write_text(ITEMS, "utf-8")
    (tmp_path / "spec.tripos").write_text(text, "utf-8")
    index = compile_file(tmp_path / "spec.tripos").index
    assert not any(isinstance(span.anchor, CopiedText) for span in (*index.symbols, *index.uses, *index.types))
    declared = {use.symbol for use in index.uses.values()} - index.symbols.keys()
    assert {span.source.text[span.start : span.end] for span in declared} <= {"item"}


def test_a_memory_gives_the_plan_and_the_messages_of_a_first_compilation(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(ITEMS, "utf-8")
    memory, path = Memory(), (tmp_path / "spec.tripos").as_posix()
    reader = DataFolders(())
    for seed in SEEDS[: sized(12, 300)]:
        draw = Random(seed)
        text = drawn_spec(Random(seed // 4))
        right, wrong, _ = draw.choice([each for each in MISTAKES if each[0] in text])
        text = text.replace(right, wrong, 1) if seed % 2 else text
        fresh = compile_spec(path, lambda _, text=text: text, reader)
        again = compile_spec(path, lambda _, text=text: text, reader, memory)
        assert again.plan == fresh.plan, seed
        shown = [
            [(item.code, item.message, [(label.span.start, label.text) for label in item.labels]) for item in each]
            for each in (fresh.diagnostics, again.diagnostics)
        ]
        assert shown[0] == shown[1], seed
