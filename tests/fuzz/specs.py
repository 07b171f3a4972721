"""Targets: the compiler, the formatter and the language server on specs of any text."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from lsprotocol import types as lsp

from tests.compiler.examining import KeptData, examine, examine_format
from tests.compiler.mutants import Spec, case_specs, scraps, shipped_specs
from tests.compiler.slips import SLIPS
from tests.fuzz.mutators import LONGEST, mutated_text
from tests.fuzz.trying import BrokenRule, Refused
from tests.fuzz.written_specs import written_spec
from tests.generated_specs import generate
from tripos.lsp.server import Server, make_server

ROOT = Path(__file__).parents[2]
LARGEST = 20_000
"""Characters of the specs that are changed."""
AT = "# at "
"""Begins the first line of an input: the file below the repository in whose place it stands, next to its data."""
NOWHERE = "docs/examples/fuzzed.tripos"


@cache
def _specs() -> dict[str, Spec]:
    """Return the examples of the documentation and the valid cases, by the file of theirs that is changed. The larger
    benchmarks are for `tests/bench/mutations.py`."""
    found = [spec for spec in (*shipped_specs(), *case_specs()) if sum(map(len, spec.files.values())) < LARGEST]
    return {Path(path).relative_to(ROOT).as_posix(): spec for spec in found for path in spec.files}


@cache
def spec_seeds() -> Sequence[bytes]:
    """Return every spec with the line that says where it stands."""
    return [f"{AT}{path}\n{spec.files[str(ROOT / path)]}".encode() for path, spec in _specs().items()]


def mutated_spec(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a spec with slips of a hand in it; now and then with changes that no hand makes."""
    if random.random() < 0.15:
        return mutated_text(random, data, others)
    head, _, text = data.decode("utf-8", "replace").partition("\n")
    while True:
        text = random.choice(SLIPS)(random, text, scraps())
        if random.random() < 0.6:
            break
    return f"{head}\n{text}".encode("utf-8", "replace")[:LONGEST]


def new_spec(random: Random) -> bytes:
    """Return a spec that a generator writes: one that compiles but for its data, or one of the table of constructs."""
    if random.random() < 0.3:
        with tempfile.TemporaryDirectory() as folder:
            text = generate(random.randrange(1 << 30), Path(folder)).spec.read_bytes()
    else:
        text = written_spec(random)
    return f"{AT}{NOWHERE}\n".encode() + text


@cache
def _data() -> KeptData:
    return KeptData()


def _files(data: bytes) -> tuple[dict[str, str], str, str]:
    """Return the texts of a spec by path, its main file and the one that is fuzzed. What is no text is refused before
    the compiler sees it, as the commands do."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("E0901") from error
    head, _, rest = text.partition("\n")
    path = head.removeprefix(AT).strip()
    spec = _specs().get(path) if head.startswith(AT) else None
    if spec is None:
        fuzzed = str(ROOT / NOWHERE)
        return {fuzzed: rest if head.startswith(AT) else text}, fuzzed, fuzzed
    fuzzed = str(ROOT / path)
    return {**spec.files, fuzzed: rest}, spec.main, fuzzed


def compile_any(data: bytes) -> None:
    """Compile a spec, render what is said of it in every way, and look at what must hold of that."""
    files, main, _ = _files(data)
    compilation = examine(files, main, _data())
    errors = [item for item in compilation.diagnostics if item.severity == "error"]
    if errors:
        raise Refused(errors[0].code, len(errors))


def format_any(data: bytes) -> None:
    """Format a spec; what is formatted stays as it is when it is formatted again."""
    files, _, fuzzed = _files(data)
    if examine_format(files, fuzzed) is None:
        raise Refused("E0101")


class _LoudServer(Server):
    """A language server that hides no bug."""

    def failed(self, what: str, error: Exception) -> None:
        """Let it out."""
        raise error

    def log(self, message: str) -> None:
        """Take what is wrong with the user's files for granted, and nothing else."""
        if "internal" in message or "cannot check" in message:
            raise BrokenRule(f"the language server says: {message}")


REQUESTS: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    (lsp.TEXT_DOCUMENT_HOVER, lsp.HoverParams, {}),
    (lsp.TEXT_DOCUMENT_DEFINITION, lsp.DefinitionParams, {}),
    (lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, lsp.DocumentHighlightParams, {}),
    (lsp.TEXT_DOCUMENT_REFERENCES, lsp.ReferenceParams, {"context": lsp.ReferenceContext(True)}),
    (lsp.TEXT_DOCUMENT_PREPARE_RENAME, lsp.PrepareRenameParams, {}),
    (lsp.TEXT_DOCUMENT_RENAME, lsp.RenameParams, {"new_name": "renamed"}),
    (lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionParams, {}),
    (lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpParams, {}),
)
OF_ALL: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, lsp.DocumentSymbolParams, {}),
    (lsp.TEXT_DOCUMENT_FOLDING_RANGE, lsp.FoldingRangeParams, {}),
    (lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensParams, {}),
    (lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensParams, {}),
    (lsp.TEXT_DOCUMENT_FORMATTING, lsp.DocumentFormattingParams, {"options": lsp.FormattingOptions(2, True)}),
)


@cache
def _server() -> Server:
    import tripos.lsp.server as module

    usual, module.Server = module.Server, _LoudServer  # type: ignore[misc]
    try:
        return make_server()
    finally:
        module.Server = usual  # type: ignore[misc]


def serve_any(data: bytes) -> None:
    """Open a document in the language server, ask everything about places in it, and close it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("E0901") from error
    asyncio.run(_serve(_server(), text))


async def _serve(server: Server, text: str) -> None:
    head, _, rest = text.partition("\n")
    path = head.removeprefix(AT).strip()
    known = head.startswith(AT) and path in _specs()
    uri = (ROOT / (path if known else NOWHERE)).as_uri()
    server.session.put(uri, rest if known else text, 1)
    try:
        server.reports.after(server.session.documents.find(uri).path)  # type: ignore[union-attr]
        document = lsp.TextDocumentIdentifier(uri)
        lines = (rest if known else text).split("\n")
        random = Random(text)
        for method, params, more in REQUESTS:
            line = random.randrange(len(lines))
            place = lsp.Position(line, random.randint(0, len(lines[line]) + 1))
            await _asked(server, method, params(text_document=document, position=place, **more))
        for method, params, more in OF_ALL:
            await _asked(server, method, params(text_document=document, **more))
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(lines), 0))
        context = lsp.CodeActionContext(diagnostics=[])
        await _asked(server, lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionParams(document, whole, context))
    finally:
        server.session.remove(uri)


async def _asked(server: Server, method: str, params: Any) -> Any:
    from pygls.exceptions import JsonRpcException

    try:
        return server.protocol.fm.features[method](params)
    except JsonRpcException:
        return None  # an answer too: such a rename is refused
