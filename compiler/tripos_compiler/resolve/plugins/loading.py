"""Plug-ins: functions of the user's in Python, from a file beside the spec or from an installed package.

A package offers functions by entry points of the group `tripos.functions`; what an entry point is called is what a spec
calls it. The compiler executes none of this: signatures are read from the source text.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.language import subexpressions
from tripos_compiler.plan import Call, Expr, Plugin
from tripos_compiler.resolve import Program, path_beside
from tripos_compiler.resolve.plugins.purity import why_impure
from tripos_compiler.resolve.plugins.siblings import SiblingFiles, digest_of_files
from tripos_compiler.resolve.plugins.signatures import PythonFile, PythonFunction, Unusable, parse_python
from tripos_compiler.source import Source, Span, package_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

WRITTEN = 'it is written `"file.py:function"`, with a path relative to this file'
MOST_IMPORTS = 8
"""So many modules a package may pass a function on through."""


def plugin_version(text: str) -> str:
    """Return the version of a plug-in in a file that stands alone: the SHA-256 of its text, as `Path.read_text` gives
    it.

    >>> plugin_version("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode()).hexdigest()


def find_plugin(program: Program, name: str, where: Span | None = None) -> Plugin | None:
    """Return the function of that name that the spec declares, or else that of an installed package, which is then a
    plug-in of the program. None where there is none, or where it was reported, at `where` for a package's."""
    if name in program.plugins:
        return program.plugins[name]
    if name in program.declared.get("function", {}) or name in program.declared.get("scorer", {}):
        return None
    found = program.packages.entries.pop(name, ())  # looked at once, so a mistake in it is reported once
    if not found:
        return None
    try:
        program.plugins[name] = _packaged(name, found)
    except Unusable as reason:
        report(program, reason, where or Span(program.sources[0], 0, 0))
        program.diagnostics.lost_names.add(name)
        return None
    return program.plugins[name]


def read_python(program: Program, statement: Statement, *, alone: bool = False) -> tuple[Plugin, PythonFunction] | None:
    """Return the function that `from "file.py:function"` means, as a plug-in of that name. None, reported, where there
    is none such, or where a file that has to stand `alone` imports one beside it."""
    return _read(program, statement, PythonFile.function, alone=alone)


def read_tool_function(program: Program, statement: Statement) -> tuple[Plugin, PythonFunction] | None:
    """Return the same of a function that a model calls, which says no types: those of the tool are."""
    return _read(program, statement, PythonFile.tool_function, alone=True)


def _read(
    program: Program, statement: Statement, find: Callable[[PythonFile, str], PythonFunction], *, alone: bool
) -> tuple[Plugin, PythonFunction] | None:
    written = statement.text("path")
    path, colon, function = written.value.rpartition(":")
    try:
        if not colon or not path or not function.isidentifier():
            raise Unusable("E0106", f'"{written.value}" names no function of a Python file', WRITTEN)
        if re.match(r"[/\\~]|[A-Za-z]:", path):
            raise Unusable("E0310", f"`{path}` is an absolute path", WRITTEN)
        place = path_beside(written.span.source.path, path)
        source = read_beside(program, place)
        file = parse_python(source)
        found = find(file, function)
        siblings = SiblingFiles(program, place)
        siblings.look(place, file.module)
        if alone and siblings.texts:
            message = f"`{path}` imports `{posixpath.basename(next(iter(siblings.texts)))}` beside it"
            raise Unusable("E0310", message, "the file of an aggregate or a tool stands alone: put all into one")
        files = _files_of(program, written.span, {place: source, **siblings.texts})
    except Unusable as reason:
        report(program, reason, written.span)
        return None
    release = program.release_of(written.span)
    inside = None if release is None else release.inside(place)
    proved = why_impure(file.module, place if siblings.texts else path, siblings.found) is None
    plugin = Plugin(
        name=function,
        path=next(iter(files)),
        function=function,
        version=plugin_version(source.text) if len(files) == 1 else plugin_version(digest_of_files(files)),
        parameters=found.parameters,
        optional=found.optional,
        returns=found.returns,
        release=None if release is None or inside is None else release.label,
        purity="proved" if proved else "declared" if statement.has("pure") else None,
        modules=files if len(files) > 1 else {},
    )
    return plugin, found


def _files_of(program: Program, where: Span, sources: Mapping[str, Source]) -> dict[str, str]:
    """Return the digests of Python files by the paths that the plan has for them. Raises `Unusable`, E0310, where one
    of a release lies outside of it."""
    main = posixpath.dirname(program.sources[0].path) or "."
    release = program.release_of(where)
    first = next(iter(sources))
    within = release is not None and release.inside(first) is not None
    found = {}
    for place, source in sources.items():
        inside = release.inside(place) if release is not None and within else posixpath.relpath(place, main)
        if inside is None:
            raise Unusable("E0310", f"`{place}` lies outside of the release of `{first}`", "get the release again")
        found[inside] = plugin_version(source.text)
    return found


def is_known_early(program: Program, expr: Expr, where: Span) -> bool:
    """Return true if the compiler can evaluate an expression that it must know the value of; reports one that calls a
    plug-in, since it executes none."""
    called = next(
        (p.function for p in subexpressions(expr) if isinstance(p, Call) and p.function in program.plugins), None
    )
    if called is not None:
        message = f"this is decided before a run, and `{called}` is only called in one"
        help_ = "use functions of the library here, or keep what it gives in a column of the data"
        program.diagnostics.error("E0314", message, where, help=help_)
    return called is None


def report(program: Program, reason: Unusable, where: Span) -> None:
    """Report what is wrong with a Python function at the place of the spec that names it."""
    labels = () if reason.span is None else (Label(reason.span),)
    program.diagnostics.error(reason.code, reason.message, where, *labels, help=reason.help)


def read_beside(program: Program, path: str, written: str = WRITTEN) -> Source:
    """Return a Python file of the spec. Raises `Unusable`, E0310, where it cannot be read; `written` says how it is
    named."""
    assert program.read_text is not None, "`resolve` sets it"
    try:
        return Source(path, program.read_text(path))
    except FileNotFoundError:
        raise Unusable("E0310", f"there is no file `{path}`", written) from None
    except UnicodeDecodeError:
        raise Unusable("E0310", f"`{path}` is not UTF-8 text", "save it as UTF-8") from None
    except (OSError, ValueError) as error:  # a name with a null character is a `ValueError`
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise Unusable("E0310", f"cannot read `{path}`: {reason}", "check the path and its permissions") from None


def _packaged(name: str, found: tuple[EntryPoint, ...]) -> Plugin:
    if len(found) > 1:
        packages = " and ".join(sorted(package_of(entry) for entry in found))
        raise Unusable("E0202", f"`{name}` is a function of {packages}", "remove one of the packages")
    (entry,) = found
    try:
        signature, impure = _passed_on(entry)
    except Unusable as reason:
        message = f"`{name}` of the package {package_of(entry)}: {reason.message}"
        raise Unusable(reason.code, message, reason.help, reason.span) from None
    return Plugin(
        name=name,
        path=None,
        function=entry.value,
        version=f"{package_of(entry)} {entry.dist.version}" if entry.dist is not None else entry.value,
        parameters=signature.parameters,
        optional=signature.optional,
        returns=signature.returns,
        purity="proved" if impure is None else None,
    )


def _passed_on(entry: EntryPoint) -> tuple[PythonFunction, str | None]:
    """Return the signature of an entry point's function, which its module may import from another, and what keeps it
    from being proved pure."""
    module, name = entry.module, entry.attr
    if not name.isidentifier():
        raise Unusable(
            "E0311", f"`{entry.value}` is no function of a module", "its entry point must be `module:function`"
        )
    for _ in range(MOST_IMPORTS):
        spec, file = _module(module)
        origin = file.imported(name)
        if origin is None:
            return file.function(name), why_impure(file.module, module, _of_package)
        package = module if spec.submodule_search_locations is not None else module.rpartition(".")[0]
        try:
            module, name = importlib.util.resolve_name(origin[0], package), origin[1]
        except ImportError:
            break
    raise Unusable(
        "E0311", f"`{name}` is passed on by too many modules", "its entry point must name where it is defined"
    )


def _of_package(written: str, within: str) -> tuple[str, ast.Module] | None:
    """Return a module of the same package that the module `within` imports; None where it is of another, or is not
    found."""
    try:
        spec, _ = _module(within)
        package = within if spec.submodule_search_locations is not None else within.rpartition(".")[0]
        name = importlib.util.resolve_name(written, package)
        if name.partition(".")[0] != within.partition(".")[0]:
            return None
        return name, _module(name)[1].module
    except (ImportError, Unusable):
        return None


def _module(name: str) -> tuple[ModuleSpec, PythonFile]:
    spec = _spec(name)
    get_source: Any = getattr(spec.loader, "get_source", None) if spec is not None else None
    try:
        text = get_source(name) if get_source is not None else None
    except (ImportError, OSError, SyntaxError, UnicodeDecodeError):
        text = None
    if spec is None or text is None:
        raise Unusable("E0310", f"the source of `{name}` is not found", "install the package with its Python source")
    return spec, parse_python(Source(f"{name.replace('.', '/')}.py", text))


def _spec(name: str) -> ModuleSpec | None:
    """Return where a module lies. `importlib.util.find_spec` would import the packages that it is in; this imports
    nothing."""
    parts = name.split(".")
    spec = next(filter(None, _finders(parts[0])), None)
    for index in range(1, len(parts)):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(".".join(parts[: index + 1]), spec.submodule_search_locations)
    return spec


def _finders(name: str) -> Iterator[ModuleSpec | None]:
    for finder in sys.meta_path:  # an editable package has a finder of its own
        find: Any = getattr(finder, "find_spec", None)
        if find is not None:
            yield find(name, None)
