"""The test of secrecy of `tripos check --worlds`: runs in pairs of worlds that differ in secrets alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tripos_compiler.compile import Compilation
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Label
from tripos_compiler.diagnostics.text_format import duration
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.secrecy_trial.seen_requests import Sent
from tripos_runtime.secrecy_trial.trial import SecretLeak, WorldTrial, run_trial

AROUND = 60
"""The number of characters shown before and after the first difference of two messages."""
MOST_COPIES = 3


@dataclass(frozen=True)
class SecrecyResult:
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
def check_secrecy(compilation: Compilation, folders: DataFolders, pairs: int) -> SecrecyResult:
    """Test a compiled spec in this number of pairs of worlds. Raises `TriposError` if its data cannot be read."""
    assert compilation.plan is not None
    files = tuple(source.path for source in compilation.sources)
    trial = run_trial(compilation.plan, folders, files, pairs)
    return SecrecyResult(trial, compilation, compilation.plan)


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
    one, other = differing_excerpts(at.one, at.other)
    yield f"- {one}"
    yield f"+ {other}"
    if leak.fields != leak.alone:
        yield f"its secrets are {_listed([f'`{name}`' for name in leak.fields])}"
    if leak.copies:
        more = f", and {len(leak.copies) - MOST_COPIES} more" if len(leak.copies) > MOST_COPIES else ""
        yield f"the same stands in {'; '.join(leak.copies[:MOST_COPIES])}{more}, and was changed alike"


def differing_excerpts(one: Sent | None, other: Sent | None) -> tuple[str, str]:
    """Return the two messages, cut to the surroundings of their first difference.

    >>> differing_excerpts((("user", "It is 42."),), (("user", "It is 7."),))
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
        requests = f"{trial.requests[name]:,} requests to the compared role"
        yield f"  {pad(name, width)}  {of}, {requests}{_remarks(trial, name)}"
    if plan.plugins:
        names = _listed([f"`{plugin.name}`" for plugin in plan.plugins])
        yield f"  Python functions are not called: other values stand in for what {names} would give"


def _remarks(trial: WorldTrial, scenario: str) -> str:
    """Return the remark that follows the counts of a scenario."""
    text = "" if trial.units.get(scenario) else "; there was no item to go through"
    if any(name == scenario for name, _ in trial.through_others):
        text += "; secrets of other items are shown"
    if any(name == scenario for name, _ in trial.undecided):
        text += "; not every item that differs was looked at by itself"
    return text


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "of no field"
