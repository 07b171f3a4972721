"""`tripos init` and `tripos new`: begin a benchmark from a template or a shipped one, or extend a spec.

A new benchmark runs at once, with mock models. An extended spec must stay well formed, or nothing is written.
"""

from __future__ import annotations

import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.cli.context import Context, InvalidSpec, Outcome, Output, show_diagnostics
from tripos.cli.fmt import write_spec
from tripos.cli.project_files import DEFAULT, TEMPLATES, Start, files_of, shipped_start
from tripos.settings.option import listed_names
from tripos.settings.options import IN_SPEC, InitParameters, NewParameters, ViewParameters
from tripos.terminal import message, show_message, show_text
from tripos_compiler.diagnostics.diagnostic import Diagnostics, suggest
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.editing.formatter import Unparsable, format_text
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Dataset, Plan
from tripos_compiler.source.text import Source
from tripos_compiler.source.tree import Entry, Name, TableRow
from tripos_compiler.syntax.parser import parse

if TYPE_CHECKING:
    from tripos.runs.compilation import SpecSource
    from tripos_compiler.compile import Compilation


BENCHMARK_NAME = re.compile(r"[^\W\d_]\w*")
"""The form of a benchmark's name."""


# tripos init
def main(context: Context) -> Outcome:
    """Create a folder with a spec, its data, settings and a CI workflow, and return the next commands."""
    options = context.options
    asks = not options.yes and not options.json and sys.stdin.isatty()
    template = _chosen(options, asks)
    proposed = Path(template.main).stem if template.shipped is not None else template.name
    path = options.name or (_ask("name of the benchmark", proposed) if asks else proposed)
    folder, name = Path(path), _benchmark_name(path)
    given = options.model or ([_ask("models under test", ", ".join(template.mocks))] if asks else [])
    models = listed_names(given) or list(template.mocks)
    repository = _repository(folder)
    where = folder.resolve().relative_to(repository).as_posix() if repository is not None else ""
    texts = files_of(template, name, models, "" if where == "." else where)
    _write(folder, texts)
    if not (asks or options.yes) and options.shipped is None and None in (options.name, options.template):
        show_message(f"no terminal to ask on: name `{path}`, template `{template.name}`, the defaults", stderr=True)
    commands = _next_commands(folder, name, models)
    return Outcome(
        lambda: {
            "folder": str(folder),
            "name": name,
            "template": template.name,
            "files": list(texts),
            "next": [command for command, _ in commands],
        },
        _lines(folder, template, list(texts), commands, repository),
    )


def _chosen(options: Namespace, asks: bool) -> Start:
    """Return the benchmark that the options name, or that the user picks. Raises `TriposError` if there is none."""
    if options.shipped is None:
        return TEMPLATES[options.template or (_ask_template() if asks else DEFAULT)]
    if options.template is not None:
        raise TriposError(
            "R0202",
            f"`{InitParameters.shipped}` and `{InitParameters.template}` both name a benchmark to begin with",
            "give one of them",
        )
    return shipped_start(options.shipped)


def _benchmark_name(path: str) -> str:
    """Return the name of the benchmark for a folder. Raises `TriposError` R0202 if the name of the folder does not
    yield one."""
    last = Path(path).resolve().name
    name = re.sub(r"[-. ]", "_", last)
    if not BENCHMARK_NAME.fullmatch(name):
        hint = "a name has letters, digits and `_`, and begins with a letter: `tripos init my_quiz`"
        raise TriposError("R0202", f"`{last}` cannot name a benchmark", hint)
    return name


def _ask(what: str, default: str) -> str:
    """Ask the user a question, and return the answer, or the default if it is empty."""
    try:
        return input(f"{localized(what)} [{default}]{localized(': ')}").strip() or default
    except EOFError:
        raise KeyboardInterrupt from None


