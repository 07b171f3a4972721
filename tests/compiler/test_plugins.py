"""Python functions in specs: what the compiler reads of them, and that it executes none."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import compile_file, compile_files, compile_text, plan_of, read
from hypothesis import given, settings, strategies as st

from tests.each import each
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.library.types import type_notation
from tripos_compiler.plan import Grade, Plan, Plugin, Score
from tripos_compiler.resolve.incremental import Memory
from tripos_compiler.resolve.python_functions import Unusable, parse_python, plugin_version
from tripos_compiler.source.text import Source
from tripos_runtime.datasets.data_files import DataFolders

HEAD = 'benchmark demo "1.0.0" { languages en }\nrole candidate compared\n'
BODY = """
scenario sums {
  ask answer by candidate { prompt "What is 6 * 7?" }
  score VALUE
}
"""


def spec(declaration: str, score: str) -> str:
    return f"{HEAD}{declaration}{BODY.replace('VALUE', score)}"


def plugin_of(compilation: Compilation) -> Plugin:
    (plugin,) = plan_of(compilation).plugins
    return plugin


def score_of(plan: Plan, name: str = "right") -> Score:
    (score,) = [step for step in plan.scenarios[0].steps if isinstance(step, Score) and step.name == name]
    return score


NEAR = "def near(text: str) -> bool:\n    return True\n"


def test_a_file_is_read_and_not_executed(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    text = f"open({str(marker)!r}, 'w').close()\nraise SystemExit\n{NEAR}"
    files = {"spec.tripos": spec('function near from "mine.py:near"', "right = near(answer.text)"), "mine.py": text}
    plugin = plugin_of(compile_files(tmp_path, files))
    assert plugin.version == plugin_version(text)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("main", "part", "written", "planned"),
    [
        ("spec.tripos", "spec.tripos", "mine.py", "mine.py"),
        ("spec.tripos", "spec.tripos", "./a/../mine.py", "mine.py"),
        ("spec.tripos", "parts/tools.tripos", "mine.py", "parts/mine.py"),
        ("spec.tripos", "parts/tools.tripos", "../mine.py", "mine.py"),
        ("deep/spec.tripos", "deep/spec.tripos", "../mine.py", "../mine.py"),
        ("deep/spec.tripos", "tools.tripos", "mine.py", "../mine.py"),
    ],
)
def test_the_plan_names_a_file_as_seen_from_the_main_file(
    tmp_path: Path, main: str, part: str, written: str, planned: str
) -> None:
    declaration = f'function near from "{written}:near"\n'
    use = ""
    files = {str(Path(part).parent / written): NEAR}
    if part != main:
        use = 'use "../tools.tripos"\n' if main.startswith("deep") else f'use "{part}"\n'
        files[part] = declaration
    files[main] = spec(use or declaration, "right = near(answer.text)")
    plugin = plugin_of(compile_files(tmp_path, files, main))
    assert plugin.path == planned
    assert (tmp_path / main).parent.joinpath(planned).resolve() == (tmp_path / part).parent.joinpath(written).resolve()


def test_a_plan_is_the_same_wherever_it_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"spec.tripos": spec('function near from "mine.py:near"', "right = near(answer.text)"), "mine.py": NEAR}
    absolute = plan_of(compile_files(tmp_path, files)).digest
    monkeypatch.chdir(tmp_path)
    assert plan_of(compile_file(Path("spec.tripos"))).digest == absolute


def test_a_changed_function_changes_the_scores_that_use_it_and_no_other(tmp_path: Path) -> None:
    both = "right = near(answer.text)\n  score long = words(answer.text) > 3"
    files = {"spec.tripos": spec('function near from "mine.py:near"', both), "mine.py": NEAR}
    before = plan_of(compile_files(tmp_path, files))
    after = plan_of(compile_files(tmp_path, {"mine.py": NEAR.replace("True", "False")}))
    assert score_of(before).fingerprint != score_of(after).fingerprint
    assert score_of(before, "long").fingerprint == score_of(after, "long").fingerprint
    assert before.scenarios[0].ask("answer") == after.scenarios[0].ask("answer")


JUDGE = """role judge
function near from "mine.py:near"
scorer fine(reply: text, plain: bool) by judge {
  prompt "Is {{ reply }} fine?"
  prompt "Mind that it is {{ near(reply) }}." when plain
  gives bool
}
scorer kind(reply: text) by judge { prompt "Is {{ reply }} kind?", prompt "Is it?" when near(reply), gives bool }"""


@pytest.mark.parametrize(
    "scored",
    [
        "right = near(answer.text)",
        "right = words(answer.text) > 3 when near(answer.text)",
        "right = fine(answer.text, true)",
        "right = kind(answer.text)",
        "right = fine(answer.text, near(answer.text))",
    ],
)
def test_wherever_a_function_is_used_its_change_changes_the_score(tmp_path: Path, scored: str) -> None:
    files = {"spec.tripos": spec(JUDGE, scored), "mine.py": NEAR}
    before = plan_of(compile_files(tmp_path, files)).scenarios[0].steps
    after = plan_of(compile_files(tmp_path, {"mine.py": f"{NEAR}\n"})).scenarios[0].steps
    assert before[0] == after[0]
    assert before[1].fingerprint != after[1].fingerprint


def test_another_function_of_the_same_file_is_another_score(tmp_path: Path) -> None:
    files = {"spec.tripos": spec('function near from "mine.py:near"', "right = near(answer.text)")}
    files["mine.py"] = NEAR + NEAR.replace("near", "far")
    before = score_of(plan_of(compile_files(tmp_path, files)))
    after = score_of(plan_of(compile_files(tmp_path, {"spec.tripos": files["spec.tripos"].replace(":near", ":far")})))
    assert before.value == after.value
    assert before.fingerprint != after.fingerprint


def test_a_memory_does_not_outlive_a_change_of_a_function(tmp_path: Path) -> None:
    memory, reader = Memory(), DataFolders()
    (tmp_path / "spec.tripos").write_text(spec('function near from "mine.py:near"', "right = near(answer.text)"))

    def compiled(text: str) -> Compilation:
        (tmp_path / "mine.py").write_text(text, "utf-8")
        return compile_spec((tmp_path / "spec.tripos").as_posix(), read, reader, memory)

    assert not compiled(NEAR).diagnostics
    (found,) = compiled(NEAR.replace("text: str", "text: int")).diagnostics
    assert found.code == "E0301"


@each(
    "annotation, type_",
    [
        ("str", "text"),
        ("int", "integer"),
        ("float", "number"),
        ("bool", "bool"),
        ("int | float", "number"),
        ("str | None", "text?"),
        ("None | str", "text?"),
        ("Optional[list[int]]", "list<integer>?"),
        ("typing.Union[float, None]", "number?"),
        ("t.Sequence[str]", "list<text>"),
        ("Iterable[bool]", "list<bool>"),
        ("collections.abc.Set[str]", "set<text>"),
        ("frozenset[Literal['a', 'b']]", "set<choice(a, b)>"),
        ("'list[\"str\"]'", "list<text>"),
        ("Annotated[str, 'a note']", "text"),
        ("list[dict[str, str]]", "dialogue"),
        ("list[list[str | None]]", "list<list<text?>>"),
    ],
)
def test_an_annotation_is_a_type_of_the_language(annotation: str, type_: str) -> None:
    source = Source("mine.py", f"def one(value: {annotation}) -> {annotation}: ...")
    function = parse_python(source).function("one")
    assert type_notation(function.parameters["value"]) == type_notation(function.returns) == type_


@each(
    "annotation",
    [
        "None", "Any", "object", "dict", "dict[str, str]", "list", "set", "tuple[int, int]", "bytes", "str | int",
        "Literal['a']", "Literal[1, 2]", "set[list[str]]", "list[dict[str, int]]", "Callable[[str], int]",
        "datetime.date", "'not an ( annotation'", "3",
    ],
)  # fmt: skip
def test_an_annotation_that_is_none_is_refused_with_its_place(annotation: str) -> None:
    source = Source("mine.py", f"def one(value: {annotation}) -> bool: ...")
    with pytest.raises(Unusable) as caught:
        parse_python(source).function("one")
    span = caught.value.span
    assert caught.value.code == "E0312"
    assert span is not None
    assert source.text[span.start : span.end] == annotation


def test_a_place_in_python_counts_code_points() -> None:
    source = Source("mine.py", "题目 = 1\ndef 标准(题目: dict, b: str) -> bool: ...")
    with pytest.raises(Unusable) as caught:
        parse_python(source).function("标准")
    span = caught.value.span
    assert span is not None
    assert source.text[span.start : span.end] == "dict"


@settings(deadline=None)
@given(st.text(max_size=80), st.sampled_from(["", "\n", "\r\n", "\x0c", "\ufeff"]))
def test_no_text_of_a_python_file_raises_more_than_it_should(text: str, before: str) -> None:
    try:
        parse_python(Source("mine.py", f"{before}{text}")).function("one")
    except Unusable as reason:
        assert reason.span is None or reason.span.end <= len(reason.span.source.text) + 1


@settings(deadline=None)
@given(st.text(alphabet="strintlo[],|'\" NoneLiteral()*:=.", max_size=60))
def test_no_annotation_raises_more_than_it_should(text: str) -> None:
    try:
        parse_python(Source("mine.py", f"def one(value: {text}) -> bool: ...")).function("one")
    except Unusable as reason:
        assert reason.code in ("E0310", "E0312")


def install(folder: Path, name: str, entries: str) -> None:
    """A package that offers functions, in a folder of the path."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.4.2\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[tripos.functions]\n{entries}\n", "utf-8")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


