"""The language of the reader: `TRIPOS_LANG`, or that of the system's messages; English where neither is known."""

from __future__ import annotations

import os
from collections.abc import Mapping

LANGUAGE = "TRIPOS_LANG"
LANGUAGES = ("en", "zh")
"""The languages that Tripos writes messages in."""
LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The variables in which a system says the language of messages; the first that is set counts."""


def named_language(text: str) -> str | None:
    """Return the language that a locale names, or None where it is none of ours.

    >>> named_language("zh_CN.UTF-8"), named_language("ZH"), named_language("en-GB"), named_language("fr")
    ('zh', 'zh', 'en', None)
    """
    name = text.strip().replace("-", "_").partition(".")[0].partition("_")[0].casefold()
    return name if name in LANGUAGES else None


def reader_language(environ: Mapping[str, str] | None = None) -> str:
    """Return the language of messages. A `TRIPOS_LANG` that names no language of ours is English here; the command line
    refuses it.

    >>> reader_language({"LANG": "zh_CN.UTF-8"}), reader_language({"LC_ALL": "C", "LANG": "zh_CN"}), reader_language({})
    ('zh', 'en', 'en')
    >>> reader_language({"LANG": "en_GB", "TRIPOS_LANG": "zh"})
    'zh'
    """
    environ = os.environ if environ is None else environ
    said = environ.get(LANGUAGE, "").strip() or next((environ[name] for name in LOCALES if environ.get(name)), "")
    return named_language(said) or "en"
