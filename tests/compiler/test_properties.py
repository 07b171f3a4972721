"""Properties of every text: compiling never raises, is deterministic, and keeps names for what has not changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from compiling import EDUBENCH, ROOT, compile_file, compile_files, plan_of, read
from examining import KeptData, compile_kept, examine, examine_format
from hypothesis import HealthCheck, given, settings, strategies as st
from mutants import Spec, case_specs, mutant, scraps, shipped_specs
from slips import SLIPS, Slip

from tests.lengths import sized
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.diagnostics.renderers import render_text, to_data
from tripos_compiler.plan import Plan
from tripos_compiler.source.inputs import ResolvedFile
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse
from tripos_runtime.datasets.data_files import DataFolders

SPECS = {path.name: path.read_text("utf-8") for path in sorted(EDUBENCH.glob("*.tripos"))}
SHARED = {
    f"../common/{path.name}": path.read_text("utf-8") for path in sorted((ROOT / "specs/common").glob("*.tripos"))
}
KEYWORDS = sorted({construct.starts_with for construct in CONSTRUCTS} - {""})
SIGNS = ['"', '"""', "{", "}", "(", ")", "[", "]", "{{", "}}", "|", ",", "=", "==", "..", ".", "?", "<", ">", "->", ":"]
WORDS = ["by", "from", "as", "where", "when", "in", "not", "and", "or", "x", "s", "en", "zh", "language", "metrics"]
SCRAPS = [
    "1",
    "0",
    "-1",
    "1.5",
    "1e999",
    "9" * 30,
    "\n",
    "#",
    "\\",
    "\r",
    "\t",
    "\0",
    "“",
    "，",
    "é",
    "难度",
    "\u2028",
    "𝔘",
]
TOKENS = st.sampled_from([*KEYWORDS, *SIGNS, *WORDS, *SCRAPS])
QUICK = settings(deadline=None, max_examples=sized(30, 150), suppress_health_check=list(HealthCheck))
SHIPPED = shipped_specs()


def shown(spec: Spec) -> str:
    """Return what a spec is called in tests: the name of its folder and its own."""
    return "/".join(Path(spec.main).with_suffix("").parts[-2:])


EDUBENCH_ROW = {"language": "en", "stage": "high", "subject": "physics", "question": "{{ 1 }}", "answer": None}
SMALL_ROW = {"level": "easy", "topic": "sums", "q": "1", "n": 1, "kind": "a", "list": ["x"], "maybe": None}


@dataclass(frozen=True)
class Rows:
    """Data in memory: every source is one file of this one row."""

    row: dict[str, Any]

    def find(self, source: str, near: str) -> list[ResolvedFile]:
        return [ResolvedFile(source, source, "0" * 64, {})]

    def rows(self, file: ResolvedFile) -> Iterator[dict[str, Any]]:
        yield dict(self.row)


def compile_quietly(files: dict[str, str], main: str) -> Compilation:
    """Compile files in memory, and render whatever is said about them."""

    def read_file(path: str) -> str:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path]

    compilation = compile_spec(main, read_file, Rows(EDUBENCH_ROW))
    render_text(compilation.diagnostics, width=60)
    to_data(compilation.diagnostics)
    assert (compilation.plan is None) == any(item.severity == "error" for item in compilation.diagnostics)
    if compilation.plan is not None:
        assert Plan.model_validate_json(compilation.plan.to_json()) == compilation.plan
    return compilation


@QUICK
@given(st.text())
def test_any_text_is_parsed_and_compiled_without_an_exception(text: str) -> None:
    compile_quietly({"a.tripos": text}, "a.tripos")