def _ask_template() -> str:
    for number, template in enumerate(TEMPLATES.values(), 1):
        show_text(f"  {number}  {template.name:<10} {localized(template.help)}")
    by_number = {str(number): name for number, name in enumerate(TEMPLATES, 1)}
    while True:
        answer = _ask("template", DEFAULT)
        name = by_number.get(answer, answer)
        if name in TEMPLATES:
            return name
        show_message(f"there is no template `{answer}`: choose a name, or a number from 1 to {len(TEMPLATES)}")


def _repository(folder: Path) -> Path | None:
    """Return the root of the git repository that contains a folder, or None."""
    path = folder.resolve()
    return next((each for each in (path, *path.parents) if (each / ".git").exists()), None)


def _write(folder: Path, texts: Mapping[str, bytes]) -> None:
    """Write new files. Raises `TriposError` if one of them exists, before anything is written."""
    in_the_way = [name for name in texts if (folder / name).exists() or (folder / name).is_symlink()]
    if folder.exists() and not folder.is_dir():
        raise TriposError("R0208", f"`{folder}` is a file", "give a folder that does not exist yet")
    if in_the_way:
        listed = ", ".join(f"`{name}`" for name in in_the_way)
        raise TriposError("R0208", f"`{folder}` has {listed} already", "give another NAME; nothing was written")
    for name, content in texts.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
        except OSError as error:
            raise TriposError("R0208", f"cannot write `{path}`: {error.strerror}", "give another NAME") from error


def _next_commands(folder: Path, name: str, models: Sequence[str]) -> list[tuple[str, str]]:
    """Return the next commands with their purposes."""
    spec = f"{name}.tripos"
    free = all(model.startswith("mock/") for model in models)
    commands = [] if folder.resolve() == Path.cwd() else [(f"cd {shlex.quote(str(folder))}", "")]
    return [
        *commands,
        (f"tripos check {spec}", "find mistakes before anything is asked"),
        (f"tripos plan {spec}", "count the calls"),
        (f"tripos run {spec}", "run it with mock models: no key, no cost" if free else f"run {', '.join(models)}"),
        (f"tripos view {ViewParameters.open}", "look at the results in the browser"),
    ]


def _lines(
    folder: Path,
    template: Start,
    written: Sequence[str],
    commands: Sequence[tuple[str, str]],
    repository: Path | None,
) -> Iterator[str]:
    """Yield the lines about the files that were written, and the next commands."""
    if template.shipped is None:
        yield message(f"made `{folder}` from the template `{template.name}`: {template.help}")
    else:
        yield message(f"made `{folder}` from `{template.name}`: {template.help}")
    yield from (f"  {name}" for name in written)
    width = max(len(command) for command, _ in commands)
    yield f"\n{localized('next')}{localized(':')}"
    yield from (f"  {command:<{width}}  {localized(what)}".rstrip() for command, what in commands)
    if repository is not None and repository != folder.resolve():
        yield message(f"\nGitHub reads workflows at the root of a repository: move `.github` to {repository}")


CODE = "R0209"
NONE = (".", "-")


# Insertions into a spec
@dataclass(frozen=True)
class Insertion:
    """A text to insert at a position of a spec file."""

    source: Source
    offset: int
    text: str


def apply_insertions(insertions: Sequence[Insertion]) -> dict[str, str]:
    """Return the new texts of the files that change, by path."""
    found: dict[str, str] = {}
    for insertion in sorted(insertions, key=lambda each: each.offset, reverse=True):
        text = found.get(insertion.source.path, insertion.source.text)
        found[insertion.source.path] = text[: insertion.offset] + insertion.text + text[insertion.offset :]
    return found


def entries_of(sources: Sequence[Source], word: str) -> list[tuple[Source, Entry]]:
    """Return the top-level statements that begin with a word, with their files."""
    return [
        (source, entry)
        for source in sources
        for entry in parse(Source(source.path, source.text), Diagnostics()).entries()
        if isinstance(entry.elements[0], Name) and entry.elements[0].text == word
    ]


def insert_below(source: Source, text: str, *words: str) -> Insertion:
    """Return the insertion of a statement below the last one of its kind. `words` are kinds by preference; the first
    that the file has is used, or the end of the file if it has none."""
    for word in words:
        found = entries_of([source], word)
        if found:
            end = source.text.find("\n", found[-1][1].span.end)
            if end >= 0:
                return Insertion(source, end + 1, f"\n{text}")
    gap = "\n" if source.text.endswith("\n") else "\n\n"
    return Insertion(source, len(source.text), f"{gap}{text}")


