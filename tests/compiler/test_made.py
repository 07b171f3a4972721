"""Made data sets: their rows and calls before any is made, what stays secret in them, and what they are known by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from compiling import compile_files, plan_of

from tests.conftest import SHARED_DATA
from tests.lengths import spread
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.plan import Data, GeneratedDataset, Plan, Ref, Walk
from tripos_runtime.datasets.data_files import DataFolders

DESIGN = SHARED_DATA.parent / "design" / "examples"
OWN = Path(__file__).parents[1] / "data" / "design"
OPENED = {
    "from distinct(question.concepts, dev.concepts)": (
        "from reveal(distinct(question.concepts, dev.concepts), rows: 1000)"
    ),
    "题目：{{ q.stem }}\\n以下": "题目：{{ reveal(q.stem) }}\\n以下",
}
"""Where the examples of the design show a secret without saying so."""

SPEC = """\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role author
role tagger
tree syllabus from "syllabus.json"
axis stage {{ first, second }}
axis level {{
  basic "basic"
  exam  "exam"
  group late when stage == second {{ thesis "thesis" }}
}}
dataset raw from "raw.jsonl" {{ stem text, level, mark integer secret }}
{made}
scenario answering {{
  over item
  ask answer by candidate {{ prompt "Do it." }}
  score right = contains(answer.text, "4")
}}
"""
RAW = "\n".join(
    f'{{"stem": "{stem}", "level": "{level}", "mark": {mark}}}'
    for stem, level, mark in (("one", "basic", 1), ("two", "exam", 2), ("three", "exam", 3))
)
FILES = {
    "raw.jsonl": RAW,
    "syllabus.json": '{"Algebra": {"Sets": ["Subsets", "Unions"], "Groups": null}, "Logic": null}',
}
WRITTEN = """\
dataset item by author {
  context stage * level
  count 2
  prompt "Write a {{ level }} question for the {{ stage }} year."
  returns { question text, answer text secret }
  require item.question != item.answer
  unique item.question
  retries 4
}
"""


def compiled(folder: Path, made: str, **files: str) -> Compilation:
    return compile_files(folder, {"spec.tripos": SPEC.format(made=made), **FILES, **files})


def planned(folder: Path, made: str, **files: str) -> Plan:
    return plan_of(compiled(folder, made, **files))


def item_of(folder: Path, made: str, **files: str) -> GeneratedDataset:
    return next(each for each in planned(folder, made, **files).made if each.name == "item")


def calls_of(plan: Plan, made: str) -> Iterator[tuple[str, str, int, int, int]]:
    for count in plan.calls:
        if count.scenario == made:
            yield count.step, count.role, count.least, count.calls, count.most


# --- rows and calls ----------------------------------------------------------------------------------


def test_rows_are_written_in_every_allowed_cell(tmp_path: Path) -> None:
    plan = planned(tmp_path, WRITTEN)
    assert plan.made[0].rows == (2 + 3) * 2
    assert list(calls_of(plan, "item")) == [("prompt", "author", 10, 10, 50)]


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        ("dataset item from raw { }", 3),
        ("dataset item from raw where raw.mark > 1 { }", 2),
        ('dataset item from raw as r where r.stem in ("one", "two") { context stage }', 4),
        ("dataset item from raw as r where r.mark > 1 or stage == first { context stage }", 5),
        ("dataset item from leaves(syllabus) as point { }", 4),
        ("dataset item from distinct(raw.level) as at { }", 2),
        ("dataset item from leaves(syllabus) as point where depth(point) > 2 { context stage }", 4),
        ("dataset half from raw where raw.mark > 1 { }\ndataset item from half { context stage }", 4),
        ("dataset half from raw where raw.mark > 1 { }\ndataset item from distinct(half.stem) as s { }", 2),
    ],
)
def test_rows_of_a_source_are_counted_where_its_condition_holds(tmp_path: Path, made: str, rows: int) -> None:
    assert item_of(tmp_path, made).rows == rows


def test_a_condition_without_a_value_is_found_with_its_row(tmp_path: Path) -> None:
    found = compiled(tmp_path, "dataset item from raw where 1 / (raw.mark - 2) > 0 { }").diagnostics
    assert [(item.code, item.message.split(":")[0]) for item in found] == [("E0301", "row 2 of the source")]


def test_a_walk_costs_a_path_as_a_rule_the_root_at_least_and_every_branch_at_most(tmp_path: Path) -> None:
    made = """\