USES_NEAR = spec("", "right = near(answer.text)")


def test_a_function_of_an_installed_package_is_found_and_not_imported(packages: Path) -> None:
    install(packages, "marks-of", "near = marks_of.parts.nearness:near")
    write(
        packages,
        {
            "marks_of/__init__.py": "raise SystemExit",
            "marks_of/parts/__init__.py": "raise SystemExit",
            "marks_of/parts/nearness.py": f"raise SystemExit\n{NEAR}",
        },
    )
    plugin = plugin_of(compile_text(USES_NEAR))
    assert (plugin.path, plugin.function, plugin.version) == (None, "marks_of.parts.nearness:near", "marks-of 1.4.2")


def test_a_package_may_pass_a_function_on(packages: Path) -> None:
    install(packages, "marks-of", "near = marks_of:near")
    write(
        packages,
        {
            "marks_of/__init__.py": "from .inner import close as near",
            "marks_of/inner.py": NEAR.replace("near", "close"),
        },
    )
    assert list(plugin_of(compile_text(USES_NEAR)).parameters) == ["text"]


def test_a_package_that_no_spec_uses_is_not_looked_at(packages: Path) -> None:
    install(packages, "marks-of", "near = nothing_there:near")
    assert plan_of(compile_text(spec("", "right = words(answer.text) > 3"))).plugins == ()