def title_of(name: str) -> str:
    """Return a title for a name, as people would write it.

    >>> title_of("CLEAR_STEPS")
    'Clear steps'
    """
    return name.replace("_", " ").strip().capitalize()


def _labels(languages: Sequence[str], text: str) -> str:
    """Return a text for each language; with one language, without its name."""
    return f'"{text}"' if len(languages) == 1 else " ".join(f'{language} "{text}"' for language in languages)


# Scenarios


def scenario_text(name: str, plan: Plan | None, over: str | None) -> str:
    """Return a new scenario: one question to the compared role about each row, and a score."""
    languages = plan.benchmark.languages if plan is not None else ("en",)
    role = next((each.name for each in plan.roles if each.kind == "compared"), "candidate") if plan else "candidate"
    dataset = _dataset(plan, over) if plan is not None else None
    lines = [f"scenario {name} {_labels(languages, title_of(name))} {{"]
    if dataset is not None:
        axes = [field.name for field in dataset.fields if getattr(field.type, "axis", None) == field.name]
        lines += [f"  context {' * '.join(axes)}"] if axes else []
        lines += [f"  over {dataset.name}"]
        texts = [f"{{{{ {axis} }}}}" for axis in axes if axis != "language"]
        text = next((field for field in dataset.fields if field.type.kind == "text" and not field.secret), None)
        texts += [f"{{{{ {dataset.name}.{text.name} }}}}"] if text is not None else ["Write the task here."]
    else:
        lines += [f"  over {over}"] if over else []
        texts = ["Write the task here."]
    prompt = ": ".join(texts)
    prompts = [f'    prompt "{prompt}"'] if len(languages) == 1 else [f'    prompt {e} "{prompt}"' for e in languages]
    lines += [f"  ask reply by {role} {{", *prompts, "  }"]
    lines += ["  score brief = words(reply.text) <= 100  # put a score of your own in its place", "}"]
    return "\n".join(lines) + "\n"


def _dataset(plan: Plan, over: str | None) -> Dataset | None:
    names = [
        dataset.name for dataset in plan.datasets if "." not in dataset.name
    ]  # other data sets belong to one scenario
    if over is not None and over not in names:
        hint = suggest(over, names, f"there is {', '.join(names) or 'none'}")
        raise TriposError(CODE, f"the spec has no data set `{over}` that is read from files", hint)
    return next((dataset for dataset in plan.datasets if dataset.name in (over or names[:1])), None)


# Metrics


def metric_text(name: str, plan: Plan | None, dimension: str | None) -> str:
    """Return a new metric, on the scale of the other metrics of its dimension."""
    languages = plan.benchmark.languages if plan is not None else ("en",)
    metrics = [metric for metric in plan.metrics if metric.dimension == dimension] if plan is not None else []
    low, high = (metrics[-1].low, metrics[-1].high) if metrics else (1, 5)
    question = f"Is the reply good in this: {title_of(name).lower()}?"
    return (
        f"  metric {name} {_labels(languages, title_of(name))} {{\n"
        f"    scale {low}..{high}\n"
        f"    asks {_labels(languages, question)}  # the question that a judge answers\n"
        "  }\n"
    )


