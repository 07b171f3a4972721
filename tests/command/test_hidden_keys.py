"""The keys of the environment stand in no text that is shown, whatever their form."""

from __future__ import annotations

from tripos.settings.secrets import HIDDEN, without_keys


def test_a_key_of_no_known_form_is_taken_out() -> None:
    shown = without_keys("refused pass-phrase and abcdef123.", ["pass-phrase", "abcdef123"])
    assert shown == f"refused {HIDDEN} and {HIDDEN}."


def test_a_key_in_an_address_is_taken_out() -> None:
    assert without_keys("https://ann:pass@example.org/v1") == f"https://{HIDDEN}@example.org/v1"
    assert without_keys("at https://ann:pass@example.org/v1 nobody answers") == (
        f"at https://{HIDDEN}@example.org/v1 nobody answers"
    )
