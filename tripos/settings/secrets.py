"""API keys: how they are recognized, found in settings, and removed from texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HIDDEN = "(hidden)"
SHORTEST = 8
"""The minimum length of a key. Removing shorter values would damage other words."""

_START = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrtv])|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=%[0-9A-Fa-f]{2})|(?<=[0-9]m))"
)
"""The beginning of a word, also after an escaped character of a text or an address, or a colour of the terminal. There
is none before `sk-` in `task-specific`, so it begins no key."""

_REST = r"""[^\s"'`,;<>()\[\]{}\\]{8,}"""
"""The characters of a key after its prefix; none that can end a text in JSON or a sentence."""
KNOWN_FORMS = re.compile(
    rf"(?:Bearer\s+{_REST}|{_START}(?:sk-|sk_|gsk_|xai-|hf_|r8_|pplx-|nvapi-|fw_|tgp_|gh[pousr]_|ya29\.){_REST}"
    r"|AIza[\w-]{20,}|AKIA[0-9A-Z]{12,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
KEY_NAME = re.compile(
    r"(?:^|_)(?:keys?|(?:zen)?apikey|tokens?|bearer_token_\w+|jwt|secrets?|passwords?|passwd|credentials?|authorization)$",
    re.I,
)
"""The form of names of settings and variables that have a key as their value."""
NO_KEY_NAME = re.compile(r"(?:^|_)tokens(?:_per_minute)?$", re.I)
"""The form of names of settings with a number of tokens."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ADDRESS_WITH_KEY = re.compile(r"://[^/\s@]+@|[?&](?:api[-_]?key|key|token|secret)=", re.I)


def is_key_like(text: str) -> bool:
    """Return true if a text has the form of an API key or contains one, also in an address.

    >>> is_key_like("sk-proj-0123456789"), is_key_like("https://ann:pass@example.org/v1")
    (True, True)
    >>> is_key_like("results/task-specific")
    False
    >>> is_key_like("openai/gpt-4o"), is_key_like("OPENAI_API_KEY"), is_key_like("results")
    (False, False, False)
    """
    return bool(KNOWN_FORMS.search(text) or ADDRESS_WITH_KEY.search(text))


def is_variable(text: str) -> bool:
    """Return true if a text may be the name of an environment variable and is not itself a key.

    >>> is_variable("OPENAI_API_KEY"), is_variable("9f8a-77"), is_variable("a1b2c3d4e5f6a7b8c9d0e1f2")
    (True, False, False)
    """
    is_random = len(text) >= 20 and "_" not in text and bool(re.search(r"\d", text)) and bool(re.search(r"[a-z]", text))
    return bool(VARIABLE.fullmatch(text)) and not is_random and not is_key_like(text)


def keys_in(table: Mapping[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of values that look like keys in a table of settings at the path `place`. A name that is a key is
    hidden in its path.

    >>> list(keys_in({"endpoints": {"openai": {"base_url": "http://x/v1", "api_key": "0123456789"}}}))
    [('endpoints', 'openai', 'api_key')]
    >>> list(keys_in({"endpoints": {"openai": {"api_key_env": "sk-0123456789abcdef"}}}))
    [('endpoints', 'openai', 'api_key_env')]
    """
    for name, value in table.items():
        path = (*place, name)
        if is_key_like(name):
            yield (*place, HIDDEN)
        elif isinstance(value, Mapping):
            yield from keys_in(value, path)
        else:
            texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
            named_key = KEY_NAME.search(name) and not NO_KEY_NAME.search(name) and any(texts)
            misplaced = name == "api_key_env" and any(not is_variable(text) for text in texts)
            tables = [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
            if named_key or misplaced or any(is_key_like(text) for text in texts):
                yield path
            for each in tables:
                yield from keys_in(each, path)


def key_values(environ: Mapping[str, str], variables: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the values of the environment that must never be shown, longest first, so that a value within another one
    is replaced after it: those of variables with the name of a key, and of `variables`.

    >>> key_values({"OPENAI_API_KEY": "abcdef123", "HOME": "/home/ann", "TUTOR": "pass-phrase"}, ["TUTOR"])
    ('pass-phrase', 'abcdef123')
    """
    given = set(variables)
    values = {
        value.strip()
        for name, value in environ.items()
        if name in given or (KEY_NAME.search(name) and not NO_KEY_NAME.search(name))
    }
    return tuple(sorted((each for each in values if len(each) >= SHORTEST), key=lambda each: (-len(each), each)))


def without_keys(text: str, values: Iterable[str] = ()) -> str:
    """Return a text with these values, and everything else in the form of a key, replaced.

    >>> without_keys('refused abcdef123 and "sk-0123456789".', ["abcdef123"])
    'refused (hidden) and "(hidden)".'
    >>> without_keys("http://ann:p@ss@example.org/x and http://ann@h/a@b")
    'http://(hidden)@example.org/x and http://(hidden)@h/a@b'
    """
    for value in values:
        text = text.replace(value, HIDDEN)
    text = re.sub(r"(://)[^/\s]+@", rf"\1{HIDDEN}@", text)
    text = re.sub(r"(?i)([?&](?:api[-_]?key|key|token|secret)=)[^&\s]+", rf"\1{HIDDEN}", text)
    return KNOWN_FORMS.sub(HIDDEN, text)


def table_without_keys(value: Any, values: Iterable[str] = ()) -> Any:
    """Return a value with keys replaced in every text of its lists and tables.

    >>> table_without_keys({"text": ["key sk-0123456789"], "number": 3})
    {'text': ['key (hidden)'], 'number': 3}
    """
    if isinstance(value, str):
        return without_keys(value, values)
    if isinstance(value, Mapping):
        return {name: table_without_keys(each, values) for name, each in value.items()}
    return [table_without_keys(each, values) for each in value] if isinstance(value, list) else value


def settings_without_keys(value: Any, name: str = "") -> Any:
    """Return settings of another tool with keys replaced: texts under the name of a key, also in camel case or of a
    header, and texts in the form of a key.

    >>> settings_without_keys({"apiKey": "abc", "headers": {"X-Api-Key": "d"}, "maxTokens": 5, "effort": "high"})
    {'apiKey': '(hidden)', 'headers': {'X-Api-Key': '(hidden)'}, 'maxTokens': 5, 'effort': 'high'}
    """
    if isinstance(value, Mapping):
        return {key: settings_without_keys(each, str(key)) for key, each in value.items()}
    if isinstance(value, list):
        return [settings_without_keys(each, name) for each in value]
    if not isinstance(value, str):
        return value
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_")
    return HIDDEN if KEY_NAME.search(snake) and not NO_KEY_NAME.search(snake) else without_keys(value)