def test_a_function_that_the_spec_declares_comes_before_a_packages(packages: Path, tmp_path: Path) -> None:
    install(packages, "marks-of", "near = nothing_there:near")
    files = {"spec.tripos": spec('function near from "mine.py:near"', "right = near(answer.text)"), "mine.py": NEAR}
    assert plugin_of(compile_files(tmp_path, files)).path == "mine.py"


@pytest.mark.parametrize(
    ("entry", "files", "code"),
    [
        ("near = nothing_there:near", {}, "E0310"),
        ("near = marks_of:near", {"marks_of.py": "def near(text) -> bool: ..."}, "E0312"),
        ("near = marks_of:near", {"marks_of.py": "def far(text: str) -> bool: ..."}, "E0311"),
        ("near = marks_of:near", {"marks_of.py": "def near(text: str) -> bool"}, "E0310"),
        ("near = marks_of:near", {"marks_of.py": "from marks_of import near"}, "E0311"),
        ("near = marks_of:Marks.near", {"marks_of.py": NEAR}, "E0311"),
    ],
)
def test_a_packages_function_that_cannot_be_used_is_one_mistake(
    packages: Path, entry: str, files: dict[str, str], code: str
) -> None:
    install(packages, "marks-of", entry)
    write(packages, files)
    found = compile_text(spec("", "right = near(answer.text) and not near(answer.text)")).diagnostics
    assert [item.code for item in found] == [code], [item.message for item in found]
    assert "marks-of" in found[0].message
    span = found[0].labels[0].span
    assert span.source.text[span.start : span.end] == "near"


