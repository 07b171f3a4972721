"""Python functions at run time: loaded as they were compiled, called without harm, and scores that come of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.each import each
from tripos_compiler.language.evaluation import CalledInRunsOnly, Unavailable, evaluate
from tripos_compiler.library.registry import with_functions
from tripos_compiler.plan import (
    Benchmark,
    BoolType,
    Call,
    ChoiceType,
    DialogueType,
    IntegerType,
    ListType,
    Literal_,
    NumberType,
    OptionalType,
    Plan,
    Plugin,
    SetType,
    TextType,
    Type,
)
from tripos_compiler.resolve.python_functions import plugin_version
from tripos_runtime.asking.functions.calling import LoadedPlugin, PluginError, WrongValue, as_argument, as_result
from tripos_runtime.asking.functions.plugins import load_plugins


def plugin(
    text: str, function: str, returns: Type, takes: Mapping[str, Type] | None = None, path: str = "mine.py"
) -> Plugin:
    """Return the plug-in that `function` of a file with that text is."""
    return Plugin(
        name=function,
        path=path,
        function=function,
        version=plugin_version(text),
        parameters=dict(takes if takes is not None else {"text": TextType()}),
        returns=returns,
    )


def plan_with(*plugins: Plugin) -> Plan:
    benchmark = Benchmark(name="demo", version="1.0.0", title="demo", languages=("en",))
    return Plan(
        benchmark=benchmark,
        roles=(),
        axes=(),
        metrics=(),
        datasets=(),
        scenarios=(),
        scorers=(),
        measures=(),
        calls=(),
        plugins=plugins,
    )


def load(
    folder: Path, text: str, function: str, returns: Type, takes: Mapping[str, Type] | None = None
) -> LoadedPlugin:
    """Write a file and load one function of it."""
    (folder / "mine.py").write_text(text, "utf-8")
    return load_plugins(plan_with(plugin(text, function, returns, takes)), folder)[function]


def test_an_expression_calls_a_loaded_function_by_position_and_by_name(tmp_path: Path) -> None:
    text = "def near(text: str, *, by: float = 0.5) -> float:\n    return len(text) * by\n"
    loaded = load(tmp_path, text, "near", NumberType(), {"text": TextType(), "by": NumberType()})
    with with_functions({"near": loaded}):
        both = Call(function="near", args=(Literal_(value="four"), Literal_(value=2)))
        assert evaluate(both, {}) == 8
        assert evaluate(Call(function="near", named={"text": Literal_(value="four")}), {}) == 2.0


def test_functions_of_one_run_are_not_those_of_another(tmp_path: Path) -> None:
    call = Call(function="one", args=(Literal_(value=""),))
    for number in (1, 2):
        loaded = load(tmp_path, f"def one(text: str) -> int:\n    return {number}\n", "one", IntegerType())
        with with_functions({"one": loaded}):
            assert evaluate(call, {}) == number
    with pytest.raises(CalledInRunsOnly, match="one"):
        evaluate(call, {})


def test_functions_of_one_file_share_its_module_and_two_loads_do_not(tmp_path: Path) -> None:
    text = "seen = []\ndef a(text: str) -> int:\n    seen.append(text)\n    return len(seen)\nb = a\n"
    (tmp_path / "mine.py").write_text(text, "utf-8")
    plan = plan_with(plugin(text, "a", IntegerType()), plugin(text, "b", IntegerType()))
    loaded = load_plugins(plan, tmp_path)
    assert [loaded["a"]("x"), loaded["b"]("x")] == [1, 2]
    assert load_plugins(plan, tmp_path)["a"]("x") == 1


def test_a_file_that_changed_since_it_was_compiled_is_not_executed(tmp_path: Path) -> None:
    text = "def one(text: str) -> int:\n    return 1\n"
    marker = tmp_path / "executed"
    (tmp_path / "mine.py").write_text(f"open({str(marker)!r}, 'w').close()\n{text}", "utf-8")
    with pytest.raises(PluginError) as caught:
        load_plugins(plan_with(plugin(text, "one", IntegerType())), tmp_path)
    assert caught.value.code == "R0302"
    assert not marker.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_that_name\n", "install `nothing_of_that_name`"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("one = 1\n", "has no function `one`"),
        ("def one() -> int:\n    return 1\n", "does not take what its definition says"),
        ("def one(text, more):\n    return 1\n", "does not take what its definition says"),
    ],
)
def test_a_file_that_cannot_be_loaded_stops_the_run_before_it_begins(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PluginError) as caught:
        load(tmp_path, text, "one", IntegerType())
    assert caught.value.code == "R0301"
    assert said in f"{caught.value.message} ({caught.value.hint})"


def test_a_file_that_is_gone_is_named_as_the_spec_names_it(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"cannot read `parts/mine.py`") as caught:
        load_plugins(plan_with(plugin("", "one", IntegerType(), path="parts/mine.py")), tmp_path)
    assert caught.value.code == "R0301"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise ValueError('no number here')", "`one`: ValueError: no number here"),
        ("raise SystemExit", "`one`: SystemExit: "),
        ("return one(text)", "`one`: RecursionError"),
        ("return text", "`one`: it says `integer`, and returned 'abc'"),
        ("return None", "`one`: it says `integer`, and returned None"),
    ],
)
def test_a_function_that_fails_leaves_its_value_out_and_says_why(tmp_path: Path, body: str, said: str) -> None:
    loaded = load(tmp_path, f"def one(text: str) -> int:\n    {body}\n", "one", IntegerType())
    with pytest.raises(Unavailable) as caught:
        loaded("abc")
    assert caught.value.status == "function_error"
    assert str(caught.value).startswith(said)
    with pytest.raises(Unavailable):
        loaded(text="")
    assert loaded.failed == 2
    assert said.startswith(f"`one`: {loaded.first[:12]}")


def test_what_a_function_does_to_its_arguments_stays_with_it(tmp_path: Path) -> None:
    text = "def count(items: list[str], talk: list[dict[str, str]]) -> int:\n"
    text += "    items.sort()\n    talk[0]['text'] = ''\n    return len(items)\n"
    takes: dict[str, Type] = {"items": ListType(of=TextType()), "talk": DialogueType()}
    loaded = load(tmp_path, text, "count", IntegerType(), takes)
    items, talk = ["b", "a"], [{"speaker": "a", "text": "hello"}]
    assert loaded(items, talk) == 2
    assert items == ["b", "a"]
    assert talk == [{"speaker": "a", "text": "hello"}]


def test_a_set_comes_as_a_sorted_list_where_a_list_is_taken() -> None:
    assert as_argument(ListType(of=TextType()), frozenset("cab")) == ["a", "b", "c"]
    assert as_argument(OptionalType(of=SetType(of=TextType())), frozenset("a")) == {"a"}
    assert as_argument(OptionalType(of=SetType(of=TextType())), None) is None


def test_what_a_function_prints_stays_out_of_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "print('loading')\ndef one(text: str) -> int:\n    print('calling')\n    return 1\n"
    load(tmp_path, text, "one", IntegerType())("x")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "loading\ncalling\n"


def numpy_number(value: float) -> Any:
    import numpy

    return numpy.float32(value)


@each(
    "type_, value, kept",
    [
        (BoolType(), True, True),
        (IntegerType(), -3, -3),
        (IntegerType(low=1, high=5), 5, 5),
        (NumberType(), 3, 3),
        (NumberType(), 2.5, 2.5),
        (NumberType(), numpy_number(0.5), 0.5),
        (TextType(), "", ""),
        (ChoiceType(values=("a", "b")), "b", "b"),
        (OptionalType(of=NumberType()), None, None),
        (OptionalType(of=NumberType()), 1.5, 1.5),
        (ListType(of=IntegerType()), (1, 2), [1, 2]),
        (SetType(of=TextType()), {"a"}, frozenset({"a"})),
        (DialogueType(), [{"speaker": "a", "text": "b", "time": 3}], [{"speaker": "a", "text": "b"}]),
    ],
)
def test_a_value_of_the_type_that_is_returned_is_kept(type_: Type, value: object, kept: object) -> None:
    assert as_result(type_, value) == kept
    assert type(as_result(type_, value)) is type(kept)


@each(
    "type_, value",
    [
        (BoolType(), 1),
        (BoolType(), "true"),
        (IntegerType(), True),
        (IntegerType(), 3.0),
        (IntegerType(), 2**63),
        (IntegerType(low=1, high=5), 6),
        (NumberType(), False),
        (NumberType(), "3"),
        (NumberType(), float("nan")),
        (NumberType(), float("-inf")),
        (NumberType(), None),
        (TextType(), b"bytes"),
        (ChoiceType(values=("a", "b")), "c"),
        (ListType(of=IntegerType()), "12"),
        (ListType(of=IntegerType()), [1, None]),
        (ListType(of=IntegerType()), {1}),
        (SetType(of=TextType()), ["a"]),
        (DialogueType(), [{"speaker": "a"}]),
    ],
)
def test_a_value_of_another_type_is_refused(type_: Type, value: object) -> None:
    with pytest.raises(WrongValue):
        as_result(type_, value)


def install(folder: Path, version: str = "1.2.0", value: str = "marks_of:near") -> None:
    """A package with one function, on a folder of the path."""
    info = folder / "marks_of-0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: marks-of\nVersion: {version}\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[tripos.functions]\nnear = {value}\n", "utf-8")


PACKAGED = Plugin(
    name="near",
    path=None,
    function="marks_of:near",
    version="marks-of 1.2.0",
    parameters={"text": TextType()},
    returns=NumberType(),
)


def test_a_function_of_a_package_is_loaded_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path)
    (tmp_path / "marks_of.py").write_text("def near(text: str) -> float:\n    return 0.25\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_plugins(plan_with(PACKAGED), tmp_path)["near"]("x") == 0.25


def test_another_version_of_a_package_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, version="1.3.0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match=r"marks-of is 1\.3\.0 here") as caught:
        load_plugins(plan_with(PACKAGED), tmp_path)
    assert caught.value.code == "R0302"


def test_a_package_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(PluginError) as caught:
        load_plugins(plan_with(PACKAGED), tmp_path)
    assert (caught.value.code, caught.value.hint) == ("R0301", "install marks-of")


MARKS = '''\
"""How far a reply is from the truth."""


def size(text: str) -> int:
    return len(text)


def close(response: str, truth: int, scale: float = 10.0) -> float:
    if truth == 4:
        raise ValueError(f"nothing is close to {truth}")
    return round(1 - truth / scale, 3)
'''

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
function size from "marks.py:size" pure  # the other function of the file is not
scorer near(response: text, truth: integer) -> number from "marks.py:close"
scorer both(response: text, truth: integer) = (near(response, truth) + 1) / 2
scenario sums {
  dataset item from "items.jsonl" { question text, truth integer secret }
  ask answer by candidate { prompt "{{ item.question }} Use {{ size(item.question) }} words." }
  score near(answer.text, item.truth)
  score half  = both(answer.text, item.truth)
  score sized = size(answer.text) == length(answer.text)
}
measure near = mean(near)
"""

