"""The files of a new project, from a template or from a benchmark that is shipped with Tripos."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from tripos.settings.options import MODEL, ROLE, InitParameters
from tripos.version import __version__
from tripos_compiler.errors import TriposError

MOCKS = ("mock/careful", "mock/careless")
"""The models under test if none is given."""
GRADER = "anthropic/claude-sonnet-4-5"
"""A grader of another family than the models that `--profile hosted` compares."""


# Templates and shipped benchmarks
@dataclass(frozen=True)
class Start:
    """The benchmark of a new project: a template, whose files are in the folder of its name, or a shipped benchmark."""

    name: str
    help: str
    mocks: Sequence[str] = MOCKS
    """Mock models under test, which give a first run results without a provider."""
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Mock models for each of the other roles."""
    local: Sequence[str] = ("local/smollm2-135m",)
    shipped: Mapping[str, bytes] | None = None
    """The contents of the files of a shipped benchmark, by their paths in its folder; None for a template."""
    main: str = "spec.tripos"
    """The name of the main spec file."""


_JUDGES = {"judge": ("mock/fair:ada", "mock/noisy:ben")}
TEMPLATES = {
    start.name: start
    for start in (
        Start("qa", "questions with four options and a key"),
        Start("judge", "explanations that judges grade on a rubric", roles=_JUDGES),
        Start(
            "dialogue",
            "lessons: one model teaches another, with a test before and after",
            mocks=("mock/teacher", "mock/teacher:ben"),
            roles={"student": ("mock/student-40-30",)},
        ),
        Start(
            "pairwise",
            "letters that judges compare two by two",
            roles=_JUDGES,
            local=("local/smollm2-135m", "mock/careful"),
        ),
        Start("rag", "questions about pages that are retrieved", roles={"judge": ("mock/fair:ada",)}),
        Start("bilingual", "one quiz in English and Chinese"),
    )
}
"""Every template; the first one is the default."""
DEFAULT = next(iter(TEMPLATES))


def files_of(start: Start, name: str, models: Sequence[str], where: str) -> dict[str, bytes]:
    """Return the contents of the files of a new project, by their paths in its folder. `name` is the name of the new
    benchmark, `models` are the models under test, and `where` is the path of the folder in its repository, empty for
    the root."""
    from tripos.settings.config import SETTINGS_FILE

    templates = files("tripos.cli").joinpath("templates")
    common = templates.joinpath("common")
    spec = f"{name}.tripos"
    path = f"{where}/{spec}" if where else spec
    mocks = [MODEL.flag, ",".join(start.mocks)]
    for role, models_of_role in start.roles.items():
        mocks += [ROLE.flag, f"{role}={','.join(models_of_role)}"]
    source_files = start.shipped
    if source_files is None:
        template_files = sorted(templates.joinpath(start.name).iterdir(), key=lambda file: file.name)
        source_files = {file.name: file.read_bytes() for file in template_files}
    new_files = dict(source_files)
    main = new_files.pop(start.main).decode("utf-8")
    new_files[spec] = re.sub(r"(?m)^(\s*benchmark\s+)\w+", rf"\g<1>{name}", main, count=1).encode()
    settings = _settings(common, start, spec, models)
    workflow = (
        common.joinpath("workflow.yml")
        .read_text("utf-8")
        .format(
            name=name,
            version=__version__,
            spec_yaml=json.dumps(path, ensure_ascii=False),
            spec_shell=shlex.quote(path),
            mocks=shlex.join(mocks),
        )
    )
    guide = common.joinpath("AGENTS.md").read_text("utf-8")
    guide = guide.format(spec=spec, spec_shell=shlex.quote(spec), mocks=shlex.join(mocks))
    new_files[SETTINGS_FILE] = settings.encode()
    new_files["AGENTS.md"] = guide.encode()
    new_files[".env.example"] = common.joinpath("env.example").read_bytes()
    new_files[".gitignore"] = common.joinpath("gitignore").read_bytes()
    new_files[".github/workflows/tripos.yml"] = workflow.encode()
    return new_files


