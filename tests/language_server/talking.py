"""A real client that speaks to `tripos lsp` over standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import warm
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path, to_fs_path

Answer = TypeVar("Answer")
WAIT_S = 60
"""So long an answer may take before a test fails; on a busy machine too."""


class Client:
    """A client, the documents that it has open, and what the server has published."""

    def __init__(self, connection: LanguageClient, folder: Path) -> None:
        self.connection = connection
        self.folder = folder
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.logged: list[str] = []
        self.registered: list[str] = []
        self.capabilities: lsp.ServerCapabilities | None = None
        self._news = asyncio.Condition()

    # --- documents ---

    def uri(self, name: str) -> str:
        """Return the URI of a file of the folder."""
        return name if ":" in name else str(from_fs_path(str(self.folder / name)))

    def open(self, name: str, text: str | None = None) -> str:
        """Open a document, with what is on disk unless a text is given; its URI."""
        uri = self.uri(name)
        self.texts[uri] = (self.folder / name).read_bytes().decode() if text is None else text
        self.versions[uri] = 1
        item = lsp.TextDocumentItem(uri, "tripos", 1, self.texts[uri])
        self.connection.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri

    def change(self, name: str, old: str, new: str) -> int:
        """Replace a stretch of a document that stands in it once, as an editor does; the new version."""
        uri = self.uri(name)
        text = self.texts[uri]
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        start = text.index(old)
        place = lsp.Range(position(text, start), position(text, start + len(old)))
        self.texts[uri] = text.replace(old, new)
        return self._changed(uri, lsp.TextDocumentContentChangePartial(place, new))

    def replace(self, name: str, text: str) -> int:
        """Return a document another text; the new version."""
        uri = self.uri(name)
        self.texts[uri] = text
        return self._changed(uri, lsp.TextDocumentContentChangeWholeDocument(text))

    def _changed(self, uri: str, change: lsp.TextDocumentContentChangeEvent) -> int:
        self.versions[uri] += 1
        document = lsp.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.connection.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
        return self.versions[uri]

    def close(self, name: str) -> None:
        """Close a document."""
        document = lsp.TextDocumentIdentifier(self.uri(name))
        self.connection.text_document_did_close(lsp.DidCloseTextDocumentParams(document))

    # --- what the server says ---

    async def heard(self, params: lsp.PublishDiagnosticsParams) -> None:
        """Take up what the server publishes."""
        async with self._news:
            self.published[params.uri] = params
            self._news.notify_all()

    async def diagnostics(self, name: str, version: int | None = None) -> list[lsp.Diagnostic]:
        """Return what is wrong with the last version of a document, or with that one, once the server has said it."""
        uri = self.uri(name)
        wanted = version if version is not None else self.versions.get(uri)

        def there() -> bool:
            known = self.published.get(uri)
            return known is not None and (wanted is None or known.version == wanted)

        await self.until(there)
        return list(self.published[uri].diagnostics)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, which is looked at whenever the server has published something."""
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(holds), WAIT_S)

    # --- requests ---

    def at(self, name: str, marked: str, cursor: str = "|") -> dict[str, Any]:
        """Return the document and the position of the cursor in a stretch of it that stands there once without that."""
        uri = self.uri(name)
        before, after = marked.split(cursor)
        text = self.texts[uri]
        assert text.count(before + after) == 1, f"{before + after!r} stands {text.count(before + after)} times"
        offset = text.index(before + after) + len(before)
        return {"text_document": lsp.TextDocumentIdentifier(uri), "position": position(text, offset)}

    def read(self, uri: str) -> str:
        """Return the text of a file: of the open document, or what is on disk."""
        return self.texts.get(uri) or Path(cast("str", to_fs_path(uri))).read_text("utf-8")


