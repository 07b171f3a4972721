"""The language server: its features, and the dispatch of requests.

An error in an answer neither ends the server nor reaches the editor. It is logged in one line, and the answer is empty.
"""

from __future__ import annotations

import asyncio
import functools
import gc
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import to_fs_path

from tripos.lsp.completion import completions
from tripos.lsp.diagnostics import Reports, quick_fixes
from tripos.lsp.documents import Encoding
from tripos.lsp.hover import hover, lenses, signature_help
from tripos.lsp.session import MOST_CHARS, EditorSession, View
from tripos.lsp.symbols import (
    LEGEND,
    RenameRefused,
    definitions,
    folding_ranges,
    formatted,
    highlights,
    prepare_rename,
    references,
    rename,
    semantic_tokens,
    symbols,
    workspace_symbols,
)
from tripos.terminal import show_text
from tripos.version import __version__

DELAY_S = 0.005
"""Delay after the last change before the spec is checked."""
LONGEST_DELAY_S = 0.2
"""Maximum delay before a check while changes continue."""
WATCHED = ("**/*.tripos", "**/tripos.toml", "**/*.{jsonl,json,csv,parquet,arrow,feather,yaml,yml,py}")
"""The files that the client is asked to watch."""
REQUEST_FAILED = -32803
"""The protocol's error code for a valid request that cannot be fulfilled."""
GC_THRESHOLDS = (50_000, 20, 50)
"""Thresholds of the garbage collector. A compilation makes many objects but hardly any cycles; with Python's defaults a
tenth of its time would go to collection."""

Answer = Callable[[View, Any], Any]


