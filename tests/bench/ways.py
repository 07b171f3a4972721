"""CPU and calls per second of each way to a model: a provider's form over Tripos's connections, and by litellm alone.

    python tests/bench/ways.py [--connections 32 256] [--rounds 3] [--forms anthropic gemini …]

A server on the loopback answers in the form of each provider. The two ways take turns in one process; the medians are
printed, and the ratio is what to quote. OpenAI's form is sent without litellm, the others in litellm's words. The script
stops where the two ways read different texts, tokens, endings or costs. `anthropic reply` and `gemini reply` are a reply
with a prompt that was put in a cache, and one with a thought.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace

from processes import more_files

from tripos_compiler.plan import Settings, ending_of
from tripos_runtime.models.base import Endpoint, Message, Model, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.models.litellm_models import LitellmModel

MODELS = {
    "openai": "openai/gpt-4o",
    "openai reasoning": "openai/gpt-5",
    "azure": "azure/gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "anthropic reply": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "gemini reply": "gemini/gemini-2.5-flash",
    "ollama": "ollama/llama3",
    "ollama_chat": "ollama_chat/llama3",
}
"""The forms, each with a model; the first is sent directly."""
CALLS = {"ours": 400, "litellm": 400}
PROMPT = "Explain why the sky is blue in about a hundred words, for a pupil of twelve years. " * 8
TEXT = "Light of short waves is scattered more than light of long waves, so that the sky looks blue by day. " * 5


class Answering(asyncio.Protocol):
    """Answers every post in the form that its path says."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end]
            _, found, rest = head.lower().partition(b"content-length:")
            size = int(rest.split(b"\r\n", 1)[0]) if found else 0
            if len(self.buffer) < (until := end + 4 + size):
                return
            body, self.buffer = self.buffer[end + 4 : until], self.buffer[until:]
            answer = in_form(head.split(b" ", 2)[1].decode(), body)
            opening = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(answer)
            self.transport.write(opening + answer)


def in_form(path: str, body: bytes) -> bytes:
    """Return a reply in the form that a path asks for; its text is a function of the prompt alone."""
    if path.endswith("/api/show"):
        return dumped(capabilities=["completion"], model_info={}, template="")
    special = path.startswith("/special")
    number = body.split(b"question ", 1)[1].split(b":", 1)[0].decode()
    text = f"{number} {TEXT}"
    if "/messages" in path:
        usage = {"input_tokens": 200, "output_tokens": 120, "cache_creation_input_tokens": 50 if special else 0}
        content = [{"type": "text", "text": text}]
        return dumped(
            id="msg_1", type="message", role="assistant", model="claude-served", content=content,
            stop_reason="end_turn", stop_sequence=None, usage=usage,
        )  # fmt: skip
    if ":generateContent" in path:
        parts = [{"text": "let me see", "thought": True}] * special + [{"text": text}]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 200, "candidatesTokenCount": 120, "totalTokenCount": 320}
        return dumped(candidates=[candidate], usageMetadata=usage, modelVersion="gemini-served", responseId="1")
    if "/api/" in path:
        chat = path.endswith("chat")
        said = {"message": {"role": "assistant", "content": text}} if chat else {"response": text}
        return dumped(
            model="served", created_at="2026-01-01T00:00:00Z", done=True, done_reason="stop", prompt_eval_count=200,
            eval_count=120, **said,
        )  # fmt: skip
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    counts = {"prompt_tokens": 200, "completion_tokens": 120, "total_tokens": 320}
    return dumped(id="1", object="chat.completion", created=1, model="served", choices=[choice], usage=counts)


def dumped(**fields: object) -> bytes:
    """JSON with those fields."""
    return json.dumps(fields).encode()


async def serve() -> None:
    """Serve until stopped, and print the port."""
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def opened(form: str, way: str, address: str) -> Model:
    """Return the model of a form by one of the two ways."""
    name = MODELS[form]
    endpoint = Endpoint(address + ("/special" if form.endswith(" reply") else ""), "BENCH_KEY")
    return LitellmModel(name, endpoint) if way == "litellm" else open_model(name, {name: endpoint})


def asked(number: int) -> Request:
    """Return the request of that number."""
    messages = (Message("system", "be brief"), Message("user", f"question {number}: {PROMPT}"))
    return Request("m", messages, Settings(temperature=1.0, max_tokens=300))


async def measure(model: Model, calls: int, connections: int) -> tuple[float, float]:
    """Return the CPU of a call in milliseconds, and the calls per second."""
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await model.ask(asked(number))

    cpu_s, wall_s = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(connections)))
    return (time.process_time() - cpu_s) / calls * 1000, calls / (time.perf_counter() - wall_s)


async def compare(form: str, address: str, options: argparse.Namespace) -> None:
    """Print a line for each number of connections, with both ways in turns."""
    models = {way: opened(form, way, address) for way in CALLS}
    replies = [await model.ask(asked(7)) for model in models.values()]
    ours, theirs = [
        replace(each, model_served="", finish_reason=str(ending_of(each.finish_reason))) for each in replies
    ]
    if ours != theirs:
        sys.exit(f"{form}: the ways read different replies: {ours} and {theirs}")
    for connections in options.connections:
        taken: dict[str, list[tuple[float, float]]] = {way: [] for way in CALLS}
        for turn in range(options.rounds + 1):
            for way, model in models.items():
                found = await measure(model, CALLS[way] if turn else connections, connections)
                taken[way] += [found] * (turn > 0)  # the first turn opens the connections
        figures = {way: [statistics.median(each) for each in zip(*found, strict=True)] for way, found in taken.items()}
        told = ", ".join(f"{way} {cpu_ms:6.3f} ms {rate:6,.0f}/s" for way, (cpu_ms, rate) in figures.items())
        ratio = figures["litellm"][0] / figures["ours"][0]
        print(f"{form:17} {connections:4} connections: {told}, CPU ratio {ratio:5.1f}", flush=True)
    for model in models.values():
        await model.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, nargs="+", default=[32, 256])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--forms", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    more_files()
    if options.serve:
        asyncio.run(serve())
        return
    os.environ["BENCH_KEY"] = "bench-key-not-a-secret"
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = f"http://127.0.0.1:{int(server.stdout.readline())}"
            for form in options.forms:
                asyncio.run(compare(form, address, options))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
