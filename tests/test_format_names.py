"""The name of an importer, exporter, emitter or provider decides nothing outside of its declaration.

Everything else asks the registry, or a fact of the declaration. `decisions` finds the places of a module where such a
name is compared, matched, an element of a collection of such names, or a key of a table of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests import sources
from tests.each import each
from tripos.exporting import EMITTERS
from tripos.exporting.exporters import EXPORTERS
from tripos.importing.logs.opening import IMPORTERS
from tripos_runtime.models.catalog import PROVIDERS

DECLARED = (
    "tripos/importing/logs/formats",
    "tripos/exporting/exporters.py",
    "tripos/exporting/emitters",
    "runtime/tripos_runtime/models/catalog.py",
)
FORMATS = frozenset((*IMPORTERS, *EXPORTERS, *EMITTERS))
NAMES = FORMATS | frozenset(PROVIDERS) - {"openai"}
"""The form of the direct providers is OpenAI's, so its own name stands for the form."""
TABLES = "the forms of tables for readers: text, csv, html and others"
OTHER_WORDS = {
    "tripos/cli/compare.py": (TABLES, "csv"),
    "tripos/cli/describe.py": (TABLES, "csv"),
    "tripos/cli/leaderboard.py": (TABLES, "csv"),
    "tripos/cli/report.py": (TABLES, "csv"),
    "tripos/cli/sql.py": (TABLES, "csv"),
    "warehouse/tripos_warehouse/tables/render.py": (TABLES, "csv"),
    "tripos/importing/tasks/lm_eval.py": ("readers of the library datasets", "csv", "parquet"),
    "tripos/importing/tasks/inspect_reader.py": ("the key of a version", "inspect"),
    "tripos/training/chats.py": ("kinds in the provenance of an exported file", "distillation", "preferences"),
    "tripos/training/reward_pairs.py": ("kinds in the provenance of an exported file", "preferences"),
    "compiler/tripos_compiler/language/aggregates.py": ("families of models", "mistral", "deepseek"),
    "runtime/tripos_runtime/models/litellm_models.py": ("providers of litellm", "openrouter", "xai"),
    "warehouse/tripos_warehouse/exports/telemetry.py": ("names of OpenTelemetry", "mistral", "xai"),
}
"""Modules where a name is a word of something else, with what it is."""


def modules() -> Iterator[Path]:
    """Yield the modules of the product that declare no format."""
    for path in sources.modules():
        module = path.relative_to(sources.ROOT)
        if "node_modules" not in module.parts and not any(module.is_relative_to(each) for each in DECLARED):
            yield path


def decisions(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the name wherever the name of a format or provider decides."""
    for node in nodes:
        match node:
            case ast.Compare(left=left, comparators=others):
                yield from names_in(left, *others)
            case ast.MatchValue(value=value):
                yield from names_in(value)
            case ast.Dict(keys=keys):
                yield from names_in(*(key for key in keys if key is not None))
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                found = list(names_in(*elements))
                yield from found if len(found) > 1 else ()
            case ast.Call(args=arguments):
                found = list(names_in(*arguments))
                yield from found if len(found) > 1 else ()


def names_in(*nodes: ast.expr) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES:
            yield node.lineno, node.value
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield from names_in(*node.elts)


@each(
    "text",
    [
        'x = kind == "eee"',
        'x = kind in ("inspect", "other")',
        'match form:\n    case "promptfoo":\n        pass',
        'WRITERS = {"xlsx": 1, "z": 2}',
        'EXPORTS = ("csv", "parquet")',
        'x = choice("jsonschema", "lm-eval")',
        'BATCHES = {"groq": 1}',
    ],
)
def test_a_name_that_decides_is_seen(text: str) -> None:
    assert list(decisions(ast.walk(ast.parse(text))))


@each("text", ['x = row["csv"]', 'x = "csv"', 'f("inspect")', 'x = ["csv", "of a table"]'])
def test_a_word_that_decides_nothing_is_let_be(text: str) -> None:
    assert not list(decisions(ast.walk(ast.parse(text))))


def test_no_module_decides_by_the_name_of_a_format_or_provider() -> None:
    found = {(sources.name_of(path), name) for path in modules() for _, name in decisions(sources.nodes_of(path))}
    others = {(path, name) for path, (_, *names) in OTHER_WORDS.items() for name in names}
    assert sorted(found - others) == []
    assert sorted(others - found) == [], "no module says these any more"
