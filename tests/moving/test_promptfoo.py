"""Configurations of promptfoo as specs: the same prompts, the same tests passed, and holes for the rest."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.field.running import figures_in
from tests.interchange.tools import promptfoo_program
from tripos.importing.tasks.promptfoo import promptfoo_spec
from tripos_compiler.errors import TriposError

CONFIG = """
description: Translations
prompts:
  - "Translate to {{language}}: {{ text }}"
  - '[{"role": "system", "content": "You translate."}, {"role": "user", "content": "{{text}} in {{language}}?"}]'
providers: [echo]
defaultTest:
  vars: {language: French}
  assert: [{type: not-contains, value: sorry}]
tests:
  - vars: {text: Good day (now)}
    assert: [{type: icontains, value: "GOOD DAY (now)"}, {type: contains-any, value: ["x", "{{text}}"]}]
  - vars: {text: Good day (now)}
    assert: [{type: contains, value: "GOOD DAY"}]
  - vars: {language: German, text: Thanks}
    assert: [{type: equals, value: "Translate to German: {{text}}"}, {type: regex, value: "Th.nks"}]
  - vars: {text: "I am sorry"}
  - vars: {text: one and two}
    assert: [{type: contains-all, value: "one, two"}, {type: not-starts-with, value: Translate}]
  - vars: {text: one}
    assert: [{type: icontains-all, value: [ONE, French]}, {type: not-contains-any, value: [two, three]}]
"""
PASSED = {"p1": [True, False, True, False, False, True], "p2": [True, False, False, False, True, True]}
"""Tests that pass where the reply is the prompt. Promptfoo's own echo says the same, but for a chat, which it repeats
as JSON."""


def config(folder: Path, text: str = CONFIG) -> Path:
    """Write a configuration into a folder."""
    (folder / "promptfooconfig.yaml").write_text(text, "utf-8")
    return folder / "promptfooconfig.yaml"


def test_prompts_are_sent_and_tests_pass_as_they_should(tmp_path: Path) -> None:
    made = promptfoo_spec(config(tmp_path))
    assert made.is_complete and {each.part: each.how for each in made.notes}["prompt 2"] == "exactly"
    sent: list[list[str]] = []

    def echo(messages: list[str]) -> str:
        sent.append(messages)
        return messages[-1]

    figures = figures_in(tmp_path / "spec", made.text, made.files, echo)
    assert ["You translate.", "Thanks in German?"] in sent and ["Translate to French: one"] in sent
    assert figures.by("by_prompt") == {arm: pytest.approx(sum(some) / 6) for arm, some in PASSED.items()}


def test_promptfoo_passes_the_same_tests(tmp_path: Path) -> None:
    program = promptfoo_program()
    text = "\n".join(line for line in CONFIG.splitlines() if "You translate." not in line)
    path = config(tmp_path, text)
    command = [*program, "eval", "-c", path.name, "-o", "out.json", "--no-cache", "--no-table"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=300)
    results = json.loads((tmp_path / "out.json").read_text("utf-8"))["results"]["results"]
    passed = [each["success"] for each in sorted(results, key=lambda each: each["testIdx"])]
    assert passed == PASSED["p1"]
    made = promptfoo_spec(path)
    figures = figures_in(tmp_path / "spec", made.text, made.files, lambda messages: messages[-1])
    assert figures["pass_rate"].value == pytest.approx(sum(passed) / len(passed))


def test_what_has_no_counterpart_is_a_hole(tmp_path: Path) -> None:
    text = """
prompts: ["{{ text | upper }}", "file://ask.py", "Say {{text}}"]
scenarios: []
tests:
  - vars: {text: one}
    threshold: 0.5
    assert:
      - {type: javascript, value: "output.length < 9"}
      - {type: contains, value: ""}
      - {type: equals, value: {a: 1}}
      - {type: icontains, value: one, weight: 2}
      - {type: llm-rubric, value: It is short.}