def metric_insertions(
    name: str, plan: Plan, sources: Sequence[Source], dimension: str | None, scenarios: Sequence[str]
) -> tuple[str, list[Insertion]]:
    """Return the dimension that a metric is added to, and the insertions: the metric, and a column in each table with a
    metric of that dimension.

    The column is marked in the rows where that metric counts, or in `scenarios` if they are given. Raises
    `TriposError`.
    """
    dimensions = {_name(entry): (source, entry) for source, entry in entries_of(sources, "dimension")}
    if not dimensions:
        raise TriposError(CODE, "the spec has no dimension that holds metrics", "`tripos explain dimension` shows one")
    if dimension is None and len(dimensions) > 1:
        raise TriposError(
            CODE, f"which dimension? there are {', '.join(dimensions)}", f"name one: {NewParameters.dimension} NAME"
        )
    dimension = dimension or next(iter(dimensions))
    if dimension not in dimensions:
        hint = suggest(dimension, dimensions, f"there are {', '.join(dimensions)}")
        raise TriposError(CODE, f"the spec has no dimension `{dimension}`", hint)
    source, entry = dimensions[dimension]
    assert entry.block is not None
    end = entry.block.span.end - 1
    before = "" if source.text[:end].rstrip(" ").endswith("\n") else "\n"
    insertions = [Insertion(source, end, f"{before}{metric_text(name, plan, dimension)}")]
    siblings = {metric.name for metric in plan.metrics if metric.dimension == dimension}
    unknown = set(scenarios)
    for source, entry in entries_of(sources, "allocate"):
        head, *rows = _rows(entry)
        places = [place for place, cell in enumerate(head.cells) if cell.text in siblings]
        if not places:
            continue
        insertions.append(Insertion(source, head.span.end, f" {name} |"))
        for row in rows:
            scenario = row.cells[0].text
            unknown.discard(scenario)
            counts = scenario in scenarios if scenarios else any(_counts(row, place) for place in places)
            insertions.append(Insertion(source, row.span.end, f" {'x' if counts else '.'} |"))
    if len(insertions) == 1:
        raise TriposError(CODE, f"no table gives a metric of `{dimension}` to a scenario", "`tripos explain allocate`")
    if unknown:
        raise TriposError(CODE, f"no table has a row for `{min(unknown)}`", "name a scenario of the table")
    return dimension, insertions


def _counts(row: TableRow, place: int) -> bool:
    return place < len(row.cells) and row.cells[place].text not in NONE


def _rows(entry: Entry) -> Iterator[TableRow]:
    for each in entry.block.entries() if entry.block is not None else ():
        if isinstance(each.elements[0], TableRow):
            yield each.elements[0]


def _name(entry: Entry) -> str:
    return entry.elements[1].text if isinstance(entry.elements[1], Name) else ""


STATEMENT_NAME = re.compile(r"[^\W\d]\w*")


# tripos new
def new_main(context: Context) -> Outcome:
    """Add a statement to a spec, which must stay well formed, or return it."""
    options = context.options
    _check(options)
    if options.path is None:
        if options.kind == "scenario":
            text = scenario_text(options.name, None, options.over)
        else:
            text = metric_text(options.name, None, options.dimension)
        text = format_text(text, options.name)
        return Outcome(lambda: {"text": text, "files": []}, [Output(text)])
    named = f"{options.kind} `{options.name}`"
    plan, files, where = extend_spec(context, named, lambda spec, before: _new_statement(options, before))
    unused = _unused_grades(context.config.store, plan, options.name) if options.kind == "metric" else 0
    texts = [added_text(named, files, where)]
    if unused:
        texts.append(f"the rubric is another one now: grades by people that the next run leaves out: {unused:,}")
        texts.append("  to keep them, take the metric out again, or give it a scorer of its own")
    return Outcome(lambda: {"text": None, "files": files, "unused_grades": unused}, map(message, texts))


def added_text(named: str, files: Sequence[str], where: str) -> str:
    """Return a message about a statement that was added to files."""
    text = f"added {named} to {', '.join(files)}"
    return f"{text}: {where}" if where else text


Additions = Callable[["SpecSource", "Compilation"], tuple[Mapping[str, str], str]]
"""Returns the new texts of the files of a spec, and a phrase for the place."""


