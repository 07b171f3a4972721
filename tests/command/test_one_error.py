"""There is one error that a user can act on: any of its kinds ends any command with its own words and exit code."""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import given, strategies as st

import tripos
import tripos_compiler
import tripos_runtime
import tripos_warehouse
from tests.sources import modules, nodes_of, tree_of
from tripos.cli import main as entry
from tripos.cli.context import Outcome
from tripos.cli.parser import COMMANDS
from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.errors import ExitCode, TriposError

LEGS = (tripos_compiler, tripos_runtime, tripos_warehouse, tripos)
ENDS = {"exit", "_exit", "SystemExit"}
SEPARATE_PROGRAMS = ("asking/functions/inside/", "models/local_server.py", "lm_eval_row_writer.py", "inspect_reader.py")
"""Files that run in a process of their own, without Tripos."""
HAND_OVER = {"Stopped.because", "ModelError.of_further_sample"}
"""What turns the error of one call into that of another: the error that ends the run, which is told apart by its class,
and the error of a further sample, which counts no attempt."""


def _kinds() -> list[type[TriposError]]:
    """Return every class of errors."""
    for leg in LEGS[1:]:
        for module in pkgutil.walk_packages(leg.__path__, f"{leg.__name__}."):
            if module.name.rpartition(".")[2] in (
                "errors",
                "base",
                "budget",
                "binding",
                "selection",
                "calling",
                "trust",
            ):
                importlib.import_module(module.name)
    found, open_ = [], [TriposError]
    while open_:
        found.append(kind := open_.pop())
        open_ += kind.__subclasses__()
    return sorted(set(found), key=lambda kind: (kind.__module__, kind.__name__))


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call with the qualified name of the function it is in."""

    def walk(node: ast.AST, name: str) -> Iterator[tuple[str, ast.Call]]:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{name}.{node.name}".strip(".")
        if isinstance(node, ast.Call):
            yield name, node
        for child in ast.iter_child_nodes(node):
            yield from walk(child, name)

    yield from walk(tree, "")


ERRORS = frozenset(kind.__name__ for kind in _kinds())


def _is_copy(call: ast.Call) -> bool:
    """Return true if a call takes code, message and hint of one error unchanged."""
    fields = [ast.unparse(each).rpartition(".") for each in call.args[:3]]
    return [name for _, _, name in fields] == ["code", "message", "hint"] and len(
        {owner for owner, _, _ in fields}
    ) == 1


def _faults(path: Path) -> Iterator[str]:
    separate = any(part in path.as_posix() for part in SEPARATE_PROGRAMS)
    for where, call in _calls(tree_of(path)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        is_error = name in ERRORS or name == "cls" or name.endswith("Error")
        if is_error and _is_copy(call) and where not in HAND_OVER:
            yield f"{path}:{call.lineno} copies an error into another: {ast.unparse(call)}"
        codes = [each for each in call.args if name in ENDS and not separate]
        codes += [each.value for each in call.keywords if each.arg == "exit_code"]
        if any(isinstance(code, ast.Constant) and isinstance(code.value, int) for code in codes):
            yield f"{path}:{call.lineno} has a bare exit code: {ast.unparse(call)}"
    for node in nodes_of(path):
        if isinstance(node, ast.Tuple | ast.List | ast.Compare | ast.IfExp):
            parts = [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.Call)]
            bare = any(isinstance(each, ast.Constant) and isinstance(each.value, int) for each in parts)
            if bare and any(ast.unparse(each).startswith("ExitCode.") for each in parts):
                yield f"{path}:{node.lineno} has a bare exit code: {ast.unparse(node)}"


def test_no_error_is_copied_into_another_and_no_exit_code_is_bare() -> None:
    assert list(itertools.chain.from_iterable(map(_faults, modules()))) == []


def test_only_one_class_has_the_fields_of_an_error() -> None:
    def own_fields(node: ast.ClassDef) -> bool:
        stored = {
            ast.unparse(target)
            for each in ast.walk(node)
            if isinstance(each, ast.Assign)
            for target in each.targets
            if isinstance(target, ast.Attribute) and target.attr in ("message", "hint")
        }
        return {"self.message", "self.hint"} <= stored

    classes = (
        (path.name, node.name)
        for path in modules()
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and own_fields(node)
    )
    assert list(classes) == [("errors.py", "TriposError")]


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_every_command_returns_an_outcome(verb: str) -> None:
    command = COMMANDS[verb]
    main = getattr(importlib.import_module(f"tripos.cli.{command.module}"), command.main)
    assert get_type_hints(inspect.unwrap(main))["return"] is Outcome


WORDS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=40)


def _error(kind: type[TriposError], code: str, message: str, hint: str, exit_code: ExitCode) -> TriposError:
    error = kind.__new__(kind)
    TriposError.__init__(error, code, message, hint, exit_code)
    error.__dict__.setdefault("diagnostics", ())
    return error


@given(
    verb=st.sampled_from(sorted(COMMANDS)),
    kind=st.sampled_from(_kinds()),
    code=st.sampled_from(sorted(CODES)),
    message=WORDS,
    hint=WORDS | st.just(""),
    exit_code=st.sampled_from(list(ExitCode)),
)
def test_any_error_in_any_command_ends_it_with_its_own_words(
    verb: str, kind: type[TriposError], code: str, message: str, hint: str, exit_code: ExitCode
) -> None:
    command = COMMANDS[verb]
    module = importlib.import_module(f"tripos.cli.{command.module}")

    def fail(_: object) -> Outcome:
        raise _error(kind, code, message, hint, exit_code)

    class Parser:
        def parse_args(self, arguments: object) -> argparse.Namespace:
            return argparse.Namespace(verb=verb)

    with pytest.MonkeyPatch.context() as patch:
        told: list[str] = []
        patch.setenv("LANGUAGE", "en")
        patch.setattr(entry, "build_parser", lambda chosen: Parser())
        patch.setattr(module, command.main, fail)
        patch.setattr("sys.stderr", _Lines(told))
        ended = entry.run_command([verb])
    text = "".join(told)
    assert ended is exit_code
    assert text.startswith(f"error[{code}]: {message}\n")
    assert (f"  = help: {hint}\n" in text) == bool(hint)
    assert "internal error" not in text


class _Lines:
    """A stream that is no terminal and keeps what is written."""

    encoding, errors = "utf-8", "strict"

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append

    def isatty(self) -> bool:
        return False

    def flush(self) -> None:
        pass
