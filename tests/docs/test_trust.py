"""The page about trust names modules that are there, and every one that opens connections, starts programs or runs
code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.sources import ROOT, modules, name_of, nodes_of

PAGE = (ROOT / "docs/explanation/trust.md").read_text("utf-8")
LIBRARIES = {"socket", "http", "urllib.request", "aiohttp", "requests", "httpx", "websockets", "obstore"}
LIBRARIES |= {"opentelemetry"}
LIBRARIES |= {"huggingface_hub", "subprocess", "multiprocessing", "pickle", "marshal", "shelve", "ftplib", "smtplib"}
LIBRARIES |= {"webbrowser", "ctypes", "cffi", "dill", "cloudpickle", "joblib", "telnetlib", "imaplib", "xmlrpc", "pty"}
CALLS = {"exec", "eval", "__import__"}
ATTRIBUTES = re.compile(
    r"os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|startfile|fork\w*)"
    r"|asyncio\.(create_subprocess_\w+|open_connection|open_unix_connection|start_server|start_unix_server)"
    r"|(\w+\.)*(create_connection|create_datagram_endpoint|create_server|extractall|extension_loading)"
    r"|(importlib\.)?import_module|runpy\.\w+|torch\.load|yaml\.(unsafe_load|full_load|load_all)"
)
"""Calls that reach out, start programs, unpack archives, or import by name."""


def dotted(node: ast.expr) -> str:
    """Return the names of `a.b.c`; empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def crosses(path: Path) -> bool:
    """Whether a module imports what reaches out of the process, or evaluates code."""
    for node in nodes_of(path):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        elif (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS) or (
            isinstance(node, ast.Call) and ATTRIBUTES.fullmatch(dotted(node.func))
        ):
            return True
        if any(name in LIBRARIES or name.partition(".")[0] in LIBRARIES for name in names):
            return True
    return False


def test_every_module_that_reaches_out_is_named_and_no_other() -> None:
    found = {name_of(path) for path in modules() if crosses(path)}
    listed = set(re.findall(r"^\| `([\w/]+\.py)` \|", PAGE, re.MULTILINE))
    assert found == listed


def test_every_module_of_the_page_is_there() -> None:
    named = set(re.findall(r"`([\w/]+/[\w/]+\.py)`", PAGE))
    assert {name for name in named if not (ROOT / name).is_file()} == set()
    assert len(named) > 20


CROSSINGS = (
    "import os\nos.system('ls')",
    "import asyncio\nasyncio.open_connection('a', 1)",
    "loop.create_connection(f, 'a', 1)",
    "import importlib\nimportlib.import_module(name)",
    "archive.extractall('x')",
    "import torch\ntorch.load('x')",
    "import ctypes",
)


def test_a_module_that_reaches_out_is_found(tmp_path: Path) -> None:
    for number, text in enumerate(
        ("import socket", "from urllib import request", "def f():\n    exec('1')", *CROSSINGS)
    ):
        path = tmp_path / f"{number}.py"
        path.write_text(text)
        assert crosses(path)
    (tmp_path / "plain.py").write_text("import re\nre.compile('a')\n")
    assert not crosses(tmp_path / "plain.py")


ROOMS_OF_STRANGERS = ("tripos/releases", "tripos/annotation", "tripos/training")
DIRECT = re.compile(r"loads\([^()]*(\([^()]*\))?[^()]*\.(read_bytes|read_text)\(")


def test_json_of_strangers_is_read_in_one_place() -> None:
    """In rooms that read files of others, no JSON is parsed from a file that was opened directly."""
    assert DIRECT.search('json.loads(beside(path).read_text("utf-8"))')
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for room in ROOMS_OF_STRANGERS
        for path in (ROOT / room).rglob("*.py")
        for match in DIRECT.finditer(path.read_text("utf-8"))
    ]
    assert found == []
