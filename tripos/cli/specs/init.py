"""`tripos init`: a folder with a benchmark that runs at once, from a template or from one that comes with Tripos."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from tripos.cli.arguments import listed_names
from tripos.cli.specs.starts import DEFAULT, TEMPLATES, Start, files_of, shipped_start
from tripos.ui import GOOD, Failure, show_message, show_text
from tripos_compiler.diagnostics.translation import localized

NAME = re.compile(r"[^\W\d_]\w*")
"""A name of a benchmark."""


def main(options: Namespace) -> int:
    """Make a folder with a spec, its data, settings and a workflow, and print the next commands."""
    asks = not options.yes and sys.stdin.isatty()
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
    _tell(folder, name, template, models, list(texts), repository)
    return GOOD


def _chosen(options: Namespace, asks: bool) -> Start:
    """Return the start that the options name, or that is asked for. Raises `Failure` where there is none."""
    if options.shipped is None:
        return TEMPLATES[options.template or (_ask_template() if asks else DEFAULT)]
    if options.template is not None:
        raise Failure("R0202", "`--from` and `--template` both name a benchmark to begin with", "give one of them")
    return shipped_start(options.shipped)


def _benchmark_name(path: str) -> str:
    """Return the name that the benchmark in a folder gets. Raises `Failure` where the folder has none that fits."""
    last = Path(path).resolve().name
    name = re.sub(r"[-. ]", "_", last)
    if not NAME.fullmatch(name):
        hint = "a name has letters, digits and `_`, and begins with a letter: `tripos init my_quiz`"
        raise Failure("R0202", f"`{last}` cannot name a benchmark", hint)
    return name


def _ask(what: str, default: str) -> str:
    """Return the answer to a question; the default where it is empty."""
    try:
        return input(f"{localized(what)} [{default}]{localized(': ')}").strip() or default
    except EOFError:
        raise KeyboardInterrupt from None


def _ask_template() -> str:
    for number, each in enumerate(TEMPLATES.values(), 1):
        show_text(f"  {number}  {each.name:<10} {localized(each.help)}")
    by_number = {str(number): name for number, name in enumerate(TEMPLATES, 1)}
    while True:
        said = _ask("template", DEFAULT)
        name = by_number.get(said, said)
        if name in TEMPLATES:
            return name
        show_message(f"there is no template `{said}`: choose a name, or a number from 1 to {len(TEMPLATES)}")


def _repository(folder: Path) -> Path | None:
    """Return the folder with the repository of git that a folder is in, if there is one."""
    here = folder.resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), None)


def _write(folder: Path, texts: Mapping[str, bytes]) -> None:
    """Write files that are not there yet. Raises `Failure`, before anything is written, where one is in the way."""
    in_the_way = [name for name in texts if (folder / name).exists() or (folder / name).is_symlink()]
    if folder.exists() and not folder.is_dir():
        raise Failure("R0208", f"`{folder}` is a file", "give a folder that does not exist yet")
    if in_the_way:
        listed = ", ".join(f"`{name}`" for name in in_the_way)
        raise Failure("R0208", f"`{folder}` has {listed} already", "give another NAME; nothing was written")
    for name, content in texts.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
        except OSError as error:
            raise Failure("R0208", f"cannot write `{path}`: {error.strerror}", "give another NAME") from error


def _tell(
    folder: Path,
    name: str,
    template: Start,
    models: Sequence[str],
    written: Sequence[str],
    repository: Path | None,
) -> None:
    """Print what was written, and the next commands."""
    here = folder.resolve() == Path.cwd()
    spec = f"{name}.tripos"
    if template.shipped is None:
        show_message(f"made `{folder}` from the template `{template.name}`: {template.help}")
    else:
        show_message(f"made `{folder}` from `{template.name}`: {template.help}")
    for each in written:
        show_text(f"  {each}")
    free = all(each.startswith("mock/") for each in models)
    commands = [] if here else [(f"cd {_quoted(folder)}", "")]
    commands += [
        (f"tripos check {spec}", "find mistakes before anything is asked"),
        (f"tripos plan {spec}", "count the calls"),
        (f"tripos run {spec}", "run it with mock models: no key, no cost" if free else f"run {', '.join(models)}"),
        ("tripos view --open", "look at the results in the browser"),
    ]
    width = max(len(command) for command, _ in commands)
    show_text(f"\n{localized('next')}{localized(':')}")
    for command, what in commands:
        show_text(f"  {command:<{width}}  {localized(what)}".rstrip())
    if repository is not None and repository != folder.resolve():
        show_message(f"\nGitHub reads workflows at the root of a repository: move `.github` to {repository}")


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
