"""Values of each type for each key of what other programs wrote: an import takes them or says what is wrong, and no
user sees a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from tests.conftest import Command
from tests.importing.odd_values import (
    ODD_JSON,
    ODD_YAML,
    PROMPTFOO,
    SEED,
    TABLE_ROW,
    every,
    formats,
    keys_of,
    places_in,
    prepared,
    tried,
    with_value,
)
from tests.lengths import sized
from tripos.importing.tasks.lm_eval import group_of, read_folder, read_task
from tripos.importing.tasks.promptfoo import promptfoo_spec
from tripos_compiler.errors import TriposError


def test_each_key_with_a_value_of_each_type_is_taken_or_refused(tmp_path: Path) -> None:
    folders = {name: tmp_path / str(number) for number, name in enumerate(formats())}
    for folder in folders.values():
        folder.mkdir()
    taken = 0
    for name, path, value in every()[: sized(120, None)]:
        if name.startswith(("lm-eval", "promptfoo")):
            prepared(folders[name])
        try:
            taken += tried(name, path, value, folders[name])
        except Exception as error:
            error.add_note(f"{name}: {path} = {value[:80]}")
            raise
    assert taken > 0


def test_every_format_and_key_is_drawn() -> None:
    assert len(formats()) >= 20
    assert all(len(keys_of(name)) > 5 for name in formats())
    assert len(every()) > 100_000
    assert json.loads(with_value({"a": [1, 2]}, ("a", 1), "[]")) == {"a": [1, []]}
    assert list(places_in({"a": [1]})) == [(), ("a",), ("a", 0)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tests: [5]", "`tests.0`: it is a number, and should be a text or a mapping"),
        ("tests: [null]", "`tests.0`: it is null, and should be a text or a mapping"),
        ("defaultTest: [1]", "`defaultTest`: it is a list, and should be a mapping or the name of a file"),
        ("tests: [{vars: 5}]", "`tests.0.vars`: it is a number, and should be a mapping"),
        ("tests: [{assert: [5]}]", "`tests.0.assert.0`: it is a number, and should be a mapping"),
        ("tests: [{assert: {type: 5}}]", "`tests.0.assert.0.type`: it is a number, and should be a text"),
        ("prompts: [5]", "`prompts.0`: it is a number, and should be a text or a mapping"),
        ("prompts: {a: b}", "a prompt has no `raw` and no `id` that is a text"),
        ("description: [1]", "`description`: it is a list, and should be a text"),
        ("a: !!binary aGk=", "line 3: a value with the tag `tag:yaml.org,2002:binary`, which is not read"),
        ("a: &a [*a]", "line 3: an alias stands inside of what it repeats"),
    ],
)
def test_an_odd_configuration_is_an_error_that_says_where(
    text: str, told: str, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = "providers: [x]\n" + ("" if "prompts" in text else "prompts: ['hi {{a}}']\n")
    Path("p.yaml").write_text(f"{before}{text}\n", "utf-8")
    with pytest.raises(TriposError) as caught:
        promptfoo_spec(Path("p.yaml"))
    assert (caught.value.code, told in caught.value.message) == ("R0246", True), caught.value.message
    assert tripos("import", "task", "p.yaml", "-o", "out").code == 2


@pytest.mark.parametrize("text", ["tests: [{vars: {1: 2}}]", "tests: [{vars: {true: 2}}]", "prompts: ['[1]']"])
def test_names_that_are_no_texts_and_odd_chats_are_taken(text: str, tmp_path: Path) -> None:
    before = "" if "prompts" in text else "prompts: ['hi {{a}}']\n"
    (tmp_path / "p.yaml").write_text(f"{before}{text}\n", "utf-8")
    made = promptfoo_spec(tmp_path / "p.yaml")
    assert made.is_complete == ("vars" in text)


def test_yaml_that_aliases_make_huge_is_refused_and_a_small_one_read(tmp_path: Path) -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 10)}]" for n in range(9)]
    bomb = "\n".join([*levels, "prompts: ['{{a}}']", "tests: [{vars: {a: *a8}}]"])
    (tmp_path / "p.yaml").write_text(bomb, "utf-8")
    with pytest.raises(TriposError, match="its aliases make more than"):
        promptfoo_spec(tmp_path / "p.yaml")
    merged = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 9)]
    (tmp_path / "p.yaml").write_text("\n".join(["a0: &a0 {b: c}", *merged]), "utf-8")
    with pytest.raises(TriposError, match="its aliases make more than"):
        promptfoo_spec(tmp_path / "p.yaml")
    few = "shared: &shared [{type: contains, value: a}]\nprompts: ['{{a}}']\ntests:\n"
    few += "".join(f"  - {{vars: {{a: '{n}'}}, assert: *shared}}\n" for n in range(50))
    (tmp_path / "p.yaml").write_text(few, "utf-8")
    assert '"to_contains": ["a"]' in promptfoo_spec(tmp_path / "p.yaml").files["tests.jsonl"]


def test_tests_that_share_much_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tripos.importing.tasks import promptfoo

    monkeypatch.setattr(promptfoo, "MAX_CHARACTERS", 10_000)
    config = {"prompts": ["{{a}}"], "defaultTest": {"vars": {"a": "x" * 1_000}}, "tests": [{"vars": {"b": "1"}}] * 20}
    (tmp_path / "p.yaml").write_text(json.dumps(config), "utf-8")
    with pytest.raises(TriposError, match="more than 10,000 characters"):
        promptfoo_spec(tmp_path / "p.yaml")


@pytest.mark.parametrize("form", ["includes", "groups"])
def test_what_names_another_ten_times_at_each_level_ends(form: str, tmp_path: Path) -> None:
    (tmp_path / "t0.yaml").write_text("task: t0\ndataset_path: a/b\ntest_split: test\n", "utf-8")
    for n in range(1, 12):
        named = json.dumps([f"t{n - 1}.yaml" if form == "includes" else f"t{n - 1}"] * 10)
        text = f"task: t{n}\ninclude: {named}\n" if form == "includes" else f"group: t{n}\ntask: {named}\n"
        (tmp_path / f"t{n}.yaml").write_text(text, "utf-8")
    if form == "includes":
        assert read_task(tmp_path / "t11.yaml").get("dataset_path") == "a/b"
        return
    with pytest.raises(TriposError, match="more than 20,000 members"):
        group_of(read_task(tmp_path / "t11.yaml"), read_folder(tmp_path))


def _commands(verb: str) -> tuple[str, ...]:
    return ("import", verb, "rows.jsonl", *(("--spec", "quiz.tripos") if verb == "samples" else ()), "--dry-run")


@pytest.mark.parametrize("verb", ["samples", "scores"])
def test_odd_rows_of_replies_and_scores_are_rejected(verb: str, quiz: Path, tripos: Command, once: Command) -> None:
    assert once("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a").code == 0
    row = {**TABLE_ROW, "scenario": "sums", "question": "1+1", "metric": "long", "evaluator": "human/a", "context": {}}
    draw = Random(SEED)
    every = [(path, value) for path in places_in(row) for value in ODD_JSON]
    for path, value in draw.sample(every, sized(3, len(every))):
        Path("rows.jsonl").write_text(with_value(row, path, value), "utf-8")
        done = tripos(*_commands(verb))
        assert done.code in (0, 1, 2) and "internal error" not in done.err, (path, value, done.err)


@pytest.mark.parametrize("kind", ["dataset", "task", "logs", "tree"])
def test_a_command_never_ends_in_a_traceback(
    kind: str, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepared(tmp_path)
    draw = Random(SEED)
    names = {"dataset": ["dataset"], "task": ["promptfoo", "lm-eval task", "lm-eval group"], "tree": ["promptfoo"]}
    for _ in range(sized(4, 300)):
        name = draw.choice(names.get(kind) or [each for each in formats() if formats()[each].refused != (TriposError,)])
        text = with_value(formats()[name].document, draw.choice(keys_of(name)), draw.choice(formats()[name].values))
        place = formats()[name].put(tmp_path, text)
        more = ["-o", "out", "--replace"] if kind in ("task", "tree") else ["--dry-run"] if kind == "logs" else []
        more = ["-o", "out.yaml", "--replace"] if kind == "tree" else more
        done = tripos("import", kind, str(place), *more)
        assert done.code in (0, 1, 2) and "internal error" not in done.err, (name, text, done.err)


def test_a_configuration_of_promptfoo_without_oddities_is_whole(tmp_path: Path) -> None:
    prepared(tmp_path)
    (tmp_path / "p.yaml").write_text(json.dumps(PROMPTFOO), "utf-8")
    assert promptfoo_spec(tmp_path / "p.yaml").files["tests.jsonl"].count("\n") == 4
    assert len(ODD_YAML) > len(ODD_JSON) > 40
