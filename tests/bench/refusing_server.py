"""A mock server that refuses calls with status 429 by a rule of `tests/runtime/refusing_servers.py`.

    python tests/bench/refusing_server.py --port 8901 --latency-ms 200

`GET /rule/NAME` sets the rule, and the counts to zero; `GET /stats` returns how many requests there were, and how many
were refused."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.runtime.refusing_servers import AtRandom, Bursts, MostAtOnce, Quota, Rule, TokenBucket

RULES: Mapping[str, Callable[[], Rule]] = {
    "nothing": lambda: AtRandom(0.0),
    "5 % of calls": lambda: AtRandom(0.05),
    "20 % of calls": lambda: AtRandom(0.2),
    "50 % of calls": lambda: AtRandom(0.5),
    "calls beyond 20 at a time": lambda: MostAtOnce(20),
    "calls beyond 50 a second": lambda: TokenBucket(50.0, 10.0),
    "calls beyond 2 a second": lambda: TokenBucket(2.0, 2.0),
    "calls beyond 100 in 5 s": lambda: Quota(100, 5.0),
    "all for 2 of 6 s, with Retry-After": lambda: Bursts(6.0, 2.0),
}
REPLY = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "mock-model",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ANSWER: 42"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
    }
)


class RefusingServer:
    """The server, with its rule and its counts."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._rule: Rule = AtRandom(0.0)
        self._began = time.monotonic()
        self._requests = self._refused = self._under_way = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lengths = [
                    line.split(":")[1] for line in head.lower().split("\r\n") if line.startswith("content-length")
                ]
                await reader.readexactly(int(lengths[0]) if lengths else 0)
                status, headers, body = await self._answer(head)
                length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"HTTP/1.1 {status}\r\n{headers}{length}\r\n{body}".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, head: str) -> tuple[str, str, str]:
        method, path, _ = head.split(" ", 2)
        if method == "GET" and path.startswith("/rule/"):
            self._rule = list(RULES.values())[int(path.rpartition("/")[2])]()
            self._began = time.monotonic()
            self._requests = self._refused = 0
        if method == "GET":
            return "200 OK", "", json.dumps({"requests": self._requests, "refused": self._refused})
        self._requests += 1
        now = time.monotonic() - self._began
        if self._rule.refuses(now, self._under_way):
            self._refused += 1
            wait_s = self._rule.retry_after_s(now)
            headers = "" if wait_s is None else f"Retry-After: {wait_s:.3f}\r\n"
            return "429 Too Many Requests", headers, '{"error": {"message": "too many requests"}}'
        self._under_way += 1
        try:
            await asyncio.sleep(self._latency_s)
        finally:
            self._under_way -= 1
        return "200 OK", "", REPLY


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--latency-ms", type=float, default=200)
    options = parser.parse_args()
    server = await asyncio.start_server(RefusingServer(options.latency_ms / 1000).serve, "127.0.0.1", options.port)
    print("serving", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
