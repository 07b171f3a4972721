"""Results and specs in the forms of other tools.

An exporter writes the results of a run, and an emitter the questions of a spec. The built-in exporters are
the table of `exporters`, the built-in emitters the modules of `emitters`; those of plug-ins have the same form.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.settings.option import Option
from tripos_compiler.source.entry_points import Registry

if TYPE_CHECKING:
    from tripos.exporting.questions import SpecQuestions
    from tripos_compiler.plan import Plan
    from tripos_warehouse.query.connection import Connection
    from tripos_warehouse.store.store import Store
    from tripos_warehouse.views.runs import RunRecord


class Verbatim(str):
    """A line that is printed as it is, such as a path. Other lines are translated."""

    __slots__ = ()


@dataclass(frozen=True)
class OpenRun:
    """A run to export: its store, its plan, and a connection with the views of its benchmark."""

    store: Store
    connection: Connection
    plan: Plan
    record: RunRecord


@dataclass(frozen=True)
class Written:
    """The result of an export: a summary for `--json`, and the same as lines for people."""

    summary: Mapping[str, Any]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Exporter:
    """A form of results, with a help of one line.

    `write` gets the run and the options of the command, and raises `TriposError`. `options` are those options of
    `tripos export` that have a meaning for it, besides the ones that all exporters have.
    """

    help: str
    write: Callable[[OpenRun, Namespace], Written]
    options: tuple[Option[Any], ...] = ()
    declared_as: str = ""
    """The kind of the `export` statements of a spec that it writes, if there is one."""


@dataclass(frozen=True)
class Emitter:
    """A form of specs, with a help of one line.

    `write` gets the questions and the folder, writes files, records in the questions what the form cannot express, and
    returns the paths. An emitter that does not read rows gets a spec without questions.
    """

    help: str
    write: Callable[[SpecQuestions, Path], list[Path]]
    reads_rows: bool = True


EMITTERS = Registry("tripos.emitters", "emitter", Emitter, "tripos.exporting.emitters", "EMITTER")