@QUICK
@given(st.lists(TOKENS, max_size=60), st.sampled_from(["", " "]))
def test_any_soup_of_tokens_is_compiled_without_an_exception(tokens: list[str], between: str) -> None:
    head = 'benchmark b "1.0.0" { languages en }\nrole candidate compared\nscenario s {\n'
    soup = between.join(tokens)
    compile_quietly({"a.tripos": soup}, "a.tripos")
    compile_quietly({"a.tripos": head + soup}, "a.tripos")


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """Return the text after a few slips of a hand: something deleted, doubled, swapped or put in."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(len(text) - 1, 0)))
        end = min(len(text), start + draw(st.sampled_from([1, 1, 2, 5, 40])))
        other = draw(st.integers(0, max(len(text) - 1, 0)))
        match draw(st.sampled_from(["delete", "double", "swap", "insert", "word"])):
            case "delete":
                text = text[:start] + text[end:]
            case "double":
                text = text[:end] + text[start:end] + text[end:]
            case "swap":
                low, high = sorted((start, other))
                text = (
                    text[:low] + text[high : high + 1] + text[low + 1 : high] + text[low : low + 1] + text[high + 1 :]
                )
            case "insert":
                text = text[:start] + draw(TOKENS) + text[start:]
            case _:
                words = text.split(" ")
                first, second = start % len(words), other % len(words)
                words[first], words[second] = words[second], words[first]
                text = " ".join(words)
    return text


@pytest.mark.parametrize("spec", SHIPPED, ids=shown)
def test_what_must_hold_holds_of_a_spec_with_slips_of_a_hand(spec: Spec) -> None:
    random, data, material = Random(shown(spec)), KeptData(), scraps()
    for _ in range(sized(6, 60)):
        made = mutant(random, [spec], material)
        examine(made.files, made.spec.main, data)


def test_what_must_hold_holds_of_every_construct_with_slips_of_a_hand() -> None:
    random, data, material = Random(1), KeptData(), scraps()
    for spec in case_specs() * sized(1, 3):
        made = mutant(random, [spec], material)
        examine(made.files, made.spec.main, data)


@pytest.mark.parametrize("spec", SHIPPED, ids=shown)
def test_a_spec_with_slips_is_formatted_to_the_same_plan_or_refused(spec: Spec) -> None:
    random, data, material = Random(shown(spec)), KeptData(), scraps()
    for _ in range(sized(2, 12)):
        made = mutant(random, [spec], material)
        formatted = examine_format(made.files, made.path)
        if formatted is not None:
            before = compile_kept(made.files, spec.main, data).plan
            after = compile_kept({**made.files, made.path: formatted}, spec.main, data).plan
            assert (before is None, before and before.digest) == (after is None, after and after.digest)


@pytest.mark.parametrize("slip", sorted(set(SLIPS), key=SLIPS.index), ids=lambda slip: slip.__name__)
def test_every_slip_of_the_hand_changes_a_text_and_follows_from_its_seed(slip: Slip) -> None:
    text, material = SHIPPED[0].files[SHIPPED[0].main], scraps()
    changed = [slip(Random(seed), text, material) for seed in range(sized(8, 20))]
    assert any(each != text for each in changed)
    assert changed == [slip(Random(seed), text, material) for seed in range(sized(8, 20))]


MENDED = {
    "shots of an empty prompt in an arm": """\
benchmark b "1.0.0" { languages en }
role candidate compared
arm shots { none "none", two "two" }
dataset worked from "worked.jsonl" { question text, answer text }
scenario s {
  over worked as w
  arms shots
  ask reply by candidate {
    prompt "{{ w.question }}"
    shots 2 from worked as x when shots == two { prompt "", reply "{{ x.answer }}" }
  }
  score right = contains(reply.text, "1")
}
""",
    "a version of two lines": 'benchmark b "\\n" { languages en }',
    "a line break in three quotes": 'benchmark b """1\n2""" { languages en }',
    "an end of a conversation that has no speakers": """\
benchmark b "1.0.0" { languages en }
role a compared
scenario s { converse talk { until a says "done", limit 3 turns } }
""",
    "a value of no scenario": """\