def test_a_packages_function_that_cannot_be_used_is_one_mistake_in_all_scenarios(packages: Path) -> None:
    install(packages, "marks-of", "near = nothing_there:near")
    found = compile_text(USES_NEAR + USES_NEAR.removeprefix(HEAD).replace("sums", "more")).diagnostics
    assert [item.code for item in found] == ["E0310"]


def test_two_packages_with_one_name_are_one_mistake(packages: Path) -> None:
    install(packages, "marks-of", "near = marks_of:near")
    install(packages, "other-marks", "near = marks_of:near")
    (found,) = compile_text(USES_NEAR).diagnostics
    assert (found.code, found.message) == ("E0202", "`near` is a function of marks-of and other-marks")


def test_a_formula_scores_as_if_it_were_written_out() -> None:
    formula = "scorer near(text: text, n: integer) = words(text) - n < 3"
    called = plan_of(compile_text(spec(formula, "right = near(answer.text, 4)")))
    written = plan_of(compile_text(spec("", "right = words(answer.text) - 4 < 3")))
    assert score_of(called) == score_of(written)
    assert called.scorers == called.plugins == ()


def test_a_reward_is_a_number_and_no_verdict() -> None:
    declaration = 'role critic\nscorer liked(reply: text) by critic { prompt "{{ reply }}", gives reward }'
    (scorer,) = plan_of(compile_text(spec(declaration, "right = liked(answer.text)"))).scorers
    assert scorer.source == "reward"
    assert scorer.gives is not None
    assert scorer.gives.kind == "number"


RUBRIC = """
role judge
dimension quality "Quality" {
  metric CLAR "Clarity" { scale 1..5, asks "?" }
  metric FACT "Accuracy" { scale 1..5, asks "?" }
}
scorer rubric(response: text) by judge { prompt "{{ metrics }} {{ response }}", gives allocated metrics }
allocate rubric {
  |      | CLAR | FACT |
  | sums |  x   |  x   |
}"""


def grade_of(text: str) -> Grade:
    (grade,) = [step for step in plan_of(compile_text(text)).scenarios[0].steps if isinstance(step, Grade)]
    return grade


def test_weights_are_in_the_grade_and_change_no_judgement_and_no_score() -> None:
    plain = grade_of(spec(RUBRIC, "rubric(answer.text)"))
    weighted = grade_of(spec(RUBRIC.replace("|  x   |  x   |", "|  x   |  2.5 |"), "rubric(answer.text)"))
    assert (plain.weights, weighted.weights) == ((), (1.0, 2.5))
    assert (plain.judgement, plain.fingerprint) == (weighted.judgement, weighted.fingerprint)


def test_scorers_and_functions_are_in_the_index_with_their_signatures_and_uses(tmp_path: Path) -> None:
    declarations = """
function near from "mine.py:near"
scorer half(response: text) = words(response) / 2
scorer python(text: text) -> bool from "mine.py:near"
"""
    score = "right = near(answer.text) and half(answer.text) > 2 and python(answer.text)"
    compilation = compile_files(tmp_path, {"spec.tripos": spec(declarations, score), "mine.py": NEAR})
    index = compilation.index
    symbols = {(symbol.kind, symbol.name): symbol for symbol in index.symbols.values()}
    assert symbols["function", "near"].detail == "near(text: text) -> bool"
    assert symbols["scorer", "half"].detail == "half(response: text) -> number"
    assert symbols["scorer", "python"].detail == "python(text: text) -> bool"
    assert (symbols["parameter", "response"].owner, symbols["parameter", "response"].detail) == ("scorer half", "text")
    used = {use.symbol for use in index.uses.values()}
    assert {symbol.span for (kind, _), symbol in symbols.items() if kind in ("function", "scorer")} <= used
    assert symbols["parameter", "response"].span in used