dataset item from raw {
  walk points through syllabus by tagger { prompt "{{ raw.stem }}: {{ branches }}" }
  retries 1
}"""
    plan = planned(tmp_path, made)
    assert list(calls_of(plan, "item")) == [("points", "tagger", 3, 3 * 3, 3 * 3 * 2)]
    walk = plan.made[0].steps[0]
    assert isinstance(walk, Walk)
    assert (walk.name, walk.tree, walk.ask.role) == ("points", "syllabus", "tagger")


def test_there_may_be_no_rows_to_look_at_where_those_of_the_source_may_be_refused(tmp_path: Path) -> None:
    later = """\
dataset item from first {
  verify by tagger { prompt "{{ first.question }}", returns { good bool }, require good }
  verify by author { prompt "{{ first.question }}", returns { fine bool }, require fine }
}"""
    plan = planned(tmp_path, WRITTEN.replace("item", "first") + later)
    assert list(calls_of(plan, "item")) == [("verify", "tagger", 0, 10, 40), ("verify_2", "author", 0, 10, 40)]


@pytest.mark.parametrize(
    ("shown", "least"),
    [
        ("numbered([raw.stem, raw.level])", 3),
        ('numbered([raw.stem], "({}) ")', 3),
        ("numbered([raw.stem], raw.stem)", 0),
        ("lettered([raw.stem, raw.level])", 3),
        ('lettered([raw.stem], "I II", raw.stem)', 0),
        ("""default(after(raw.stem, "o"), "")""", 3),
        ('replace(raw.stem, "o", "e")', 3),
        ('replace(raw.stem, raw.stem, "e")', 0),
        ("first([raw.stem, raw.level])", 3),
        ('first(split(raw.stem, " "))', 3),
        ('nth(split(raw.stem, " "), 1)', 0),
        ("round(1 / raw.mark, 1)", 0),
    ],
)
def test_who_is_asked_for_a_row_is_asked_wherever_the_prompt_has_a_value(
    tmp_path: Path, shown: str, least: int
) -> None:
    made = f'''\
dataset item from raw {{
  verify by tagger {{
    prompt """
      {{{{ reveal({shown}) }}}}
      """
    returns {{ good bool }}
    require good
  }}
}}'''
    plan = planned(tmp_path, made)
    assert [call[2] for call in calls_of(plan, "item")] == [least]


def test_who_is_not_asked_is_not_tried_again(tmp_path: Path) -> None:
    assert item_of(tmp_path, "dataset item from raw { require item.mark > 1 }").retries == 0
    assert item_of(tmp_path, WRITTEN.replace("  retries 4\n", "")).retries == 3


# --- what the rows hold ------------------------------------------------------------------------------


def test_axes_come_first_then_what_is_carried_over_then_what_is_new(tmp_path: Path) -> None:
    made = """\
dataset item by author from raw {
  context stage
  prompt "Easier than {{ raw.stem }}, {{ stage }}."
  returns { question text }
  let long = words(item.question) > 20
}"""
    fields = item_of(tmp_path, made).fields
    assert [(field.name, field.type.kind, field.secret) for field in fields] == [
        ("stage", "choice", False),
        ("stem", "text", False),
        ("level", "choice", False),
        ("mark", "integer", True),
        ("question", "text", False),
        ("long", "bool", False),
    ]


def test_what_is_written_or_computed_knowing_a_secret_is_secret(tmp_path: Path) -> None:
    made = """\
dataset item by author from raw {
  prompt "A question worth {{ raw.mark }} marks."
  returns { question text, answer text secret }
  let double = 2 * item.mark
  let long = words(item.question) > 9
  let at = item.level
}"""
    secret = {field.name for field in item_of(tmp_path, made).fields if field.secret}
    assert secret == {"mark", "question", "answer", "double", "long"}


def test_the_way_of_a_secret_leads_through_who_wrote_it(tmp_path: Path) -> None:
    made = """\
dataset item by author from raw {
  prompt "A question worth {{ raw.mark }} marks."
  returns { question text }
}
scenario asked {
  over item
  ask answer by candidate { prompt "{{ item.question }}" }
  score right = contains(answer.text, "4")
}"""
    (found,) = compiled(tmp_path, made).diagnostics
    assert (found.code, found.message) == ("E0501", "the secret `raw.mark` reaches the compared role `candidate`")
    assert [label.text for label in found.labels] == [
        "3. this prompt tells `candidate`",
        "1. `raw.mark` is secret",
        "2. written knowing it",
    ]


def test_paths_are_as_secret_as_what_the_walk_was_told_unless_it_is_revealed(tmp_path: Path) -> None:
    made = """\
