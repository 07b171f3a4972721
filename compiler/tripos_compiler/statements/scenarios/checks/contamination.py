"""Warns of questions that stand, nearly word for word, in rows that are shown or learned: whoever saw these has seen
them. Two rows are compared by their texts, and not by their keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tripos_compiler.language import Unavailable, evaluate, paths_in, subexpressions
from tripos_compiler.language.contamination import HeldOutTexts, NearCopies, learned_texts
from tripos_compiler.plan import Ask, Data, Expr, Pairing, Retrieve, Rows, Template
from tripos_compiler.resolve import LoadedDataset, LoadedRow, Program
from tripos_compiler.source import Span, dataclass
from tripos_compiler.statements.analysis import template_expressions
from tripos_compiler.statements.scenarios.contexts import ScenarioCases
from tripos_compiler.statements.steps import Steps

MOST_ROWS = 2_000
"""So many rows of either side are compared."""
SHOWN = 60
"""So many characters of a question are shown."""


@dataclass(frozen=True)
class ExposedRows:
    """Rows that are shown or learned, each known as `alias`, those for which `where` holds: `fields` are what of them
    is shown, `does` what they do, and `mends` what to do about it."""

    loaded: LoadedDataset
    alias: str
    where: Expr | None
    fields: frozenset[str]
    does: str
    mends: str


@dataclass(frozen=True)
class SameQuestion:
    """A row that is asked about, by its number from 1, the row that has its question, and the question."""

    number: int
    row: LoadedRow
    question: str


def check_shown(program: Program, steps: Steps, cases: ScenarioCases, rows: Sequence[dict[str, Any]]) -> None:
    """Warn of shots and of rows to retrieve that have a question of the scenario. `rows` are the names of its rows."""
    if cases.alias is None or cases.loaded is None:
        return
    for step in steps.lowered:
        for source in _sources(program, step):
            found = list(_asked_in(program, source, cases.loaded, cases.alias, rows))
            if found:
                _warn(program, source, found, "this scenario", steps.wholes[step.name].span)


def check_learned(program: Program) -> None:
    """Warn of exports whose rows have a question of a scenario."""
    known: dict[tuple[object, ...], list[SameQuestion]] = {}
    for name, export in program.exports.items():
        if not isinstance(export, Pairing) or export.dataset not in program.loaded:
            continue
        if export.prompt is None and export.asks is None:
            continue
        fields = _fields((export.prompt,) if export.prompt is not None else (), export.alias)
        if export.asks is not None:
            fields |= {each.name for each in program.loaded[export.dataset].dataset.fields}
        paths = (path for reply in export.replies for path in paths_in(reply.text))
        fields |= {path[1] for path in paths if path[0] == export.alias and len(path) > 1}
        mends = f"take those rows out of `{export.dataset}`"
        mends += "; until then they are left out of what is exported" if export.kind == "examples" else ""
        source = ExposedRows(
            program.loaded[export.dataset], export.alias, export.where, fields, "what is learned is asked", mends
        )
        where = program.declared["export"][name].span
        for scenario in program.scenarios.values():
            if scenario.rows is None or scenario.rows.dataset not in program.loaded:
                continue
            asked, alias = program.loaded[scenario.rows.dataset], scenario.rows.alias
            names = [{alias: row.values} for row in asked.rows]
            kept = [each for each in names if _holds(scenario.rows.where, each)][:MOST_ROWS]
            # Several exports of the same rows, and scenarios over the same, are looked at once.
            common = tuple(_common(source, asked, alias, kept))
            key = (export.dataset, str(export.where), asked.dataset.name, str(scenario.rows.where), common)
            if key not in known:
                known[key] = list(_asked_in(program, source, asked, alias, kept))
            found = known[key]
            if found:
                _warn(program, source, found, f"scenario `{scenario.name}`", where)
                break


def check_kept_out(program: Program) -> None:
    """Warn of exports whose rows have a text of rows that are asked about, or that the export names as kept out,
    whatever the fields are called."""
    known: dict[tuple[str, str], HeldOutTexts[LoadedRow]] = {}
    for name, export in program.exports.items():
        if not isinstance(export, Pairing) or export.use == "test" or export.dataset not in program.loaded:
            continue
        learned = program.loaded[export.dataset]
        asked = {
            each.rows.dataset: (f"which scenario `{each.name}` asks about", each.rows)
            for each in program.scenarios.values()
            if each.rows is not None and each.rows.dataset in program.loaded and each.rows.dataset != export.dataset
            if export.kind == "paired"  # of examples, the fields are compared above
        }
        apart: list[tuple[str, str, Rows | None]] = [
            (held, "which is held out", None) for held in export.holds_out if held in program.loaded
        ]
        apart += [(held, why, rows) for held, (why, rows) in asked.items() if held not in export.holds_out]
        if not apart:
            continue
        outside = {dataset: [row.values for row in loaded.rows] for dataset, loaded in program.loaded.items()}
        kept = [row for row in learned.rows[:MOST_ROWS] if _holds(export.where, {**outside, export.alias: row.values})]
        texts = [learned_texts(export, {**outside, export.alias: row.values}) for row in kept]
        for held, why, rows in apart:
            where = None if rows is None else rows.where
            if (held, str(where)) not in known:
                copies = known[held, str(where)] = HeldOutTexts()
                for row in program.loaded[held].rows[:MOST_ROWS]:
                    if rows is None or _holds(where, {**outside, rows.alias: row.values}):
                        copies.add(row, row.values)
            hits = [found for each in texts if (found := known[held, str(where)].text_of(each)) is not None]
            if hits:
                _warn_kept_out(program, name, export, held, why, hits)


def _warn_kept_out(
    program: Program, name: str, export: Pairing, held: str, why: str, hits: Sequence[tuple[LoadedRow, str]]
) -> None:
    row, text = hits[0]
    left_out = held in export.holds_out
    some = f"{len(hits):,} row{'' if len(hits) == 1 else 's'} of `{export.dataset}`"
    one = len(hits) == 1
    does = f"{'it is' if one else 'they are'} {'left out' if left_out else 'learned'}"
    message = f"{some} {'has' if one else 'have'} a text of `{held}`, {why}: {does}"
    mends = "give other rows, such as another split" if left_out else f"write `holds out {held}` in the export"
    notes = [f"row {row.number} of {row.path}: “{_brief(text)}”"]
    program.diagnostics.warning("W1008", message, program.declared["export"][name].span, help=mends, notes=notes)


def _brief(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _sources(program: Program, step: object) -> Iterator[ExposedRows]:
    match step:
        case Ask():
            for shots in step.shots:
                loaded = program.rowsets.get(shots.dataset) or program.loaded.get(shots.dataset)
                if loaded is not None and loaded.known:
                    fields = _fields(shots.prompt.values(), shots.alias)
                    mends = f"take those rows out of `{shots.dataset}`, or give both data sets a `key` that they share"
                    yield ExposedRows(loaded, shots.alias, shots.where, fields, "shots would show its answer", mends)
        case Retrieve():
            names = {part.dataset for part in subexpressions(step.source) if isinstance(part, Data)}
            for name in sorted(names & set(program.loaded)):
                loaded = program.loaded[name]
                fields = frozenset(each.name for each in loaded.dataset.fields)
                mends = f"take those rows out of `{name}`, or leave them out by a `where`"
                yield ExposedRows(loaded, step.alias, step.where, fields, "what is retrieved would show it", mends)


def _fields(templates: Iterable[Template], alias: str) -> frozenset[str]:
    """Return the fields of a row that texts print."""
    paths = {path for template in templates for expr in template_expressions(template) for path in paths_in(expr)}
    return frozenset(path[1] for path in paths if path[0] == alias and len(path) > 1)


def _asked_in(
    program: Program, source: ExposedRows, asked: LoadedDataset, alias: str, rows: Sequence[Mapping[str, Any]]
) -> Iterator[SameQuestion]:
    """Yield the rows whose question, in fields that both have, is one of a source's rows that may be shown for it."""
    common = _common(source, asked, alias, rows)
    if not common:
        return
    shown = source.loaded.rows[:MOST_ROWS]
    key = (source.loaded.dataset.name, tuple(common))
    copies = program.near.get(key)
    if copies is None:  # several scenarios ask of the same
        copies = program.near[key] = NearCopies()
        for place, row in enumerate(shown):
            copies.add(place, _text(row.values, common))
    for number, names in enumerate(rows[:MOST_ROWS], 1):
        own = names[alias]
        text = _text(own, common)
        for place in copies.like(text):
            row = shown[place]
            itself = source.loaded.dataset.name == asked.dataset.name and row.values == own
            if not itself and _may_show(source, asked, row, names, own):
                yield SameQuestion(number, row, text)
                break