def shipped_start(name: str) -> Start:
    """Return a shipped benchmark, given its path below `specs`, with the models of its `tripos.toml`. Spec files that
    it uses from other folders move to the folder `shared`. Raises `TriposError` E0108 if there is no such
    benchmark."""
    from tripos.runs.compilation import find_spec, shipped_spec
    from tripos.settings.config import SETTINGS_FILE
    from tripos.settings.load import load_config

    spec_path = shipped_spec(name)
    if spec_path is None:
        hint = f"the page on the gallery lists them: `tripos docs gallery`; or begin with `{InitParameters.template}`"
        raise TriposError("E0108", f"no benchmark `{name}` comes with Tripos", hint)
    compilation = find_spec(str(spec_path)).compile()
    specs = [Path(source.path).resolve() for source in compilation.sources]
    folder = specs[0].parent
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".tripos"]
    new_paths = {path: path.relative_to(folder) for path in paths if not _is_generated(path.relative_to(folder))}
    for spec in specs:
        new_paths[spec] = spec.relative_to(folder) if spec.is_relative_to(folder) else Path("shared", spec.name)
    contents = {path: path.read_bytes() for path in new_paths}
    contents.update((path, _moved_uses(path, new_paths)) for path in new_paths if path.suffix == ".tripos")
    settings = load_config(folder, environ={}) if (folder / SETTINGS_FILE).is_file() else None
    assert compilation.plan is not None
    return Start(
        name,
        compilation.plan.benchmark.title or compilation.plan.benchmark.name,
        mocks=settings.models if settings is not None else MOCKS,
        roles=settings.roles if settings is not None else {},
        shipped={new_paths[path].as_posix(): content for path, content in contents.items()},
        main=specs[0].name,
    )


USE = re.compile(r'^(\s*use\s+")([^"]+)(")', re.MULTILINE)


def _moved_uses(path: Path, new_paths: Mapping[Path, Path]) -> bytes:
    """Return the content of a spec file, with the new paths of files in its `use` statements."""
    new_folder = new_paths[path].parent

    def with_new_path(match: re.Match[str]) -> str:
        target = new_paths.get((path.parent / match[2]).resolve())
        return (
            match[0] if target is None else match[1] + Path(os.path.relpath(target, new_folder)).as_posix() + match[3]
        )

    return USE.sub(with_new_path, path.read_text("utf-8")).encode()


def _is_generated(path: Path) -> bool:
    """Return true for a file that a run or Python generates."""
    return bool({"results", "__pycache__"} & set(path.parts))


def _settings(common: Traversable, start: Start, spec: str, models: Sequence[str]) -> str:
    """Return the text of the new `tripos.toml`."""
    from tripos.settings.config import SETTINGS_FILE

    shipped_settings = (start.shipped or {}).get(SETTINGS_FILE, b"").decode("utf-8")
    roles = "".join(f"{role} = {_toml(models_of_role)}\n" for role, models_of_role in start.roles.items())
    hosted = "".join(f"{role} = {_toml([GRADER])}\n" for role in start.roles)
    text = (
        common.joinpath("tripos.toml")
        .read_text("utf-8")
        .format(
            spec=spec,
            models=_toml(models),
            roles=f"\n[roles]  # stand-ins, until models take their place\n{roles}" if roles else "",
            local=_toml(start.local),
            hosted_roles=f"\n[profiles.hosted.roles]\n{hosted}" if hosted else "",
        )
    )
    return text.rstrip("\n") + "\n" + _other_tables(shipped_settings)


def _other_tables(text: str) -> str:
    """Return the tables of a `tripos.toml` except `[roles]`, unchanged; top-level keys such as `models` are left out.

    >>> _other_tables('models = ["mock/careful"]\\n[roles]\\njudge = "mock/fair"\\n[programs]\\npython-tests = {}\\n')
    '\\n[programs]\\npython-tests = {}\\n'
    """
    tables = re.split(r"(?m)^(?=\[)", text)[1:]
    kept = [table.rstrip("\n") + "\n" for table in tables if not table.startswith("[roles]")]
    return "".join(f"\n{table}" for table in kept)


def _toml(names: Sequence[str]) -> str:
    return json.dumps(list(names), ensure_ascii=False)
