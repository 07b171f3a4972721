"""`tripos diff`: the changes between two versions of a benchmark, and their effect on scores.

With `--format github` the changes are printed as a comment on a pull request, with figures from a store.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from tripos.cli.context import Context, Outcome
from tripos.releases.opening import run_git
from tripos.runs.compilation import CompiledSpec
from tripos.runs.next_run import NextRun, forecast_next_run
from tripos.settings.config import Config
from tripos.settings.options import MODEL, ROLE, STORE
from tripos.terminal import escape_controls, terminal_width
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.text_format import usd, wrap
from tripos_compiler.errors import TriposError
from tripos_compiler.language.plan_diff import WEIGHTS, Change, find_changes, least_version, version_numbers
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.report.history import BREAKS, CONTINUES, OTHER_ROWS, FigurePair, LineBreak, MeasureEffect
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.markup import markdown_text, to_markdown
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.values import decimals_of

_ARCHIVE = ".revision.tar"
GIT_S = 60
"""The timeout of git in seconds."""


@dataclass(frozen=True)
class Version:
    """A version to compare: its plan, and its spec; a plan in JSON has no spec."""

    plan: Plan
    spec: CompiledSpec | None = None


@contextmanager
def open_version(context: Context, place: str, config: Config | None = None) -> Iterator[Version]:
    """Open a spec, a release, a plan in JSON, or `REVISION:PATH`, whose files exist until it is closed. Folders of data
    and releases are those of `config`, by default the settings of the command. Raises `TriposError`."""
    config = context.config if config is None else config
    with ExitStack() as until:
        revision, colon, path = place.partition(":")
        if colon and revision and not path.startswith("//") and not Path(place).exists():
            folder = until.enter_context(tempfile.TemporaryDirectory(prefix="tripos-"))
            _check_out(revision, path or ".", Path(folder))
            place = str(Path(folder) / path)
        if place.endswith(".json"):
            yield Version(context.earlier_plan(place, config))
        else:
            spec = context.earlier_spec(place, config)
            yield Version(spec.plan, spec)


def _check_out(revision: str, path: str, to: Path) -> None:
    """Write the files of a git revision into a folder: those of the spec's folder and of its sibling folders, which may
    have shared files. The path is relative to the root of the repository, as in git."""
    if Path(path).is_absolute() or ".." in Path(path).parts or revision.startswith("-"):
        raise TriposError("E0108", f"`{revision}:{path}` is no place in this repository", "write REVISION:specs/NAME")
    try:
        top = Path(_git("rev-parse", "--show-toplevel").strip())
        inside = "" if path == "." else path.rstrip("/")
        folder = PurePosixPath(inside) if _git("cat-file", "-t", f"{revision}:{inside}").strip() == "tree" else None
        around = (PurePosixPath(inside).parent if folder is None else folder).parent
        archive = ("archive", "--format=tar", f"--output={to / _ARCHIVE}", revision, "--", around.as_posix())
        run_git(*archive, folder=top, seconds=GIT_S)
    except (OSError, subprocess.SubprocessError) as error:
        stderr = getattr(error, "stderr", "") or ""
        why = stderr.strip().removeprefix("fatal: ") or str(error)
        hint = "write REVISION:PATH as git does, such as HEAD~1:specs/edubench, in the repository"
        raise TriposError("E0108", f"git has no `{revision}:{path}`: {why}", hint) from error
    _unpack(to / _ARCHIVE, to)


def _unpack(archive: Path, to: Path) -> None:
    """Extract the regular files of an archive below a folder. Links are skipped, since a spec may not read outside of
    its folder.

    `tarfile` has extraction filters only from Python 3.11.4 on.
    """
    with tarfile.open(archive) as packed:
        for member in packed:
            path = PurePosixPath(member.name)
            if not member.isreg() or path.is_absolute() or ".." in path.parts:
                continue
            content = packed.extractfile(member)
            assert content is not None
            target = to / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with content, target.open("wb") as written:
                shutil.copyfileobj(content, written)


def _git(*arguments: str) -> str:
    return run_git(*arguments, seconds=GIT_S)


_TITLES = {
    "major": "can change a score, or the items behind it",
    "minor": "adds what no earlier figure takes in",
    "patch": "words about the benchmark",
}


def main(context: Context) -> Outcome:
    """Return the changes, the most severe first, and the least version number that they require."""
    options, config = context.options, context.config
    if options.store is None and (options.model or options.role):
        raise TriposError("R0202", f"`{MODEL}` and `{ROLE}` say whom the next run asks", f"give {STORE} too")
    with open_version(context, options.before) as old, open_version(context, options.after) as new:
        before, after = old.plan, new.plan
        changes = find_changes(before, after)
        if context.form == "github":
            return Outcome(lines=_comment(before, after, changes, config.store if options.store is not None else None))
        following = None if options.store is None else _next_run(context, before, new)
    text = _markdown if context.form == "markdown" else _text
    return Outcome(lambda: _data(before, after, changes, following), text(before, after, changes, following))


def _next_run(context: Context, before: Plan, after: Version) -> NextRun:
    """Return the forecast of the next run. Raises `TriposError`."""
    if after.spec is None:
        fault = f"`{context.options.after}` is a plan without its data, so nobody can tell what its run asks"
        raise TriposError("R0202", fault, f"give its spec or its release, or leave out {STORE}")
    return forecast_next_run(after.spec, before, context.request, context.config, context.warn)


def _comment(before: Plan, after: Plan, found: Sequence[Change], place: str | None) -> Iterator[str]:
    """Return the lines of a comment on a pull request, with figures of a store if one is named. A missing store has no
    figures."""
    from tripos_warehouse.report.history import effects_between, figures_between

    effects = effects_between(before, after)
    figures = None
    if place is not None:
        names = [measure.name for measure in after.measures]
        figures = figures_between(Store.open(place, create=False), before, after, names)
    return comment_lines(before, after, _head(before, after, found), found, effects, figures)


def _required_version(before: Plan, found: Sequence[Change]) -> str | None:
    return least_version(before.benchmark.version, found[0].part) if found else None


def _head(before: Plan, after: Plan, found: Sequence[Change]) -> tuple[str, str]:
    old, new = before.benchmark, after.benchmark
    name = "" if old.name == new.name else f"{new.name} "
    title = f"{old.name} {old.version} → {name}{new.version}"
    demanded = _required_version(before, found)
    if demanded is None:
        return title, "nothing changed"
    if before.benchmark.name != after.benchmark.name:
        if old.name in {extended.name for extended in after.extends}:
            return title, f"{new.name} extends {old.name}: figures over scenarios that are the same may be compared"
        return title, "another benchmark: no figure of one may be compared with one of the other"
    enough = version_numbers(new.version) >= version_numbers(demanded)
    summary = f"{found[0].part} changes demand {demanded} or higher"
    return title, summary if enough else f"{summary}: {new.version} is too low (E0901)"


def _text(before: Plan, after: Plan, changes: Sequence[Change], following: NextRun | None) -> Iterator[str]:
    title, demanded = _head(before, after, changes)
    room = max(terminal_width(), 20)
    yield from (*wrap(title, room), *wrap(localized(demanded), room))
    for weight in WEIGHTS:
        some = [each for each in changes if each.part == weight]
        if some:
            yield from ("", *wrap(localized(f"{weight}: {_TITLES[weight]}"), room))
        for change in some:
            first, *rest = wrap(localized(change.text), room - 4)
            yield from (f"  {first}", *(f"    {line}" for line in rest))
    if following is not None:
        yield ""
        for line in _next_lines(following):
            yield from wrap(line, room)


def _markdown(before: Plan, after: Plan, found: Sequence[Change], following: NextRun | None) -> Iterator[str]:
    title, demanded = _head(before, after, found)
    yield from (f"### {title}", "", demanded[:1].upper() + demanded[1:] + ".", "")
    if found:
        columns = (
            Column("bump", tuple(change.part for change in found)),
            Column("what", tuple(map(_named, found)), has_code=True),
            Column("change", tuple(change.what for change in found)),
            Column("can change a score", tuple("yes" if change.can_change_scores else "no" for change in found)),
        )
        yield from to_markdown([Table(columns)]).splitlines()
    if following is not None:
        yield from ("", *(f"{line}  " for line in _next_lines(following)))


def _data(before: Plan, after: Plan, changes: Sequence[Change], following: NextRun | None) -> dict[str, Any]:
    told = [
        {
            "part": change.part,
            "kind": change.kind,
            "name": change.name,
            "what": change.what,
            "can_change_scores": change.can_change_scores,
            "stale": sorted(change.stale),
        }
        for change in changes
    ]
    return {
        "benchmark": after.benchmark.name,
        "before": {"version": before.benchmark.version, "plan": before.digest},
        "after": {"version": after.benchmark.version, "plan": after.digest},
        "part": changes[0].part if changes else None,
        "demands": _required_version(before, changes),
        "changes": told,
        "next_run": None if following is None else following.to_json(),
    }


def _next_lines(following: NextRun) -> Iterator[str]:
    """Yield the calls of the next run, and the runs that it repeats."""
    forecast, texts = following.forecast, following.call_range("vectors")
    replies = _counted(following.call_range("samples", "turns"), "reply", "replies")
    judgements = _counted(following.call_range("judgements"), "judgement", "judgements")
    yield localized(f"the next run asks for {replies} and {judgements}; {forecast.reused:,} calls are reused")
    if texts[1]:
        yield localized(f"it asks for the vectors of {_counted(texts, 'text', 'texts')}")
    if forecast.scores:
        yield localized(f"scores that it computes again from replies that are kept: {forecast.scores:,}")
    cost = forecast.total.cost_usd
    yield localized("nobody knows what it costs" if cost is None else f"it costs about {usd(cost.expected)} USD")
    models = ", ".join(escape_controls(model) for model in following.models)
    if following.runs:
        yield localized(f"it is taken to be as run {following.runs[0]}, by {models}")
    else:
        yield localized(f"it is taken to be the first run, by {models}")


def _counted(calls: tuple[int, int], one: str, many: str) -> str:
    """Return a number of calls in words, or a range such as `0..24 replies`."""
    least, most = calls
    text = f"{least:,}" if least == most else f"{least:,}..{most:,}"
    return f"{text} {one if least == most == 1 else many}"


MARK = "<!-- tripos diff: {} -->"
"""The first line of the comment, by which CI finds it again."""
MOST = 40
"""The maximum number of rows of a table. A comment may have 65,536 characters."""
_LINES = {CONTINUES: "goes on", OTHER_ROWS: "may break"}
NO_RUN = "no run yet"


# The comment on a pull request
def comment_lines(
    before: Plan,
    after: Plan,
    head: tuple[str, str],
    changes: Sequence[Change],
    effects: Sequence[MeasureEffect],
    figures: Sequence[FigurePair] | None,
) -> Iterator[str]:
    """Yield the lines of the comment. `head` is the title and the required version; `figures` are those of a store, or
    `None` without one."""
    title, demanded = head
    yield from (MARK.format(after.benchmark.name), f"### {markdown_text(title)}", "")
    yield from (f"{demanded[:1].upper()}{markdown_text(demanded[1:])}.", "")
    meaning = [change for change in changes if change.can_change_scores]
    others = [change for change in changes if not change.can_change_scores]
    if meaning:
        table = Table((
            Column("what changed in meaning", tuple(map(_named, meaning)), has_code=True),
            Column("how", tuple(change.what for change in meaning)),
        ))  # fmt: skip
        yield from (*_table_lines(table), "")
    if others:
        text = "; ".join(markdown_text(other.text) for other in others[:MOST])
        yield from (f"Without effect on earlier figures: {text}.", "")
    if changes:
        yield from _table_lines(_effects_table(effects))
    if figures is None:
        return
    yield ""
    if not figures:
        yield "No whole run of the store has figures of either version."
        return
    yield from _table_lines(_figures_table(figures))
    runs = {run.run_id for figure in figures for side in (figure.before, figure.after) if side for run in side[:1]}
    yield from ("", f"Figures of {', '.join(f'`{run}`' for run in sorted(runs))}.")


def _effects_table(effects: Sequence[MeasureEffect]) -> Table:
    """Return what becomes of the line of every measure; a break stands out."""
    why = ["; ".join(f"{_named(cause)}: {cause.what}" for cause in effect.causes) for effect in effects]
    return Table(
        (
            Column("measure", tuple(_code(effect.measure) for effect in effects), has_code=True),
            Column(
                "its line",
                tuple(_LINES.get(effect.effect, effect.effect) for effect in effects),
                emphasis={row: 1 for row, effect in enumerate(effects) if effect.effect == BREAKS},
            ),
            Column("because of", tuple(why), has_code=True),
        ),
        marks=(),
    )


def _figures_table(figures: Sequence[FigurePair]) -> Table:
    """Return the figures before and after a change."""
    decimals = [
        decimals_of([end for row in _rows(figure) for end in (row.value, row.low, row.high)]) for figure in figures
    ]
    names = [" ".join([_code(figure.measure), *map(str, figure.by)]) for figure in figures]
    others = [
        "; ".join(f"{role} {', '.join(models)}" for role, models in figure.other_models.items()) or None
        for figure in figures
    ]
    columns = (
        Column("measure", tuple(names), has_code=True),
        Column("model", tuple(figure.model for figure in figures)),
        Column("before", tuple(map(_before, figures)), "number", decimals=decimals),
        Column("after", tuple(map(_after, figures)), "number", decimals=decimals),
        *([Column("with", tuple(others))] if any(others) else []),
    )
    return Table(columns)


def _named(change: Change | LineBreak) -> str:
    return f"{change.kind} {_code(change.name)}"


def _code(name: str) -> str:
    return "`" + name.replace("`", "'") + "`"


def _rows(pair: FigurePair) -> list[MeasureRow]:
    return [side[1] for side in (pair.before, pair.after) if side is not None]


def _before(pair: FigurePair) -> MeasureRow | str:
    return NO_RUN if pair.before is None else pair.before[1]


def _after(pair: FigurePair) -> MeasureRow | str:
    if pair.after is None:
        return NO_RUN
    return "the same" if pair.before is not None and pair.before[0].run_id == pair.after[0].run_id else pair.after[1]


def _table_lines(table: Table) -> list[str]:
    """Return the first rows of a table as Markdown, and the number of the others."""
    more = table.height - MOST
    columns = tuple(replace(column, cells=column.cells[:MOST]) for column in table.columns)
    notes = (f"and {more:,} more",) if more > 0 else ()
    return to_markdown([replace(table, columns=columns, notes=notes)]).splitlines()
