"""`tripos check`: reports every mistake that can be found without a model; with `--worlds` also the test of secrecy.

The test compares what models would be sent in pairs of worlds that differ only in the secrets. A message that differs
reveals a secret.
"""

from __future__ import annotations

import gc
import os
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tripos.cli.context import show_diagnostics
from tripos.errors import GOOD, SOME_FAILED, USAGE, Failure
from tripos.releases.download import reach_of
from tripos.runs.compilation import SpecSource, earlier_plan, find_spec, holds_parts
from tripos.settings.config import chosen_denials
from tripos.settings.load import load_config
from tripos.settings.trust import check_given, trust_of
from tripos.terminal import print_json, show_message, show_text, terminal_width
from tripos.version import __version__
from tripos_compiler.compile import Compilation
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Label
from tripos_compiler.diagnostics.renderers import render_silenced, summary, to_data
from tripos_compiler.diagnostics.text_format import counted, duration
from tripos_compiler.language.contexts import Clustering, RowClusters
from tripos_compiler.plan import Plan
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.secrecy_trial.seen_requests import Sent
from tripos_runtime.secrecy_trial.trial import SecretLeak, WorldTrial, try_worlds


def main(options: Namespace) -> int:
    """Check every path and print the diagnostics. Return exit code 2 if there are errors, 1 if only the test of secrecy
    failed."""
    gc.disable()  # syntax trees have no cycles worth collecting in a short process
    trust, reach = trust_of(options), reach_of(options)
    config = load_config(Path.cwd(), trust=trust)
    denied = chosen_denials(options, config)
    places = (options.data, config.data, (*options.releases, *config.releases))
    against = earlier_plan(options.against, *places, trust=trust, reach=reach) if options.against else None
    # A shell pattern also matches folders of shared declarations, which are checked with the benchmarks that use them.
    check_given(trust, *options.paths)
    paths = [each for each in options.paths if not holds_parts(Path(each))] or options.paths
    specs = {
        path: find_spec(path, *places, allow_outside=options.allow_outside, trust=trust, reach=reach) for path in paths
    }
    found = {path: spec.compile(denied, against) for path, spec in specs.items()}
    trials = _trials(options.worlds, specs, found)
    diagnostics = [each for compilation in found.values() for each in compilation.diagnostics]
    diagnostics += [each for trial in trials.values() for each in trial.diagnostics]
    silenced = [each for compilation in found.values() for each in compilation.silenced]
    match options.format:
        case "json":
            print_json(to_data(diagnostics, silenced))
        case "sarif":
            from tripos_compiler.diagnostics.renderers import to_sarif

            log = to_sarif(diagnostics, silenced, version=__version__, path_from=_path_from_root)
            print_json(log)
        case "github":
            from tripos_compiler.diagnostics.renderers import to_github

            show_text(to_github(diagnostics, path_from=_path_from_root), end="")
        case _:
            show_diagnostics(diagnostics, every=options.all)
            for path, compilation in found.items():
                if compilation.plan is not None:
                    show_message(f"{path}: {_size(compilation)}")
                    for each in _clusterings(specs[path], compilation):
                        show_message(f"{path}: {each.sentence}")
                if path in trials:
                    for line in trials[path].lines(path):
                        show_message(line)
            if diagnostics:
                show_text(summary(diagnostics), stderr=True)
            show_text(render_silenced(silenced, width=terminal_width()), end="", stderr=True)
    if any(compilation.plan is None for compilation in found.values()):
        return USAGE
    return SOME_FAILED if any(trial.diagnostics for trial in trials.values()) else GOOD


SECRECY = frozenset({"E0501", "E0502"})
"""Codes of errors that do not prevent the test of secrecy, because it shows the leaks that they report."""


def _trials(pairs: int | None, specs: Mapping[str, SpecSource], found: Mapping[str, Compilation]) -> dict[str, Tried]:
    """Return the tests of secrecy, in this number of pairs of worlds, of the specs without errors other than leaks.
    Return none if `pairs` is None."""
    if pairs is None:
        return {}

    gc.enable()
    trials = {}
    for path, spec in specs.items():
        errors = {each.code for each in found[path].diagnostics if each.severity == "error"}
        compilation = spec.compile(secrecy=False) if errors and errors <= SECRECY else found[path]
        if compilation.plan is not None:
            trials[path] = tried(compilation, spec.folders, pairs)
    return trials


