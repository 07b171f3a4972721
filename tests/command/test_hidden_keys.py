"""The keys of the environment stand in no text that is shown, whatever their form."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.each import each
from tripos.cli.parser import show_failure
from tripos.settings.secrets import HIDDEN, is_key_like, key_values, without_keys
from tripos_compiler.errors import TriposError
from tripos_runtime.models.catalog import secret_variables, set_file_variables


def test_a_key_of_no_known_form_is_taken_out() -> None:
    shown = without_keys("refused pass-phrase and abcdef123.", ["pass-phrase", "abcdef123"])
    assert shown == f"refused {HIDDEN} and {HIDDEN}."


def test_a_key_in_an_address_is_taken_out() -> None:
    assert without_keys("https://ann:pass@example.org/v1") == f"https://{HIDDEN}@example.org/v1"
    assert without_keys("at https://ann:pass@example.org/v1 nobody answers") == (
        f"at https://{HIDDEN}@example.org/v1 nobody answers"
    )


@each("text", ["results/task-specific", "openai/risk-assessment-v2", "a desk-research-plan", "a mask-language-model"])
def test_a_word_in_which_the_prefix_of_a_key_stands_is_no_key(text: str) -> None:
    assert not is_key_like(text)
    assert without_keys(text) == text


def test_a_key_after_an_escaped_character_is_taken_out() -> None:
    key = "sk-0123456789abcdef"
    for text in (
        json.dumps(f"the key\n{key}"),
        f"the key \\u0022{key}",
        quote(f"key={key}"),
        f"\\x27{key}",
        f"\x1b[31m{key}",
        f"KEY_{key}",
        f"é{key}",
    ):
        assert key in text
        assert HIDDEN in without_keys(text)
        assert key not in without_keys(text)


@each("name", sorted(secret_variables()))
def test_the_secrets_of_every_provider_are_taken_out(name: str) -> None:
    assert key_values({name: "pass-phrase"}) == ("pass-phrase",)


def test_a_failure_does_not_show_the_key_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    set_file_variables([{"TUTOR_API_KEY": "pass-phrase"}])
    try:
        show_failure(TriposError("R0108", "the endpoint refused pass-phrase", "give another than pass-phrase"))
    finally:
        set_file_variables([])
    shown = capsys.readouterr().err
    assert HIDDEN in shown
    assert "pass-phrase" not in shown
