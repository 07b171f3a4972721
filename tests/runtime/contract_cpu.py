"""What a call costs in CPU on each way to a model: `python tests/runtime/contract_cpu.py http://127.0.0.1:8901/v1`.

The address is that of a server that answers chat completions in OpenAI's form. Every way is measured twice in a process
of its own, so that none pays for what another imported.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

from tripos_compiler.plan import Settings
from tripos_runtime.models import Endpoint, Message, Model, Request, open_model

CALLS = {"bare": 20_000, "direct": 20_000, "translated": 8_000, "litellm": 1_000, "mock": 5_000}
AT_ONCE = 32
PROMPT = "Explain why the sky is blue in about a hundred words, for a pupil of twelve years. " * 8


def request(number: int) -> Request:
    return Request(
        "m",
        (Message("system", "be brief"), Message("user", f"{number} {PROMPT}")),
        Settings(temperature=0.0, max_tokens=200),
    )


def opened(way: str, address: str) -> Model:
    endpoints = {"openai": Endpoint(address)}
    if way == "litellm":
        from tripos_runtime.models.litellm_client import LitellmModel

        return LitellmModel("openai/gpt-4o", endpoints["openai"])
    return open_model({"direct": "openai/gpt-4o", "translated": "openai/gpt-5", "mock": "mock/careful"}[way], endpoints)


async def bare(address: str) -> tuple[Callable[[int], Awaitable[object]], Callable[[], Awaitable[None]]]:
    """aiohttp and orjson, and nothing else."""
    import aiohttp
    import orjson

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    headers = {"Authorization": "Bearer none", "Content-Type": "application/json"}

    async def call(number: int) -> object:
        asked = request(number)
        body = {"model": "m", "messages": asked.messages, "temperature": 0.0, "max_tokens": 200}
        async with session.post(f"{address}/chat/completions", data=orjson.dumps(body), headers=headers) as response:
            return orjson.loads(await response.read())["choices"][0]["message"]["content"]

    return call, session.close


async def measure(way: str, address: str) -> None:
    if way == "bare":
        call, close = await bare(address)
    else:
        model = opened(way, address)
        call, close = lambda number: model.ask(request(number)), model.close

    async def work(numbers: range) -> None:
        left = iter(numbers)

        async def worker() -> None:
            for number in left:
                await call(number)

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))

    await work(range(200))
    for _ in range(2):
        cpu_s, wall_s, calls = time.process_time(), time.perf_counter(), CALLS[way]
        await work(range(calls))
        ms, rate = (time.process_time() - cpu_s) / calls * 1000, calls / (time.perf_counter() - wall_s)
        print(f"{way:10} {ms:6.3f} ms CPU a call, {rate:6.0f} calls/s, litellm imported: {'litellm' in sys.modules}")
    await close()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        asyncio.run(measure(sys.argv[2], sys.argv[1]))
    else:
        for each in CALLS:
            subprocess.run([sys.executable, __file__, sys.argv[1], each], check=True)