dataset item from raw {{
  walk points through syllabus by tagger {{ prompt "{{{{ {hole} }}}}: {{{{ branches }}}}" }}
}}
"""
    plan = planned(tmp_path, made.format(hole="raw.mark"))
    assert {field.name for field in plan.made[0].fields if field.secret} == {"mark", "points"}
    plan = planned(tmp_path, made.format(hole="reveal(raw.mark)"))
    assert {field.name for field in plan.made[0].fields if field.secret} == {"mark"}
    assert [(each.scenario, each.step, each.text) for each in plan.reveals] == [("item", "points", "raw.mark")]


def test_a_key_is_an_expression_of_the_row_alone(tmp_path: Path) -> None:
    for key in ("item.stem", "stem", "raw.stem"):
        assert item_of(tmp_path, f"dataset item from raw {{ key {key} }}").key == Ref(path=("stem",))


def test_inside_a_scenario_rows_are_written_in_the_cells_of_its_context(tmp_path: Path) -> None:
    own = WRITTEN.replace("  context stage * level\n", "")
    made = f"""\
dataset item from raw {{ }}
scenario local {{
  context stage * level
  {own}
  ask answer by candidate {{ prompt "{{{{ item.question }}}}" }}
  score right = contains(answer.text, item.answer)
}}"""
    plan = planned(tmp_path, made)
    local = plan.made[1]
    assert (local.name, local.scenario, local.axes, local.rows) == (
        "local.item",
        "local",
        ("language", "stage", "level"),
        10,
    )
    assert [each.name for each in plan.datasets] == ["raw"]
    assert plan.scenarios[0].rows is not None
    assert (plan.scenarios[0].rows.dataset, plan.scenarios[0].row_count) == ("local.item", 10)


def test_a_data_set_is_lowered_after_those_that_it_is_made_from_wherever_they_stand(tmp_path: Path) -> None:
    made = """\
dataset item from middle as m { let other = length(distinct(last.stem)) + length(m.stem) }
dataset middle from last { }
dataset last from raw { }"""
    plan = planned(tmp_path, made)
    assert [each.name for each in plan.made] == ["last", "middle", "item"]
    assert plan.made[2].source == Data(dataset="middle")


# --- fingerprints ------------------------------------------------------------------------------------


def print_of(folder: Path, made: str, **files: str) -> str:
    return item_of(folder, made, **files).fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Write a", '# by hand\n  prompt "Write a'),
        ("retries 4", "retries 4\n  key item.question"),
        ("answer text secret", "answer text"),
    ],
    ids=["comment", "key", "secrecy"],
)
def test_what_does_not_determine_the_rows_costs_nothing_to_change(tmp_path: Path, old: str, new: str) -> None:
    changed = WRITTEN.replace('prompt "' + old if old == "Write a" else old, new)
    assert changed != WRITTEN
    assert print_of(tmp_path, changed) == print_of(tmp_path, WRITTEN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Write a", "Write one"),
        ("count 2", "count 3"),
        ("retries 4", "retries 5"),
        ("question text", "question choice(A, B)"),
        ("unique item.question", "unique item.answer"),
        ("!=", "=="),
        ("by author", "by tagger"),
        ("  unique item.question\n", ""),
        ("retries 4", "retries 4\n  temperature 0"),
        ("retries 4", "retries 4\n  let n = words(item.question)"),
    ],
)
def test_what_determines_the_rows_is_in_their_name(tmp_path: Path, old: str, new: str) -> None:
    changed = WRITTEN.replace(old, new)
    assert changed != WRITTEN
    assert print_of(tmp_path, changed) != print_of(tmp_path, WRITTEN)


def test_labels_that_are_printed_and_guards_are_in_the_name_of_the_rows(tmp_path: Path) -> None:
    base = print_of(tmp_path, WRITTEN)
    for old, new in (('exam  "exam"', 'exam  "finals"'), ("when stage == second", "when stage == first")):
        spec = SPEC.format(made=WRITTEN)
        assert old in spec
        plan = plan_of(compile_files(tmp_path, {"spec.tripos": spec.replace(old, new), **FILES}))
        assert plan.made[0].fingerprint != base


def test_a_change_of_a_source_is_a_change_of_all_that_is_made_from_it(tmp_path: Path) -> None:
    made = """\