class Protocol(LanguageServerProtocol):
    """The protocol with its own storage of documents. It has fewer line endings than Python's `splitlines`, and editors
    count lines as the protocol does."""

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Handle an opened document."""
        cast("Server", self._server).opened(params.text_document)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Handle a changed document."""
        cast("Server", self._server).changed(params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Handle a closed document."""
        cast("Server", self._server).closed(params.text_document.uri)


class Server(LanguageServer):
    """The server of one editor. `session` is replaced when a client initializes."""

    def __init__(self) -> None:
        super().__init__("tripos", __version__, protocol_cls=Protocol)
        self.session = EditorSession(log=self.log)
        self.reports = Reports(self.session)
        self.watched = False
        """Whether the client reports file changes."""
        self.snippets = False
        self._waiting: dict[str, tuple[asyncio.TimerHandle, float]] = {}
        """The pending check of each changed document, and the time of its first change."""

    def log(self, message: str) -> None:
        """Log one line to standard error and to the client."""
        line = message.replace("\n", " ")
        show_text(f"tripos lsp: {line}", stderr=True, flush=True)
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, line))

    def failed(self, what: str, error: Exception) -> None:
        """Log an internal error with its location."""
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f" ({place.tb_frame.f_globals.get('__name__')}:{place.tb_lineno})" if place is not None else ""
        self.log(f"internal error in {what}: {type(error).__name__}: {error}{where}")

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log a message that the library could not handle, such as a malformed one."""
        if not isinstance(error, JsonRpcException) or error.code != REQUEST_FAILED:
            self.failed("a message", error)

    # Session

    def begin(self, params: lsp.InitializeParams) -> None:
        """Start a session with the client's capabilities and folders."""
        capabilities = params.capabilities
        folders = [folder.uri for folder in params.workspace_folders or ()]
        folders = folders or ([params.root_uri] if params.root_uri else [])
        chosen = self.workspace.position_encoding
        encoding = cast("Encoding", chosen.value if isinstance(chosen, lsp.PositionEncodingKind) else chosen)
        said = params.initialization_options
        trusted = isinstance(said, dict) and said.get("trusted") is True
        self.session = EditorSession(encoding, _paths(folders), self.log, trusted=trusted)
        self.reports = Reports(self.session)
        document = capabilities.text_document
        item = document.completion.completion_item if document and document.completion else None
        self.snippets = bool(item and item.snippet_support)
        workspace = capabilities.workspace
        files = workspace.did_change_watched_files if workspace else None
        self.watched = bool(files and files.dynamic_registration)

    def watch(self) -> None:
        """Ask the client to report file changes."""
        if not self.watched:
            return
        options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(glob) for glob in WATCHED])
        method = lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES
        registration = lsp.Registration("tripos-files", method, options)
        self.client_register_capability(lsp.RegistrationParams([registration]))

    def folders_changed(self, event: lsp.WorkspaceFoldersChangeEvent) -> None:
        """Handle folders that were opened or closed."""
        gone, come = _paths([folder.uri for folder in event.removed]), _paths([folder.uri for folder in event.added])
        kept = [folder for folder in self.session.membership.folders if folder not in gone]
        self.session.membership.folders = (*kept, *come)
        self.files_changed()

    def files_changed(self) -> None:
        """Handle files that changed on disk, or may have changed."""
        self.session.refresh()
        self._guarded("checking", self._publish_everything)

    # Documents

    def opened(self, item: lsp.TextDocumentItem) -> None:
        """Handle an opened document."""
        if not self.watched:
            self.session.refresh()
        document = self.session.put(item.uri, item.text, item.version)
        self._later(document.path)

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Handle a changed document. A document that is not open is ignored."""
        document = self.session.documents.find(params.text_document.uri)
        if document is not None:
            text = document.changed(params.content_changes)
            self._later(self.session.put(document.uri, text, params.text_document.version).path)

    def closed(self, uri: str) -> None:
        """Handle a closed document."""
        document = self.session.remove(uri)
        if document is not None:
            waiting = self._waiting.pop(document.path, None)
            if waiting is not None:
                waiting[0].cancel()
            self._guarded("checking", self._publish_everything)

    def saved(self, uri: str) -> None:
        """Handle a saved document."""
        document = self.session.documents.find(uri)
        if document is not None and not self.watched:
            self.session.refresh()
            self._later(document.path)

    def _later(self, path: str) -> None:
        """Schedule a check of the latest version of a document."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        waiting = self._waiting.pop(path, None)
        since = now
        if waiting is not None:
            waiting[0].cancel()
            since = waiting[1]
        due = min(now + DELAY_S, since + LONGEST_DELAY_S)
        self._waiting[path] = (loop.call_at(due, self._publish, path), since)

    def _publish(self, path: str) -> None:
        self._waiting.pop(path, None)
        self._guarded("checking", lambda: self._send(self.reports.after(path)))

    def _publish_everything(self) -> None:
        self._send(self.reports.everything())

    def _send(self, shown: Sequence[lsp.PublishDiagnosticsParams]) -> None:
        for params in shown:
            self.text_document_publish_diagnostics(params)

    # Requests

    def _guarded(self, what: str, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except RenameRefused as refused:
            raise JsonRpcException(str(refused), REQUEST_FAILED) from None
        except Exception as error:
            self.failed(what, error)
            return None

    def answer(self, method: str, options: Any, act: Answer) -> None:
        """Register the handler of a request about an open document."""

        def handle(params: Any) -> Any:
            view = self.session.view(params.text_document.uri)
            if view is None or len(view.text) > MOST_CHARS:
                return None
            return self._guarded(method, functools.partial(act, view, params))

        self.feature(method, options)(handle)

    def hear(self, method: str, act: Callable[[Any], Any]) -> None:
        """Register the handler of a message that is not about a document."""
        self.feature(method)(lambda params: self._guarded(method, functools.partial(act, params)))


def _paths(uris: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for uri in uris if (path := to_fs_path(uri)) is not None)


def make_server() -> Server:
    """Return a server with all features, for one client."""
    server = Server()
    server.hear(lsp.INITIALIZE, server.begin)
    server.hear(lsp.INITIALIZED, lambda _: server.watch())
    server.hear(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, lambda _: server.files_changed())
    server.hear(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, lambda params: server.folders_changed(params.event))
    server.hear(lsp.TEXT_DOCUMENT_DID_SAVE, lambda params: server.saved(params.text_document.uri))
    server.hear(lsp.WORKSPACE_SYMBOL, lambda params: workspace_symbols(server.session, params.query))
    _answer_about_names(server)
    _answer_about_text(server)
    return server


def _answer_about_names(server: Server) -> None:
    """Register the features that depend on names."""
    server.answer(lsp.TEXT_DOCUMENT_HOVER, None, lambda view, params: hover(view, params.position))
    server.answer(lsp.TEXT_DOCUMENT_DEFINITION, None, lambda view, params: definitions(view, params.position))
    server.answer(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, None, lambda view, params: highlights(view, params.position))
    server.answer(
        lsp.TEXT_DOCUMENT_REFERENCES,
        None,
        lambda view, params: references(view, params.position, declared=params.context.include_declaration),
    )
    server.answer(lsp.TEXT_DOCUMENT_PREPARE_RENAME, None, lambda view, params: prepare_rename(view, params.position))
    server.answer(
        lsp.TEXT_DOCUMENT_RENAME,
        lsp.RenameOptions(prepare_provider=True),
        lambda view, params: rename(view, params.position, params.new_name),
    )
    server.answer(
        lsp.TEXT_DOCUMENT_COMPLETION,
        lsp.CompletionOptions(trigger_characters=list('.{("= |:/')),
        lambda view, params: completions(
            view,
            params.position,
            snippets=server.snippets,
            spaced=params.context is not None and params.context.trigger_character == " ",
        ),
    )
    server.answer(
        lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
        lsp.SignatureHelpOptions(trigger_characters=["(", ","]),
        lambda view, params: signature_help(view, params.position),
    )


def _answer_about_text(server: Server) -> None:
    """Register the features that depend on the text of a document."""
    server.answer(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
        lambda view, params: quick_fixes(view, params.range),
    )
    server.answer(lsp.TEXT_DOCUMENT_FORMATTING, None, lambda view, params: formatted(view))
    server.answer(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, None, lambda view, params: symbols(view))
    server.answer(lsp.TEXT_DOCUMENT_FOLDING_RANGE, None, lambda view, params: folding_ranges(view))
    server.answer(lsp.TEXT_DOCUMENT_CODE_LENS, None, lambda view, params: lenses(view))
    server.answer(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND, lambda view, params: semantic_tokens(view))


def serve(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Serve one client until it exits or disconnects."""
    gc.freeze()  # imported modules live as long as the process
    gc.set_threshold(*GC_THRESHOLDS)
    make_server().start_io(stdin, stdout)