RUN = ("run", "demo.tripos", "--model", "mock/careful", "--json")


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark that uses Python functions, which is also the working directory."""
    (tmp_path / "demo.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "marks.py").write_text(MARKS, "utf-8")
    items = [{"question": f"{n} + {n}?", "truth": 2 * n} for n in (1, 2, 3)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(tripos: Command) -> list[tuple[object, ...]]:
    """Return every score in the store: metric, truth, value and status."""
    query = (
        "select metric::varchar as metric, (fields ->> 'truth')::int as truth, value, score.status from demo.scores as score "
        "join main.items using (item_id) order by all"
    )
    answer = tripos("sql", query, "-o", "answer.json")
    assert answer.code == 0, answer.err
    return [tuple(row.values()) for row in json.loads(Path("answer.json").read_text("utf-8"))]


def test_scores_of_python_functions_are_kept_and_those_that_fail_say_so(demo: Path, tripos: Command) -> None:
    done = tripos(*RUN)
    assert done.code == 1, done.err  # some scores have no value
    assert done.data["scores"] == {"function_error": 2, "scored": 7}
    said = "first with ValueError: nothing is close to 4"
    assert done.data["functions"] == [f"`near` failed 2 times, {said}"]
    assert scores(tripos) == [
        ("half", 2, 0.9, "scored"),
        ("half", 4, None, "function_error"),
        ("half", 6, 0.7, "scored"),
        ("near", 2, 0.8, "scored"),
        ("near", 4, None, "function_error"),
        ("near", 6, 0.4, "scored"),
        ("sized", 2, 1.0, "scored"),
        ("sized", 4, 1.0, "scored"),
        ("sized", 6, 1.0, "scored"),
    ]
    kept = tripos("sql", "select message from runs", "-o", "answer.json")
    assert kept.code == 0
    assert said in Path("answer.json").read_text("utf-8")


def test_a_function_in_a_prompt_fills_its_hole(demo: Path, tripos: Command) -> None:
    tripos(*RUN)
    tripos("sql", "select messages from demo.samples", "-o", "answer.json")
    assert Path("answer.json").read_text("utf-8").count("Use 6 words.") == 3


def test_a_changed_function_scores_again_and_asks_nothing(demo: Path, tripos: Command) -> None:
    tripos(*RUN)
    changed = MARKS.replace("truth == 4", "truth == 5")
    (demo / "marks.py").write_text(changed, "utf-8")
    # A function in a prompt makes its reply another; here the prompt is freed from it.
    (demo / "demo.tripos").write_text(SPEC.replace(" Use {{ size(item.question) }} words.", ""), "utf-8")
    first = tripos(*RUN)
    assert first.data["scores"] == {"scored": 9}
    (demo / "marks.py").write_text(changed.replace("1 - truth", "2 - truth"), "utf-8")
    again = tripos(*RUN)
    assert again.data["calls"]["asked"] == 0
    assert ("near", 4, 1.6, "scored") in scores(tripos)


def test_a_function_that_failed_is_called_again_by_the_next_run(demo: Path, tripos: Command) -> None:
    flaky = MARKS.replace("truth == 4", "truth == 4 and not __import__('pathlib').Path('mended').exists()")
    (demo / "marks.py").write_text(flaky, "utf-8")
    assert tripos(*RUN).code == 1
    (demo / "mended").touch()
    again = tripos(*RUN)
    assert again.code == 0
    assert again.data["calls"]["asked"] == 0
    assert ("near", 4, 0.6, "scored") in scores(tripos)


def test_a_plan_says_which_functions_are_pure_by_the_word_of_the_spec_alone(demo: Path, tripos: Command) -> None:
    assert "says `pure`" not in tripos("plan", "demo.tripos").out  # its source proves it
    (demo / "marks.py").write_text(f"from pathlib import Path\n{MARKS}", "utf-8")
    assert "Taken to read no secret, since the spec says `pure`: size." in tripos("plan", "demo.tripos").out


def test_a_function_that_cannot_be_loaded_stops_a_run_before_anything_is_asked(demo: Path, tripos: Command) -> None:
    (demo / "marks.py").write_text(f"import nothing_of_that_name\n{MARKS}", "utf-8")
    done = tripos(*RUN)
    assert done.code == 2
    assert "R0301" in done.err
    assert not (demo / "results").exists()