def _size(compilation: Compilation) -> str:
    """Return a line that a spec is well formed, with its size: `demo 1.0.0 is well formed: 1 scenario, …`."""
    plan = compilation.plan
    assert plan is not None
    cells = sum(scenario.cells for scenario in plan.scenarios)
    items = sum(scenario.row_count for scenario in plan.scenarios)
    counts = ", ".join(
        (
            counted(len(plan.scenarios), "scenario"),
            counted(cells, "context"),
            counted(items, "item"),
        )
    )
    return f"{plan.benchmark.name} {plan.benchmark.version} is well formed: {counts}"


def _clusterings(spec: SpecSource, compilation: Compilation) -> tuple[Clustering, ...]:
    """Return the clusterings of the items; none if their data cannot be read."""
    plan = compilation.plan
    if plan is None or not RowClusters(plan).scenarios:
        return ()
    from tripos_runtime.datasets.cases import CaseSource
    from tripos_runtime.datasets.selection import Selection

    gc.enable()
    try:
        paths = tuple(each.path for each in compilation.sources)
        return CaseSource(plan, spec.folders, paths).clusterings(Selection())
    except DataError:
        return ()


def _path_from_root(path: str) -> str:
    """Return a path relative to the root of the repository that GitHub checked out, or else to the current folder;
    absolute outside of it."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    here, absolute = Path.cwd(), Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    roots = [Path(workspace), here] if workspace else [here]
    root = next((each for each in roots if absolute.is_relative_to(each)), None)
    return (absolute.relative_to(root) if root is not None else absolute).as_posix()


AROUND = 60
"""The number of characters shown before and after the first difference of two messages."""
MOST_COPIES = 3


@dataclass(frozen=True)
class Tried:
    """The result of the test of secrecy for a spec."""

    trial: WorldTrial
    compilation: Compilation
    plan: Plan

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Return an error for every step whose messages depend on a secret."""
        compared = next(role.name for role in self.plan.roles if role.kind == "compared")
        return [_diagnostic(leak, compared, self.compilation) for leak in self.trial.leaks]

    def lines(self, path: str) -> Iterator[str]:
        """Yield the lines of the result for people."""
        return _lines(path, self.trial, self.plan)


# The test of secrecy in pairs of worlds
def tried(compilation: Compilation, folders: DataFolders, pairs: int) -> Tried:
    """Test a compiled spec in this number of pairs of worlds. Raises `Failure` if its data cannot be read."""
    assert compilation.plan is not None
    files = tuple(source.path for source in compilation.sources)
    try:
        trial = try_worlds(compilation.plan, folders, files, pairs)
    except DataError as error:
        raise Failure("E0307", error.message, error.help) from error
    return Tried(trial, compilation, compilation.plan)


def _diagnostic(leak: SecretLeak, compared: str, compilation: Compilation) -> Diagnostic:
    at = leak.difference
    fields = _listed([f"`{name}`" for name in leak.alone])
    what = "secret" if len(leak.alone) == 1 else "secrets"
    role, step, scenario = compared, at.part.step, at.unit.scenario
    match leak.how:
        case "secrets":
            message = f"the prompt of `{role}` in `{step}` of `{scenario}` depends on the {what} {fields}"
            help_ = "leave it to the graders, or say `reveal(…)` where the protocol wants it shown"
        case "exchange":
            message = f"the prompt of `{role}` in `{step}` of `{scenario}` depends on which row has which {fields}"
            help_ = "let `reveal(…, rows: N)` show what stays if rows exchange their values: `sorted(…)` of the column"
        case "files":
            message = f"the prompt of `{role}` in `{step}` of `{scenario}` depends on how {fields} puts rows into files"
            help_ = "use rows in an order of their own: `sorted(…)` or `distinct(…)` of a column"
    return Diagnostic(
        "R0501",
        message,
        tuple(_labels(leak, compilation)),
        help_,
        tuple(_notes(leak, compared)),
    )