dataset half from raw where raw.mark > 1 { }
dataset item from half {
  walk points through syllabus by tagger { prompt "{{ half.stem }}: {{ branches }}" }
}"""
    base = print_of(tmp_path, made)
    assert print_of(tmp_path, made) == base
    assert print_of(tmp_path, made.replace("> 1", "> 0")) != base
    assert print_of(tmp_path, made, **{"raw.jsonl": RAW.replace("three", "four")}) != base
    assert print_of(tmp_path, made, **{"syllabus.json": '["Sets"]'}) != base


# --- for editors -------------------------------------------------------------------------------------


def test_fields_are_known_to_editors_and_lead_back_to_where_they_are_declared(tmp_path: Path) -> None:
    compilation = compiled(tmp_path, "dataset item from raw { let double = 2 * item.mark }")
    index = compilation.index
    symbols = {(symbol.kind, symbol.name): symbol for symbol in index.symbols.values()}
    assert symbols["field", "mark"].owner == "dataset raw"
    assert (symbols["let", "double"].owner, symbols["let", "double"].detail) == ("dataset item", "integer")
    text = compilation.sources[0].text
    used = {
        text[use.span.start : use.span.end]
        for use in index.uses.values()
        if use.symbol == symbols["field", "mark"].span
    }
    assert "mark" in used


@pytest.mark.skipif(not DESIGN.is_dir(), reason="the design is not here")
@pytest.mark.parametrize(
    ("name", "warnings"),
    spread(
        [("cjeval", ["W1001"]), ("edubench", ["W0620"]), ("mathtutorbench", ["W0309", "W1004"]), ("teachbench", [])], 2
    ),
)
def test_the_examples_of_the_design_compile_with_their_real_data(name: str, warnings: list[str]) -> None:
    reader = DataFolders((SHARED_DATA, OWN))

    def read(path: str) -> str:
        text = Path(path).read_text("utf-8")
        for shut, opened in OPENED.items():
            text = text.replace(shut, opened)
        return text

    compilation = compile_spec(str(DESIGN / f"{name}.tripos"), read, reader)
    assert [item.code for item in compilation.diagnostics] == warnings
    assert compilation.plan is not None


COMPARED = """\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role author
tree syllabus from "syllabus.json"
dataset raw from "raw.jsonl" {{ stem text secret }}
dataset item by author from leaves(syllabus) as point {{
  prompt "Write an exercise on {{{{ point }}}}.{told}"
  returns {{ question text }}
  {distinct}
}}
scenario sums {{
  over item
  ask reply by candidate {{ prompt "{{{{ item.question }}}}" }}
  score long = words(reply.text) > 5
}}
"""


@pytest.mark.parametrize(
    ("told", "distinct", "codes"),
    [
        # The run compares them, so what is written tells nothing of them; a prompt that shows them is another matter.
        ("", "distinct item.question from raw.stem", []),
        ("\\nUnlike these:\\n{{ bullets(raw.stem) }}", "", ["E0501"]),
    ],
)
def test_rows_are_compared_with_secret_texts_without_knowing_them(
    tmp_path: Path, told: str, distinct: str, codes: list[str]
) -> None:
    spec = COMPARED.format(told=told, distinct=distinct)
    found = compile_files(tmp_path, {**FILES, "spec.tripos": spec}).diagnostics
    assert [item.code for item in found] == codes


def test_of_many_values_without_a_branch_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    for values, named in (("a, b, c", "`a`, `b`, `c`"), ("a, b, c, d, e", "`a`, `b`, `c` and 2 more")):
        spec = f"""
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role tagger
axis subject {{ {values} }}
tree syllabus from "syllabus.json"
dataset raw from "rows.jsonl" {{ stem text, subject }}
dataset item from raw as r {{
  walk points through syllabus below r.subject by tagger {{ prompt "{{{{ r.stem }}}} {{{{ branches }}}}" }}
}}
"""
        row = '{"stem": "?", "subject": "a"}\n'
        found = compile_files(tmp_path, {"spec.tripos": spec, "syllabus.json": '{"x": ["y"]}', "rows.jsonl": row})
        assert f"`syllabus` has no branch for {named}" in [item.message for item in found.diagnostics]
