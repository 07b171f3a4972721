"""The benchmarks that `tripos init` begins with: a spec, its data, settings, and a workflow for GitHub."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable

from tripos.version import __version__

MOCKS = ("mock/careful", "mock/careless")
"""The models under test where none is given."""
GRADER = "anthropic/claude-sonnet-4-5"
"""A model of another family than those that `--profile hosted` compares."""


@dataclass(frozen=True)
class Template:
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
        Template("qa", "questions with four options and a key"),
        Template("judge", "explanations that judges grade on a rubric", roles=_JUDGES),
        Template(
            "dialogue",
            "lessons: one model teaches another, with a test before and after",
            mocks=("mock/teacher", "mock/teacher:ben"),
            roles={"student": ("mock/student-40-30",)},
        ),
        Template(
            "pairwise",
            "letters that judges compare two by two",
            roles=_JUDGES,
            local=("local/smollm2-135m", "mock/careful"),
        ),
        Template("rag", "questions about pages that are retrieved", roles={"judge": ("mock/fair:ada",)}),
        Template("bilingual", "one quiz in English and Chinese"),
    )
}
"""Every template; the first is the default."""
DEFAULT = next(iter(TEMPLATES))


def files_of(template: Template, name: str, models: Sequence[str], where: str) -> dict[str, str]:
    """Return the text of each file of a new benchmark, by its path in its folder. `name` is that of the benchmark,
    `models` are those under test, and `where` is the path of the folder in its repository; empty where it is the
    root."""
    root = files("tripos.cli.starting").joinpath("templates")
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


def _settings(common: Traversable, template: Template, spec: str, models: Sequence[str]) -> str:
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