"""
    made = promptfoo_spec(config(tmp_path, text))
    lost = {each.part for each in made.notes if each.how == "not"}
    assert lost == {
        "scenarios", "prompt 1", "prompt 2", "assertion javascript", "assertion contains with an empty text",
        "assertion equals with a value that is no text", "assertion icontains with a weight", "threshold of a test",
    }  # fmt: skip
    assert made.text.count("HOLE") == 7
    assert "score rubric = graded(reply.text" in made.text and "measure pass_rate" not in made.text


def test_tests_of_a_table_are_rows(tmp_path: Path, tripos: Command) -> None:
    (tmp_path / "tests.csv").write_text(
        'text,language,__expected,__expected2\nhello,French,contains:bonjour,"icontains-any:a, b"\nbye,German,tschüss,\n',
        "utf-8",
    )
    (tmp_path / "ask.txt").write_text("{{text}}: {{language}}", "utf-8")
    path = config(tmp_path, "prompts: file://ask.txt\nproviders: [echo]\ntests: file://tests.csv\n")
    done = tripos("import", "task", str(path), "-o", str(tmp_path / "out"))
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (tmp_path / "out/tests.jsonl").read_text("utf-8").splitlines()]
    assert rows[0]["to_contains"] == ["bonjour"] and rows[1]["to_equals"] == ["tschüss"]
    [spec] = (tmp_path / "out").glob("*.tripos")
    assert tripos("check", str(spec)).code == 0


def rows_of(folder: Path, text: str) -> list[dict[str, object]]:
    """Return the rows of a configuration."""
    return [json.loads(line) for line in promptfoo_spec(config(folder, text)).files["tests.jsonl"].splitlines()]


def test_lists_of_variables_are_tests_and_variables_fill_each_other(tmp_path: Path) -> None:
    text = """
prompts: ["{{greeting}} in {{tongue}}"]
tests:
  - vars: {tongue: [French, German], word: [a, b], greeting: "Say {{word}}", n: 2.0}
    assert: [{type: contains, value: "{{greeting}}: {{n}}"}]
  - vars: {tongue: [x, y], greeting: "{{ word | upper }}"}
    options: {disableVarExpansion: true, suffix: "!"}
"""
    rows = rows_of(tmp_path, text)
    assert [(row["tongue"], row["greeting"]) for row in rows[:4]] == [
        ("French", "Say a"), ("French", "Say b"), ("German", "Say a"), ("German", "Say b"),
    ]  # fmt: skip
    assert rows[1]["to_contains"] == ["Say b: 2"] and len(rows) == 5
    made = promptfoo_spec(tmp_path / "promptfooconfig.yaml")
    assert {each.part for each in made.notes if each.how == "not"} == {
        "a variable that is a list or a mapping", "a template that is more than names of variables",
        "option suffix of a test",
    }  # fmt: skip
    many = "prompts: a\ntests: [{vars: {" + ", ".join(f"v{n}: [a, b]" for n in range(30)) + "}}]"
    with pytest.raises(TriposError, match="more than 1,000,000 tests"):
        promptfoo_spec(config(tmp_path, many))


def test_a_list_that_does_not_begin_with_a_text_is_one_value(tmp_path: Path) -> None:
    text = "prompts: '{{q}} {{of}}'\ntests:\n"
    text += "".join(f"  - vars: {{q: a, of: {of}}}\n" for of in ("[]", "[1, 2]", "[{role: user}]", "[b, c]"))
    assert [row["of"] for row in rows_of(tmp_path, text)] == ["[]", "[1, 2]", '[{"role": "user"}]', "b", "c"]
    made = promptfoo_spec(tmp_path / "promptfooconfig.yaml")
    assert [each.part for each in made.notes if each.how == "not"] == ["a variable that is a list or a mapping"]


def test_variables_and_prompts_are_read_from_their_files(tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text("Once.\n\n", "utf-8")
    (tmp_path / "asks.txt").write_text("Sum up:\n{{story}}\n---\nWho is in {{story}}?\n", "utf-8")
    text = "prompts: asks.txt\ntests:\n  - vars: {story: file://story.txt}\n  - vars: {story: file://story.py}\n"
    made = promptfoo_spec(config(tmp_path, text))
    assert 'prompt "Sum up:\\n{{ item.story }}" when prompt == p1' in made.text
    assert 'prompt "Who is in {{ item.story }}?" when prompt == p2' in made.text
    assert json.loads(made.files["tests.jsonl"].splitlines()[0]) == {"story": "Once."}
    assert {each.part for each in made.notes if each.how == "not"} == {"a variable in a file that is no text"}


def test_assertions_of_a_table_that_have_no_translation_are_holes_and_no_texts(tmp_path: Path) -> None:
    cells = (
        "fn: output.length > 2",
        "similar(0.8):Hello",
        "is-json",
        "grade: It is short.",
        "Note: a",
        "contains: b",
        "llm-rubric(0.5): It is kind.",
    )
    lines = [f'{number},"{cell}"' for number, cell in enumerate(cells)]
    (tmp_path / "tests.csv").write_text("\n".join(["n,__expected", *lines]), "utf-8")
    made = promptfoo_spec(config(tmp_path, "prompts: '{{n}}'\ntests: file://tests.csv\n"))
    rows = [json.loads(line) for line in made.files["tests.jsonl"].splitlines()]
    assert [row["to_equals"] for row in rows] == [[], [], [], [], ["Note: a"], [], []]
    assert rows[3]["rubrics"] == ["It is short."] and not rows[6]["rubrics"] and rows[5]["to_contains"] == ["b"]
    assert {each.part for each in made.notes if each.how == "not"} == {
        "assertion javascript", "assertion similar", "assertion is-json",
        "assertion llm-rubric with a threshold, a transform, a provider or a prompt of its own",
    }  # fmt: skip


def test_keys_of_providers_are_neither_shown_nor_written(tmp_path: Path, tripos: Command) -> None:
    provider = "{id: 'openai:a', config: {apiKey: k-private-1, headers: {X-Api-Key: k-private-2}, temperature: 0.5}}"
    text = f"""
