"""Messages in Chinese: a message is told exactly as its template says, or it stays English."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, strategies

from tests.conftest import Command
from tests.languages.messages import messages, texts_of_sources
from tripos.cli.parser import build_parser
from tripos_compiler.diagnostics.i18n import HOLE, MessageTemplate, localized, parse_template, translations

UNTRANSLATED = {"compiler": 0, "runtime": 0, "warehouse": 0, "tripos": 0}
"""How many messages of a leg that surely reach a person have no translation. Lower these, never raise them."""
QUOTED = re.compile(r"`[^`]*`")


def values_of(template: MessageTemplate) -> list[str]:
    """Values that real messages have: names and numbers."""
    names = ("alpha", "beta", "a/b", "GAMMA", "delta")
    return ["7" if number else names[place % len(names)] for place, number in enumerate(template.numbers)]


def as_it_says(said: str, values: list[str]) -> str:
    """Return a translation with its values as they are."""
    return re.sub(r"(\{\{)|(\}\})|\{(\d+)~?\}", lambda at: "{" if at[1] else "}" if at[2] else values[int(at[3])], said)


@cache
def words() -> frozenset[str]:
    """The entries that are words and parts, which stand inside of messages."""
    folder = files("tripos_compiler.diagnostics").joinpath("translation", "zh")
    return frozenset(
        key for name in ("words.json", "parts.json") for key in json.loads(folder.joinpath(name).read_text("utf-8"))
    )


def test_every_translation_is_of_a_message_that_the_sources_have() -> None:
    assert sorted(set(translations("zh")) - words() - texts_of_sources()) == []


def test_a_translation_has_the_holes_of_its_message_and_what_it_quotes() -> None:
    wrong = []
    for key, said in translations("zh").items():
        holes = range(len(parse_template(key).numbers))
        assert sorted({int(place) for place, _ in HOLE.findall(said)}) == list(holes), key
        mine, theirs = (Counter(QUOTED.findall(re.sub(r"[~:]n?\}", "}", each))) for each in (said, key))
        if mine != theirs and key not in words():
            wrong.append((key, said))
    assert wrong == []


def test_every_message_is_translated_as_its_own_template_says() -> None:
    """Two templates that fit one message say the same, or the one that says more of it itself is meant."""
    wrong, english = [], []
    for key, said in translations("zh", parts=False).items():
        template = parse_template(key)
        values = values_of(template)
        text = template.fill(values)
        told = localized(text, "zh")
        if told == text != as_it_says(said, values):
            english.append(key)
        elif told != as_it_says(said, values):
            wrong.append((text, told, as_it_says(said, values)))
    assert wrong == []
    assert english == [], "these have no constant text to be known by"


HOSTILE = strategies.sampled_from(
    [
        *("`", "``", "` has no field `", "x` is written twice", "1 of 2", "", " ", "\n", "\u202e", "{0}", "{0~}", "{"),
        *("did you mean `judge`?", "a name", "; remove it", ": ", "error[E0101]: no", "，", "不是", "it is `x`"),
    ]
)


@given(strategies.data())
def test_hostile_values_are_kept_as_they_are_or_the_message_stays_english(data: strategies.DataObject) -> None:
    key, said = data.draw(strategies.sampled_from(sorted(translations("zh", parts=False).items())))
    template = parse_template(key)
    values = [data.draw(strategies.sampled_from(["3", "1,200"]) if n else HOSTILE) for n in template.numbers]
    text = template.fill(values)
    told = localized(text, "zh")
    if told == text:
        return
    # Another template may fit too, but then the text is literally one of its messages, and loses no value of it.
    assert told == as_it_says(said, values) or literally(text, told), (text, told)


def literally(text: str, told: str) -> bool:
    """Return true if every word in backticks and every number of a message is in its translation."""
    kept = re.compile(r"`[^`]*`|\d+")
    return not Counter(kept.findall(text)) - Counter(kept.findall(told))


def test_what_a_value_is_for_is_translated_as_a_whole() -> None:
    """The place of a value in a message about its type: no part of it is taken for a sentence of its own."""
    sources = (Path(__file__).parents[2] / "compiler/tripos_compiler/lowering").rglob("*.py")
    places = {
        each
        for path in sources
        for each in re.findall(r'(?:\.expression|\bcheck)\([^\n]*, "([^"]+)"\)', path.read_text("utf-8"))
    }
    assert len(places) > 5
    assert {each for each in places if re.search("[a-z]", localized(each, "zh"))} == set()


def test_english_is_never_touched() -> None:
    assert all(localized(key, "en") is key for key in translations("zh"))


@pytest.mark.parametrize("leg", UNTRANSLATED)
def test_messages_without_a_translation_do_not_grow(leg: str) -> None:
    known = translations("zh")
    missing = sorted(
        f"{each.path}: {each.key}"
        for each in messages().values()
        if each.told and each.path.startswith(f"{leg}/") and each.key not in known
    )
    said = "\n".join(missing)
    assert len(missing) <= UNTRANSLATED[leg], f"translate these (python -m tests.languages.messages {leg}):\n{said}"


def help_texts(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield every text of the help of a command and of the commands in it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from (each.help for each in action._choices_actions if each.help)
            for inner in action.choices.values():
                yield from help_texts(inner)
        elif action.help and action.help != argparse.SUPPRESS:
            yield action.help


def test_every_text_of_the_help_is_translated() -> None:
    english = {text for text in help_texts(build_parser()) if localized(text, "zh") == text}
    assert sorted(english) == []


def test_a_command_in_english_reads_no_catalogue(tmp_path: Path) -> None:
    code = (
        "import sys; from tripos.cli.main import run_command; run_command(['check', 'nothing']);"
        "from tripos_compiler.diagnostics.i18n import translations as t; print(t.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == ["0"]


def test_the_language_is_that_of_the_variable_or_of_the_system(
    tripos: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "error[E0108]" in tripos("check", "nothing").err
    monkeypatch.delenv("TRIPOS_LANG")
    assert "错误[E0108]：" in tripos("check", "nothing").err
    monkeypatch.setenv("TRIPOS_LANG", "klingon")
    failed = tripos("check", "nothing")
    assert (failed.code, "`TRIPOS_LANG` cannot be `klingon`" in failed.err) == (2, True)


def test_programs_are_told_the_same_in_every_language(
    tripos: Command, quiz: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = quiz / "quiz.tripos"
    spec.write_text(spec.read_text("utf-8").replace("over item\n", "over itme\n"), "utf-8")
    said = {}
    for language in ("en", "zh"):
        monkeypatch.setenv("TRIPOS_LANG", language)
        said[language] = [tripos("check", str(spec), "--format", form).out for form in ("json", "sarif", "github")]
        said[language, "text"] = tripos("check", str(spec)).err
    assert said["en"] == said["zh"]
    assert said["en", "text"] != said["zh", "text"]
