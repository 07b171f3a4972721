"""The variables of providers: those of the environment, and those that a file `.env` may give.

What a file gives never becomes part of `os.environ`: no child process, no cloud client and no library sees it. It is
kept here, and the readers of keys and addresses ask here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from tripos_runtime.models.catalog.providers import Provider

_given: list[Mapping[str, str]] = []


def give_variables(files: Iterable[Mapping[str, str]]) -> None:
    """Take the variables of files, the first file first, in place of those that were given before."""
    _given[:] = [dict(file) for file in files]


def given_variables() -> tuple[Mapping[str, str], ...]:
    """Return the variables of each file that was given."""
    return tuple(_given)


def every_variable() -> dict[str, str]:
    """Return the variables of the environment, and of the files those that are not set there."""
    found: dict[str, str] = {}
    for file in reversed(_given):
        found |= file
    return found | {name: text for name, text in os.environ.items() if text.strip() or name not in found}


def variable(name: str) -> str:
    """Return a variable of the environment, or else of the first file that has it; "" if it is not set."""
    places: tuple[Mapping[str, str], ...] = (os.environ, *_given)
    return next((text for place in places if (text := place.get(name, "").strip())), "")


def gives(file: Mapping[str, str], provider: Provider) -> bool:
    """Return true if a file may say more of a provider than its key, such as its address: if the key comes from the
    same file, or there is none. So a key of the environment, or of another file, goes to no address of this one.

    >>> provider = Provider("https://a/v1", ("A_API_KEY",), ("A_API_BASE",))
    >>> gives({"A_API_BASE": "http://b/v1"}, provider), gives({"A_API_BASE": "http://b/v1", "A_API_KEY": "x"}, provider)
    (False, True)
    """
    if any(os.environ.get(name, "").strip() for name in provider.keys):
        return False
    return provider.key_unset is not None or any(file.get(name, "").strip() for name in provider.keys)


def variables_of(provider: Provider, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables of a provider that are set: of `environ`, or without one of the environment and the files.

    If a file says the address, nothing of the environment goes there.
    """
    own = _set(provider, os.environ if environ is None else environ)
    for file in _given if environ is None else []:
        found = _set(provider, file)
        if found and gives(file, provider):
            return found if found.keys() & set(provider.base_urls) else {**found, **own}
    return own


def _set(provider: Provider, place: Mapping[str, str]) -> dict[str, str]:
    names = (*provider.keys, *provider.beside_key)
    return {name: text for name in names if (text := place.get(name, "").strip())}