benchmark b "1.0.0" { languages en }
role a compared
export best {
  best of a by m per scenario
  rows answer
  where scenario in (s)
}
""",
}
"""What was wrong once, as small as it could be made."""


@pytest.mark.parametrize("text", MENDED.values(), ids=MENDED.keys())
def test_what_must_hold_holds_of_what_was_mended(text: str, tmp_path: Path) -> None:
    (tmp_path / "worked.jsonl").write_text('{"question": "1 + 1?", "answer": "2"}\n', "utf-8")
    main = (tmp_path / "spec.tripos").as_posix()
    examine({main: text}, main, KeptData())


SMALL = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy "easy", hard "hard" }
axis topic { group g "g" when level in (easy, hard) { sums "sums" } }
dimension quality "Quality" { metric CLAR "Clarity" { scale 1..5, asks "?", level 3..5 "a", level 1..2 "b" } }
scorer rubric(response: text) by judge { prompt "{{ metrics }} {{ response }}", gives allocated metrics }
scorer fine(a: text, b: list<text>) by judge { system "s", prompt "{{ a }}{{ b }}", gives bool, stop "x" }
allocate rubric {
  | | CLAR |
  | s | x |
}
scenario s "S" {
  context level * topic
  over items as item where item.n > -1 and item.kind != b
  ask answer by candidate when level == easy {
    prompt "{{ level }} {{ topic }} {{ item.question }} {{ default(item.maybe, 3) }}"
    returns { value integer, reasons list<text>, more list<{ a text? }> }, samples 2, temperature 0.5, max_tokens 9
  }
  let n = answer.value + 1 * 2
  score right = same_number(n, last_number(item.question)) and not (n in (1, 2)) when level in (easy)
  score ok = fine(answer.text, b: answer.reasons)
  score rubric(answer.text)
}
dataset items from "i.jsonl" { level, topic, question text from "q" or "question", n number, kind choice(a, b)
  maybe integer?, list list<text> secret }
measure all = mean(rubric) by scenario, metric
measure one = mean(all)
measure two = mean(s.right) by level
"""


@settings(deadline=None, max_examples=sized(30, 200), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_mutated_small_spec_is_compiled_without_an_exception(data: st.DataObject) -> None:
    rows = Rows(SMALL_ROW)
    text = data.draw(mutated(SMALL))
    compilation = compile_spec("a.tripos", lambda _: text, rows)
    render_text(compilation.diagnostics, width=60)
    if compilation.plan is not None:
        assert Plan.model_validate_json(compilation.plan.to_json()) == compilation.plan


@QUICK
@given(st.integers(1, 400), st.sampled_from(["(", "not ", "- ", "1 + ", "f(", "[", "a {", "list<", "{{", "x.", "a "]))
def test_deep_nesting_is_reported_and_never_overflows(depth: int, opener: str) -> None:
    parse(Source("a.tripos", f"let n = {opener * depth}1"), Diagnostics())
    compile_quietly({"a.tripos": f'scenario s {{ ask a by b {{ prompt "{{{{ {opener * depth}1 }}}}" }} }}'}, "a.tripos")


@pytest.fixture(scope="module")
def edubench() -> Compilation:
    return compile_file(EDUBENCH / "edubench.tripos")


def test_edubench_compiles_without_a_warning(edubench: Compilation) -> None:
    assert edubench.diagnostics == ()


def test_compiling_twice_gives_the_same_plan_byte_for_byte(edubench: Compilation) -> None:
    again = compile_file(EDUBENCH / "edubench.tripos")
    assert plan_of(again).to_json() == plan_of(edubench).to_json()


def test_a_plan_is_the_same_after_a_round_trip_through_json(edubench: Compilation) -> None:
    plan = plan_of(edubench)
    again = Plan.model_validate_json(plan.to_json())
    assert again == plan
    assert again.digest == plan.digest


@pytest.mark.parametrize("name", sorted(SPECS))
def test_diagnostics_are_the_same_whenever_a_broken_spec_is_compiled(name: str) -> None:
    broken = SPECS[name].replace("text", "txet", 3).replace("{", "(", 1)
    first = compile_quietly({**SPECS, **SHARED, name: broken}, name)
    second = compile_quietly({**SPECS, **SHARED, name: broken}, name)
    assert to_data(first.diagnostics) == to_data(second.diagnostics)


def fingerprints(plan: Plan) -> dict[tuple[str, str], str]:
    return {
        (scenario.name, step.name): step.fingerprint
        for scenario in plan.scenarios
        for step in scenario.steps
        if step.step != "let"
    }


def reformatted(text: str, seed: int) -> str:
    """Return the text with comments after its lines and other spaces between its words, outside of long strings."""
    choose = Random(seed)
    lines: list[str] = []
    for number, block in enumerate(text.split('"""')):
        if number % 2:
            lines.append(block)
            continue
        spaced = []
        for line in block.split("\n"):
            indent = " " * choose.randrange(8)
            spaced.append(indent + line.strip(" ") + choose.choice(["", "  "]))
        lines.append("\n".join(spaced))
    opened = '"""'.join(lines)
    commented = [
        line + choose.choice(["", "  # a remark", "\n# a line of its own\n"]) if '"""' not in text else line
        for line in opened.split("\n")
    ]
    return "\n".join(commented)


@settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10_000))
def test_comments_and_spaces_change_no_fingerprint_and_no_digest(seed: int) -> None:
    rows = Rows(SMALL_ROW)
    texts = (SMALL, reformatted(SMALL, seed))
    plans = [plan_of(compile_spec("a.tripos", lambda _, text=text: text, rows)) for text in texts]
    assert fingerprints(plans[0]) == fingerprints(plans[1])
    assert plans[0].digest == plans[1].digest


