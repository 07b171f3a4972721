"""The extension's package: its files are there, its lock names no host, and it is of Tripos' version."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

from tests.editors.specs import EXTENSION, ROOT


def read(name: str) -> Any:
    return json.loads((EXTENSION / name).read_text("utf-8"))


def paths(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, part in value.items():
                yield from [part] if key in ("path", "configuration") and isinstance(part, str) else paths(part)
        case list():
            for part in value:
                yield from paths(part)


def test_every_file_that_is_contributed_is_there() -> None:
    named = list(paths(read("package.json")["contributes"]))
    assert len(named) == 3
    assert [name for name in named if not (EXTENSION / name).is_file()] == []


def test_every_file_that_is_packed_is_there_or_built() -> None:
    names = [name for name in read("package.json")["files"] if not name.startswith("out/")]
    assert [name for name in names if not (EXTENSION / name).is_file()] == []


def test_the_lock_says_what_is_installed_and_not_where_from() -> None:
    packages = read("package-lock.json")["packages"]
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []


def test_what_is_committed_names_no_registry() -> None:
    settings = (EXTENSION / ".npmrc").read_text("utf-8").splitlines()
    assert "omit-lockfile-registry-resolved=true" in settings
    assert not [line for line in settings if "registry=" in line]
    names = ["package.json", "package-lock.json", "README.md", ".npmrc"]
    assert not [name for name in names if "registry." in (EXTENSION / name).read_text("utf-8")]


def test_the_extension_is_of_the_version_and_licence_of_tripos() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    package = read("package.json")
    assert (package["version"], package["license"]) == (project["version"], project["license"])
    assert (EXTENSION / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_server_is_the_command_that_tripos_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    setting = read("package.json")["contributes"]["configuration"]["properties"]["tripos.command"]
    assert setting["default"] in project["scripts"]
