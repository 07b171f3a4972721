"""Folders and files of this machine, told from addresses that nobody serves here."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
"""Two letters at least: one is a drive, `C:/results`. Of two strokes a path keeps one."""


def why_no_folder(place: str) -> tuple[str, str] | None:
    """Why a place is no folder or file of this machine, and what to give instead; None where it is one.

    >>> why_no_folder("s3://bucket/results")
    ('`s3://bucket/results` is an address of `s3`, which is not served', 'give a folder or file of this machine')
    >>> why_no_folder("file:///srv/results")
    ('`file:///srv/results` is an address of `file`, which is not served', 'write it as a path: /srv/results')
    >>> why_no_folder("results"), why_no_folder("C:/results")
    (None, None)
    """
    address = _ADDRESS.match(place)
    if address is None:
        return None
    scheme = address[1].lower()
    message = f"`{place}` is an address of `{scheme}`, which is not served"
    if scheme == "file":
        from urllib.parse import unquote

        return message, f"write it as a path: /{unquote(address[2].removeprefix('localhost/'))}"
    return message, "give a folder or file of this machine"