def _common(source: ExposedRows, asked: LoadedDataset, alias: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the public fields that both have, that are shown and that tell rows apart."""
    public = {each.name for each in asked.dataset.fields if not each.secret}
    return sorted(name for name in source.fields & public if _tells_apart(name, rows, alias))


def _tells_apart(name: str, rows: Sequence[Mapping[str, Any]], alias: str) -> bool:
    """Return true if a field has a text of its own in most rows, and not one that rows have in common, as a subject
    is."""
    texts = [str(names[alias].get(name, "")) for names in rows[:MOST_ROWS]]
    return 2 * len(set(texts)) > len(texts)


def _may_show(
    source: ExposedRows, asked: LoadedDataset, row: LoadedRow, names: Mapping[str, Any], own: Mapping[str, Any]
) -> bool:
    """Return true if a row may be shown where another is asked about: it is not of its key, and the condition holds."""
    keys = source.loaded.dataset.key, asked.dataset.key
    if keys[0] is not None and keys[1] is not None and _value(keys[0], row.values) == _value(keys[1], own):
        return False
    return _holds(source.where, {**names, source.alias: row.values})


def _holds(where: Expr | None, names: Mapping[str, Any]) -> bool:
    """Return true if a condition holds, as far as it can be told."""
    if where is None:
        return True
    try:
        return bool(evaluate(where, names))
    except (Unavailable, LookupError):
        return True


def _value(expr: Expr, row: Mapping[str, Any]) -> Any:
    try:
        return evaluate(expr, row)
    except (Unavailable, LookupError):
        return object()


def _warn(program: Program, source: ExposedRows, found: Sequence[SameQuestion], where: str, span: Span) -> None:
    name, first = source.loaded.dataset.name, found[0]
    more = f", and of {len(found) - 1} more" if len(found) > 1 else ""
    message = f"`{name}` has the question of row {first.number} of {where}{more}: {source.does}"
    notes = [f"row {first.row.number} of {first.row.path}: “{_brief(first.question)}”"]
    program.diagnostics.warning("W1008", message, span, help=source.mends, notes=notes)


def _text(row: Mapping[str, Any], fields: Sequence[str]) -> str:
    return "\n".join(str(row.get(name, "")) for name in fields)
