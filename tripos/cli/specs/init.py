"""`tripos init`: a folder with a benchmark that runs at once, from a template: a spec, data, settings, a workflow."""

from __future__ import annotations

import json
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from tripos.cli.arguments import listed_names
from tripos.ui import GOOD, Failure, __version__, show_message, show_text
from tripos_compiler.diagnostics.translation import localized

MOCKS = ("mock/careful", "mock/careless")
"""The models under test where none is given."""
GRADER = "anthropic/claude-sonnet-4-5"
"""A model of another family than those that `--profile hosted` compares."""


@dataclass(frozen=True)
class StartTemplate:
    """A benchmark to begin with, whose files lie in the folder of its name."""

    name: str
    help: str
    mocks: Sequence[str] = MOCKS
    """Mock models under test that give it figures to look at."""
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Mock models for its other roles."""
    local: Sequence[str] = ("local/smollm2-135m",)


_JUDGES = {"judge": ("mock/fair:ada", "mock/noisy:ben")}
TEMPLATES = {
    each.name: each
    for each in (
        StartTemplate("qa", "questions with four options and a key"),
        StartTemplate("judge", "explanations that judges grade on a rubric", roles=_JUDGES),
        StartTemplate(
            "dialogue",
            "lessons: one model teaches another, with a test before and after",
            mocks=("mock/teacher", "mock/teacher:ben"),
            roles={"student": ("mock/student-40-30",)},
        ),
        StartTemplate(
            "pairwise",
            "letters that judges compare two by two",
            roles=_JUDGES,
            local=("local/smollm2-135m", "mock/careful"),
        ),
        StartTemplate("rag", "questions about pages that are retrieved", roles={"judge": ("mock/fair:ada",)}),
        StartTemplate("bilingual", "one quiz in English and Chinese"),
    )
}
"""Every template; the first is the default."""
DEFAULT = next(iter(TEMPLATES))


def files_of(template: StartTemplate, name: str, models: Sequence[str], where: str) -> dict[str, str]:
    """Return the text of each file of a new benchmark, by its path in its folder. `name` is that of the benchmark,
    `models` are those under test, and `where` is the path of the folder in its repository; empty where it is the
    root."""
    root = files("tripos.cli.specs").joinpath("templates")
    spec = f"{name}.tripos"
    place = f"{where}/{spec}" if where else spec
    mocks = ["--model", ",".join(template.mocks)]
    for role, fillers in template.roles.items():
        mocks += ["--role", f"{role}={','.join(fillers)}"]
    common = root.joinpath("common")
    found = {}
    for each in sorted(root.joinpath(template.name).iterdir(), key=lambda each: each.name):
        text = each.read_text("utf-8")
        if each.name == "spec.tripos":
            found[spec] = text.replace(f"benchmark {template.name} ", f"benchmark {name} ", 1)
        else:
            found[each.name] = text
    found["tripos.toml"] = _settings(common, template, spec, models)
    found[".env.example"] = common.joinpath("env.example").read_text("utf-8")
    found[".gitignore"] = common.joinpath("gitignore").read_text("utf-8")
    found[".github/workflows/tripos.yml"] = (
        common.joinpath("workflow.yml")
        .read_text("utf-8")
        .format(
            name=name,
            version=__version__,
            spec_yaml=json.dumps(place, ensure_ascii=False),
            spec_shell=shlex.quote(place),
            mocks=shlex.join(mocks),
        )
    )
    return found


def _settings(common: Traversable, template: StartTemplate, spec: str, models: Sequence[str]) -> str:
    """Return the text of `tripos.toml`."""
    roles = "".join(f"{role} = {_toml(fillers)}\n" for role, fillers in template.roles.items())
    hosted = "".join(f"{role} = {_toml([GRADER])}\n" for role in template.roles)
    text = (
        common.joinpath("tripos.toml")
        .read_text("utf-8")
        .format(
            spec=spec,
            models=_toml(models),
            roles=f"\n[roles]  # stand-ins, until models take their place\n{roles}" if roles else "",
            local=_toml(template.local),
            hosted_roles=f"\n[profiles.hosted.roles]\n{hosted}" if hosted else "",
        )
    )
    return text.rstrip("\n") + "\n"


def _toml(names: Sequence[str]) -> str:
    return json.dumps(list(names), ensure_ascii=False)


NAME = re.compile(r"[^\W\d_]\w*")
"""A name of a benchmark."""


def main(options: Namespace) -> int:
    """Make a folder with a spec, its data, settings and a workflow, and print the next commands."""
    asks = not options.yes and sys.stdin.isatty()
    template = TEMPLATES[options.template or (_ask_template() if asks else DEFAULT)]
    path = options.name or (_ask("name of the benchmark", template.name) if asks else template.name)
    folder, name = Path(path), _benchmark_name(path)
    given = options.model or ([_ask("models under test", ", ".join(template.mocks))] if asks else [])
    models = listed_names(given) or list(template.mocks)
    repository = _repository(folder)
    where = folder.resolve().relative_to(repository).as_posix() if repository is not None else ""
    texts = files_of(template, name, models, "" if where == "." else where)
    _write(folder, texts)
    if not (asks or options.yes) and None in (options.name, options.template):
        show_message(f"no terminal to ask on: name `{path}`, template `{template.name}`, the defaults", stderr=True)
    _tell(folder, name, template, models, list(texts), repository)
    return GOOD


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


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Write files that are not there yet. Raises `Failure`, before anything is written, where one is in the way."""
    in_the_way = [name for name in texts if (folder / name).exists() or (folder / name).is_symlink()]
    if folder.exists() and not folder.is_dir():
        raise Failure("R0208", f"`{folder}` is a file", "give a folder that does not exist yet")
    if in_the_way:
        listed = ", ".join(f"`{name}`" for name in in_the_way)
        raise Failure("R0208", f"`{folder}` has {listed} already", "give another NAME; nothing was written")
    for name, text in texts.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise Failure("R0208", f"cannot write `{path}`: {error.strerror}", "give another NAME") from error


def _tell(
    folder: Path,
    name: str,
    template: StartTemplate,
    models: Sequence[str],
    written: Sequence[str],
    repository: Path | None,
) -> None:
    """Print what was written, and the next commands."""
    here = folder.resolve() == Path.cwd()
    spec = f"{name}.tripos"
    show_message(f"made `{folder}` from the template `{template.name}`: {template.help}")
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
