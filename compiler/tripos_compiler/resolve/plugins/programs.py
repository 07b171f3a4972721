"""Scorers that are programs of their own: Python files, and services.

The compiler starts none of them. A file counts by its SHA-256; anything else by its name and version, which the program
must say of itself when it is started.
"""

from __future__ import annotations

import posixpath
import re

from tripos_compiler.constructs import Statement
from tripos_compiler.plan import BoolType, Plugin
from tripos_compiler.resolve import Program, path_beside
from tripos_compiler.resolve.plugins.loading import plugin_version, read_beside, report
from tripos_compiler.resolve.plugins.signatures import Unusable, parse_python

WRITTEN = 'it is written `"file.py"`, relative to this file, or `"NAME VERSION"`, such as `"unit-tests 1.4"`'
SERVICE = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*) (?P<version>[A-Za-z0-9][A-Za-z0-9._+-]*)")


def read_program(program: Program, statement: Statement) -> Plugin | None:
    """Return the program that `from program "…"` means, as a plug-in without parameters. None, reported, where there is
    none such."""
    written = statement.text("path")
    try:
        found = SERVICE.fullmatch(written.value)
        if found is not None:
            return _plugin(None, written.value, "service")
        if not written.value.endswith(".py"):
            raise Unusable("E0106", f'"{written.value}" names no program', WRITTEN)
        if re.match(r"[/\\~]|[A-Za-z]:", written.value):
            raise Unusable("E0310", f"`{written.value}` is an absolute path", WRITTEN)
        place = path_beside(written.span.source.path, written.value)
        source = read_beside(program, place)
        parse_python(source)
    except Unusable as reason:
        report(program, reason, written.span)
        return None
    main = posixpath.dirname(program.sources[0].path) or "."
    release = program.release_of(written.span)
    inside = None if release is None else release.inside(place)
    return _plugin(
        posixpath.relpath(place, main) if inside is None else inside,
        plugin_version(source.text),
        "file",
        None if release is None or inside is None else release.label,
    )


def _plugin(path: str | None, version: str, external: str, release: str | None = None) -> Plugin:
    return Plugin.model_validate(
        {
            "name": "",
            "path": path,
            "function": "",
            "version": version,
            "parameters": {},
            "returns": BoolType(),
            "release": release,
            "external": external,
        }
    )
