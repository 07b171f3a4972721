"""Scorers that are programs of their own: Python files, programs that come with Tripos, and services.

The compiler starts none of them. A file counts by its SHA-256; anything else by its name and version, which the program
must say of itself when it is started.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from types import MappingProxyType

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import BoolType, IntegerType, ListType, NumberType, Plugin, TextType, Type
from tripos_compiler.resolve import Program, path_beside
from tripos_compiler.resolve.plugins.loading import plugin_version, read_beside, report
from tripos_compiler.resolve.plugins.signatures import Unusable, parse_python
from tripos_compiler.source import dataclass

WRITTEN = 'it is written `"file.py"`, relative to this file, or `"NAME VERSION"`, such as `"unit-tests 1.4"`'
OWN = "python-"
"""Names that begin so are those of programs that come with Tripos."""
SERVICE = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*) (?P<version>[A-Za-z0-9][A-Za-z0-9._+-]*)")


@dataclass(frozen=True)
class ShippedProgram:
    """A program that comes with Tripos: its version, its parameters, those that may be left out, and what it can
    give."""

    version: str
    parameters: Mapping[str, Type]
    optional: frozenset[str]
    returns: tuple[str, ...]


_LIMITS: Mapping[str, Type] = {"seconds": NumberType(), "memory_mb": IntegerType()}
_TEXTS = ListType(of=TextType())
SHIPPED: Mapping[str, ShippedProgram] = MappingProxyType(
    {
        "python-tests": ShippedProgram(
            "2",
            {"code": TextType(), "tests": TextType(), "entry": TextType(), **_LIMITS},
            frozenset({"entry", *_LIMITS}),
            ("bool",),
        ),
        "python-programs": ShippedProgram(
            "1",
            {"code": TextType(), "inputs": _TEXTS, "outputs": _TEXTS, **_LIMITS},
            frozenset(_LIMITS),
            ("bool",),
        ),
    }
)
"""The programs that come with Tripos, by name. `tripos_runtime.asking.functions.code` has what they do."""


def read_program(program: Program, statement: Statement) -> Plugin | None:
    """Return the program that `from program "…"` means, as a plug-in without parameters. None, reported, where there is
    none such."""
    written = statement.text("path")
    try:
        found = SERVICE.fullmatch(written.value)
        if found is not None:
            return _named(written.value, found["name"], found["version"])
        if not written.value.endswith(".py"):
            raise Unusable("E0106", f'"{written.value}" names no program', WRITTEN)
        if re.match(r"[/\\~]|[A-Za-z]:", written.value):
            raise Unusable("E0310", f"`{written.value}` is an absolute path", WRITTEN)
        place = path_beside(written.span.source.path, written.value)
        source = read_beside(program, place, WRITTEN)
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


def _named(written: str, name: str, version: str) -> Plugin:
    shipped = SHIPPED.get(name)
    if shipped is None and name.startswith(OWN):
        close = nearest(name, SHIPPED)
        help_ = f"did you mean `{close}`?" if close else f"its programs are {', '.join(SHIPPED)}"
        raise Unusable("E0106", f"Tripos has no program `{name}`", help_)
    if shipped is None:
        return _plugin(None, written, "service")
    if version != shipped.version:
        message = f"`{name}` has no version {version} here"
        raise Unusable("E0106", message, f'write "{name} {shipped.version}"')
    return _plugin(None, written, "shipped")


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