def extend_spec(context: Context, named: str, added: Additions) -> tuple[Plan, list[str], str]:
    """Add to the spec of a command the texts that `added` returns, and print the new warnings of the compiler. Return
    the new plan, the files that changed, and the phrase for the place.

    Raises `InvalidSpec` after printing the diagnostics of a spec with errors, and `TriposError` if the extended spec
    would have errors.
    """
    from tripos.runs.compilation import find_spec, no_spec_at

    options = context.options
    if not Path(options.path).exists():  # a shipped spec must not be changed
        raise no_spec_at(options.path)
    config = context.config
    spec = find_spec(options.path, options.data, config.data, config.releases)
    if spec.release is not None:
        raise TriposError(
            CODE, f"`{options.path}` is a release, which stays as it is", "extend it: `tripos explain use`"
        )
    before = spec.compile()
    if before.plan is None:
        show_diagnostics(before.diagnostics)
        show_message("nothing was added: fix the spec first", stderr=True)
        raise InvalidSpec(options.path)
    texts, where = added(spec, before)
    laid_out = {path: _reformatted(path, text, before) for path, text in texts.items()}
    after = replace(spec, texts=laid_out).compile()
    if after.plan is None:
        first = next(diagnostic for diagnostic in after.diagnostics if diagnostic.severity == "error")
        raise TriposError(CODE, f"with {named} the spec would not be well formed: {first.message}", first.help)
    for path, text in laid_out.items():
        write_spec(Path(path), text)
    known = {(diagnostic.code, diagnostic.message) for diagnostic in before.diagnostics}
    show_diagnostics(
        diagnostic for diagnostic in after.diagnostics if (diagnostic.code, diagnostic.message) not in known
    )
    return after.plan, list(laid_out), where


def own_sources(before: Compilation) -> list[Source]:
    """Return the files of a spec without those of releases; the main file first."""
    frozen = [Path(release.folder) for release in before.releases]
    return [source for source in before.sources if not any(Path(source.path).is_relative_to(one) for one in frozen)]


def _unused_grades(root: str, plan: Plan, metric: str) -> int:
    """Return how many existing human grades the changed rubric no longer uses; 0 without a store."""
    from tripos_compiler.plan import Grade
    from tripos_warehouse.errors import StoreError
    from tripos_warehouse.store.paths import address_of
    from tripos_warehouse.store.schemas import HUMAN
    from tripos_warehouse.store.store import Store
    from tripos_warehouse.views.connect import connect

    if address_of(root) or not Path(root).expanduser().exists():
        return 0
    query = """select count(distinct (sample_id, evaluator, metric)) from main.scores
      where benchmark = ? and status = 'scored' and starts_with(evaluator, ?) and list_contains(?, scorer)"""
    steps = (step for scenario in plan.scenarios for treatment in scenario.treatments for step in treatment.steps)
    scorers = sorted({step.scorer for step in steps if isinstance(step, Grade) and metric in step.metrics})
    try:
        with connect(Store.open(root, create=False)) as connection:
            [(count,)] = connection.execute(query, [plan.benchmark.name, HUMAN, scorers]).fetchall()
            return int(count)
    except StoreError:
        return 0


def _check(options: Namespace) -> None:
    if not STATEMENT_NAME.fullmatch(options.name):
        raise TriposError("R0202", f"`{options.name}` is no name", "a name has letters, digits and `_`")
    NewParameters.check_kind(options, options.kind)


def _new_statement(options: Namespace, before: Compilation) -> tuple[Mapping[str, str], str]:
    """Return the new texts of the files that change, and a phrase for the place."""
    plan = before.plan
    assert plan is not None
    sources = own_sources(before)
    if options.kind == "scenario":
        text = scenario_text(options.name, plan, options.over)
        return apply_insertions([insert_below(sources[0], text, "scenario", "dataset", "role")]), ""
    dimension, insertions = metric_insertions(options.name, plan, sources, options.dimension, options.scenario)
    return apply_insertions(insertions), f"in the dimension `{dimension}`, with a column in its table"


def _reformatted(path: str, text: str, before: Compilation) -> str:
    """Return a text in the standard layout if the file had that layout before, or else unchanged."""
    was = next(source.text for source in before.sources if source.path == path)
    try:
        return format_text(text, path) if format_text(was, path) == was else text
    except Unparsable as error:
        raise TriposError(CODE, f"{path} would not be read: {error}", f"print it without {IN_SPEC}") from error