def position(text: str, place: int) -> lsp.Position:
    """Return a place of a text in UTF-16 units, counted without the help of what is tested."""
    before = text[:place].split("\n")
    return lsp.Position(len(before) - 1, len(before[-1].encode("utf-16-le")) // 2)


def offset(text: str, place: lsp.Position) -> int:
    """Return the place of a position in UTF-16 units."""
    lines = text.split("\n")
    column = len(lines[place.line].encode("utf-16-le")[: place.character * 2].decode("utf-16-le"))
    return sum(len(line) + 1 for line in lines[: place.line]) + column


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """Return a text with edits."""
    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        text = text[: offset(text, edit.range.start)] + edit.new_text + text[offset(text, edit.range.end) :]
    return text


async def begin(
    folder: Path,
    *,
    encodings: list[lsp.PositionEncodingKind | str] | None = None,
    watching: bool = False,
    folders: bool = True,
    alone: bool = False,
) -> Client:
    """Return a client that has introduced itself to a server of its own, with a folder open. The server comes from a
    process that has imported everything (`warm`), unless it is to be started `alone`, as an editor does."""
    connection = LanguageClient("test", "1")
    client = Client(connection, folder)

    @connection.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    async def publish(params: lsp.PublishDiagnosticsParams) -> None:
        await client.heard(params)

    @connection.feature(lsp.WINDOW_LOG_MESSAGE)
    def log(params: lsp.LogMessageParams) -> None:
        client.logged.append(params.message)

    @connection.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def register(params: lsp.RegistrationParams) -> None:
        client.registered += [each.method for each in params.registrations]

    if alone:
        await connection.start_io(sys.executable, "-m", "tripos", "lsp", env=dict(os.environ), cwd=str(folder))
    else:
        await connection.start_tcp("127.0.0.1", warm.serve(folder))
    capabilities = lsp.ClientCapabilities(
        general=lsp.GeneralClientCapabilities(position_encodings=encodings),
        workspace=lsp.WorkspaceClientCapabilities(
            did_change_watched_files=lsp.DidChangeWatchedFilesClientCapabilities(dynamic_registration=watching)
        ),
        text_document=lsp.TextDocumentClientCapabilities(
            completion=lsp.CompletionClientCapabilities(
                completion_item=lsp.ClientCompletionItemOptions(snippet_support=True)
            )
        ),
    )
    uri = str(from_fs_path(str(folder)))
    open_ = [lsp.WorkspaceFolder(uri, folder.name)] if folders else None
    said = lsp.InitializeParams(capabilities, process_id=os.getpid(), workspace_folders=open_)
    client.capabilities = (await asyncio.wait_for(connection.initialize_async(said), WAIT_S)).capabilities
    connection.initialized(lsp.InitializedParams())
    return client


async def end(client: Client) -> int | None:
    """Say goodbye as the protocol has it; the exit code of the server, where it was started alone."""
    process = client.connection._server
    if process is None or process.returncode is None:
        await asyncio.wait_for(client.connection.shutdown_async(None), WAIT_S)
        client.connection.exit(None)
        await asyncio.wait_for(client.connection.stop(), WAIT_S)
    return None if process is None else process.returncode


class Editor:
    """What a person does in an editor, one thing after the other. Places are given by a stretch of a document in which
    a bar stands for the cursor."""

    def __init__(self, runner: asyncio.Runner, client: Client) -> None:
        self.runner = runner
        self.client = client

    def wait(self, answer: Coroutine[Any, Any, Answer]) -> Answer:
        """Return what comes of a request."""

        async def within() -> Answer:
            return await asyncio.wait_for(answer, WAIT_S)

        return self.runner.run(within())

    def request(self, method: str, name: str, marked: str | None = None, **more: Any) -> Any:
        """Return the answer to `textDocument/METHOD` about a document, or about a place in it."""
        words = method.removesuffix("_full").split("_")
        params = getattr(lsp, f"{''.join(word.title() for word in words)}Params")
        given = {"text_document": self.document(name)} if marked is None else self.client.at(name, marked)
        return self.wait(getattr(self.client.connection, f"text_document_{method}_async")(params(**given, **more)))

    def document(self, name: str) -> lsp.TextDocumentIdentifier:
        """Return a document, as requests name it."""
        return lsp.TextDocumentIdentifier(self.client.uri(name))

    def text(self, name: str) -> str:
        """Return the text of a document."""
        return self.client.texts[self.client.uri(name)]

    def diagnostics(self, name: str) -> list[lsp.Diagnostic]:
        """Return what is wrong with the last version of a document."""
        return self.wait(self.client.diagnostics(name))

    def messages(self, name: str) -> list[str]:
        """Return the first lines of what is wrong with the last version of a document."""
        return [each.message.split("\n")[0] for each in self.diagnostics(name)]

    @contextmanager
    def edited(self, name: str, old: str, new: str) -> Iterator[None]:
        """A document with a stretch replaced, which is undone in the end."""
        before = self.text(name)
        self.client.change(name, old, new)
        try:
            yield
        finally:
            self.client.replace(name, before)
            self.diagnostics(name)

    def hover(self, name: str, marked: str) -> str | None:
        """Return the text that is shown at a place."""
        found = self.request("hover", name, marked)
        assert found is None or isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value if found is not None and isinstance(found.contents, lsp.MarkupContent) else None

    def definition(self, name: str, marked: str) -> list[tuple[str, str]]:
        """Return the file and the text of where the name at a place is declared."""
        return [self._shown(each) for each in self.request("definition", name, marked) or ()]

    def references(self, name: str, marked: str, *, declared: bool = True) -> list[tuple[str, int]]:
        """Return the file and the line, counted from 1, of everywhere that the name at a place stands."""
        params = lsp.ReferenceParams(lsp.ReferenceContext(declared), **self.client.at(name, marked))
        found = self.wait(self.client.connection.text_document_references_async(params))
        return [(each.uri.rpartition("/")[2], each.range.start.line + 1) for each in found or ()]

    def completions(
        self, name: str, marked: str, trigger: str | None = None, cursor: str = "|"
    ) -> dict[str, lsp.CompletionItem]:
        """Return what is proposed at a place, in order, by label."""
        kind = lsp.CompletionTriggerKind.TriggerCharacter if trigger else lsp.CompletionTriggerKind.Invoked
        context = lsp.CompletionContext(kind, trigger)
        params = lsp.CompletionParams(context=context, **self.client.at(name, marked, cursor))
        found = self.wait(self.client.connection.text_document_completion_async(params))
        items = found.items if isinstance(found, lsp.CompletionList) else found or ()
        return {item.label: item for item in sorted(items, key=lambda item: item.sort_text or item.label)}

    def renamed(self, name: str, marked: str, new: str) -> dict[str, str]:
        """Return the texts of the files that a rename changes, afterwards."""
        edit = self.request("rename", name, marked, new_name=new)
        assert edit is not None and edit.changes is not None
        return {
            uri.rpartition("/")[2]: applied(self.client.read(uri), list(edits)) for uri, edits in edit.changes.items()
        }

    def _shown(self, location: lsp.Location) -> tuple[str, str]:
        text = self.client.read(location.uri)
        found = text[offset(text, location.range.start) : offset(text, location.range.end)]
        return location.uri.rpartition("/")[2], found