def _labels(leak: SecretLeak, compilation: Compilation) -> Iterator[Label]:
    """Yield the declaration of the step, or else of its scenario."""
    unit, step = leak.difference.unit, leak.difference.part.step
    symbols = compilation.index.symbols.values()
    owners = [each for each in symbols if each.owner == f"scenario {unit.scenario}" and each.name == step]
    scenarios = [each for each in symbols if each.kind == "scenario" and each.name == unit.scenario]
    for symbol in (*owners, *scenarios)[:1]:
        yield Label(symbol.span, "this is another message where nothing but that differs")


def _notes(leak: SecretLeak, compared: str) -> Iterator[str]:
    at = leak.difference
    arms = ", ".join(f"{arm} {value}" for arm, value in at.part.arms)
    where = leak.row + (f", under {arms}" if arms else "")
    if at.elsewhere is not None:
        yield f"{where}: `{at.unit.scenario}` asks about it in one world, and `{at.elsewhere}` in the other"
    elif at.one is None or at.other is None:
        yield f"{where}: `{compared}` is asked in one world, and not in the other"
    else:
        turn = f", message {at.part.turn}" if at.part.turn > 1 else ""
        yield f"{where}{turn}, in two worlds:"
    one, other = parted(at.one, at.other)
    yield f"- {one}"
    yield f"+ {other}"
    if leak.fields != leak.alone:
        yield f"its secrets are {_listed([f'`{name}`' for name in leak.fields])}"
    if leak.copies:
        more = f", and {len(leak.copies) - MOST_COPIES} more" if len(leak.copies) > MOST_COPIES else ""
        yield f"the same stands in {'; '.join(leak.copies[:MOST_COPIES])}{more}, and was changed alike"


def parted(one: Sent | None, other: Sent | None) -> tuple[str, str]:
    """Return the two messages, cut to the surroundings of their first difference.

    >>> parted((("user", "It is 42."),), (("user", "It is 7."),))
    ('user: It is 42.', 'user: It is 7.')
    """
    first, second = _text(one), _text(other)
    alike = (mine == theirs for mine, theirs in zip(first, second, strict=False))
    at = next((at for at, same in enumerate(alike) if not same), min(len(first), len(second)))
    return _cut(first, at if one and other else 0), _cut(second, at if one and other else 0)


def _text(sent: Sent | None) -> str:
    return "(nothing)" if sent is None else "\n".join(f"{role}: {text}" for role, text in sent)


def _cut(text: str, at: int) -> str:
    start, end = max(0, at - AROUND), at + AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _lines(path: str, trial: WorldTrial, plan: Plan) -> Iterator[str]:
    from rich.cells import cell_len

    from tripos_warehouse.tables.text import pad

    found = f"{len(trial.leaks)} depend on a secret" if len(trial.leaks) != 1 else "1 depends on a secret"
    pairs = f"{trial.pairs} {'pair' if trial.pairs == 1 else 'pairs'} of worlds"
    came = found if trial.leaks else "none differs"
    yield f"{path}: {pairs}, {trial.messages:,} messages compared: {came} ({duration(trial.seconds)})"
    counts = {scenario.name: scenario.row_count for scenario in plan.scenarios}
    width = max(map(cell_len, counts), default=0)
    for name, count in counts.items():
        gone = trial.units.get(name, 0)
        of = f"{gone:,} of {max(count, gone):,} items"
        yield f"  {pad(name, width)}  {of}, {trial.told[name]:,} requests to the compared role{_besides(trial, name)}"
    if plan.plugins:
        names = _listed([f"`{each.name}`" for each in plan.plugins])
        yield f"  Python functions are not called: other values stand in for what {names} would give"


def _besides(trial: WorldTrial, scenario: str) -> str:
    """Return the remark that follows the counts of a scenario."""
    said = "" if trial.units.get(scenario) else "; there was no item to go through"
    if any(name == scenario for name, _ in trial.others):
        said += "; secrets of other items are shown"
    if any(name == scenario for name, _ in trial.undecided):
        said += "; not every item that differs was looked at by itself"
    return said


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "of no field"