prompts: ["{{{{q}}}}"]
providers: [{provider}]
tests:
  - vars: {{q: hi}}
    options: {{provider: {provider}}}
    assert: [{{type: llm-rubric, value: a, provider: {provider}}}]
"""
    for form in ([], ["--json"]):
        done = tripos("import", "task", str(config(tmp_path, text)), "-o", str(tmp_path / f"out{len(form)}"), *form)
        assert "private" not in done.out + done.err and "0.5" in done.out
    written = "".join(path.read_text("utf-8") for path in tmp_path.glob("out*/*"))
    assert "private" not in written and written.count("(hidden)") == 8


def test_settings_of_providers_and_columns_that_change_a_test_are_noted(tmp_path: Path) -> None:
    (tmp_path / "tests.csv").write_text("n,__expected,__prefix,__threshold,__metric\n1,1,Sure: ,0.5,m\n", "utf-8")
    providers = "[{id: 'openai:a', config: {temperature: 0}}, 'openai:b', {'openai:c': {prompts: [x]}}]"
    made = promptfoo_spec(config(tmp_path, f"prompts: '{{{{n}}}}'\nproviders: {providers}\ntests: file://tests.csv\n"))
    assert {each.part for each in made.notes if each.how == "not"} == {
        "option prefix of a test", "threshold of a test", "setting temperature of a provider",
        "setting prompts of a provider",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [("prompts: [", "cannot be read"), ("prompts: a\ntests: file://none.csv", "the tests of `file://none.csv`"),
     ("prompts: file://none.txt\ntests: []", "the prompt `file://none.txt`"), ("prompts: a\ntests: file://a.js", "are no table")],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_told(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(TriposError, match=told):
        promptfoo_spec(config(tmp_path, text))


@pytest.mark.parametrize("folder", ["main", "in"])
def test_names_that_are_words_of_the_language_make_a_spec(folder: str, tmp_path: Path, tripos: Command) -> None:
    (tmp_path / folder).mkdir()
    text = "prompts: 'Say {{in}}'\ntests:\n  - vars: {in: x, not: y}\n    assert: [{type: equals, value: x}]\n"
    done = tripos("import", "task", str(config(tmp_path / folder, text)), "-o", str(tmp_path / "out"))
    assert done.code == 0, done.err
    [spec] = (tmp_path / "out").glob("*.tripos")
    assert tripos("check", str(spec)).code == 0