def test_reformatting_edubench_changes_no_fingerprint(edubench: Compilation, tmp_path: Path) -> None:
    files = {Path(name).name: reformatted(text, 7) for name, text in (SPECS | SHARED).items()}
    again = compile_spec(
        (EDUBENCH / "edubench.tripos").as_posix(), lambda path: files[Path(path).name], DataFolders((EDUBENCH,))
    )
    assert plan_of(again).digest == plan_of(edubench).digest


def test_renaming_a_data_file_changes_no_fingerprint(tmp_path: Path) -> None:
    files = {name: text.replace('"items/grading.jsonl"', '"marked.jsonl"') for name, text in (SPECS | SHARED).items()}
    items = {f"items/{path.name}": read(str(path)) for path in sorted((EDUBENCH / "items").glob("*.jsonl"))}
    files |= {name if name != "items/grading.jsonl" else "marked.jsonl": text for name, text in items.items()}
    renamed = plan_of(compile_files(tmp_path / "edubench", files, "shipped.tripos"))
    shipped = plan_of(compile_file(EDUBENCH / "shipped.tripos"))
    assert fingerprints(renamed) == fingerprints(shipped)
    assert renamed.digest != shipped.digest


CHANGES = [
    ("{{ level }}", "level {{ level }}", {"answer"}),
    ('easy "easy"', 'easy "simple"', {"answer"}),
    ("temperature 0.5", "temperature 0.7", {"answer"}),
    ("samples 2", "samples 3", {"ok", "right", "rubric"}),
    ("answer.value + 1", "answer.value + 2", {"right"}),
    ('prompt "{{ a }}{{ b }}"', 'prompt "{{ b }}{{ a }}"', {"ok"}),
    ('level 3..5 "a"', 'level 3..5 "c"', {"rubric"}),
    ("n in (1, 2)", "n in (1, 3)", {"right"}),
    ('scenario s "S"', 'scenario s "T"', set()),
]


@pytest.mark.parametrize(("old", "new", "changed"), CHANGES)
def test_a_change_renames_what_it_changes_and_what_is_made_from_it(old: str, new: str, changed: set[str]) -> None:
    rows = Rows(SMALL_ROW)
    assert old in SMALL
    texts = (SMALL, SMALL.replace(old, new))
    before, after = (fingerprints(plan_of(compile_spec("a.tripos", lambda _, t=text: t, rows))) for text in texts)
    different = {name for (_, name), value in before.items() if after[("s", name)] != value}
    below = {"answer": {"answer", "right", "ok", "rubric"}}
    assert different == set().union(*(below.get(name, {name}) for name in changed))
