"""All calls in flight hold a bounded number of bytes; those without room wait, and all of them end."""

from __future__ import annotations

import asyncio
from contextvars import Context
from itertools import count

import pytest
from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tests.runtime.virtual_time import now, run
from tripos_runtime.models import http
from tripos_runtime.models.base import Endpoint, Message, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.models.http import LARGEST_BYTES, MB, ReplyMemory, shared_reply_memory
from tripos_runtime.scheduling.calling import Called, open_callers
from tripos_runtime.scheduling.limits import Limits

REPLY_BYTES = 300_000
HEAD = b'{"choices":[{"message":{"content":"'
NUMBERS = count()
TAIL = b'"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}'
BODY = HEAD + b"a" * (REPLY_BYTES - len(HEAD + TAIL)) + TAIL


async def sending(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every second request in chunks, whose number nobody knows before the last."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
            if next(NUMBERS) % 2:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
            else:
                chunks = [BODY[at : at + 50_000] for at in range(0, len(BODY), 50_000)]
                packed = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + packed + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def asked_together(name: str, calls: int, limits: Limits) -> tuple[list[Called], ReplyMemory]:
    async def main() -> tuple[list[Called], ReplyMemory]:
        server = await asyncio.start_server(sending, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = open_model(name, {"openai": Endpoint(f"http://127.0.0.1:{port}/v1")})
        caller = open_callers({name: model}, limits)[name]
        try:
            request = Request(name, (Message("user", "hi"),))
            return await asyncio.gather(*(caller.call(request) for _ in range(calls))), caller.memory
        finally:
            await model.close()
            server.close()

    return asyncio.run(main())


@pytest.mark.parametrize(("name", "room_mb", "most_held"), [
    ("openai/m", 1, MB), ("openai/m", 3, 3 * MB), ("openai/m", 256, 60 * REPLY_BYTES * 2),
    ("openai/gpt-5", 3, 3 * MB),  # by litellm
])  # fmt: skip
def test_many_calls_with_large_replies_hold_no_more_than_the_room_and_all_of_them_end(
    name: str, room_mb: int, most_held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LARGEST_BYTES", MB)
    called, memory = asked_together(name, 60, Limits(max_connections=60, max_retries=0, reply_memory_mb=room_mb))
    assert [len(each.reply.text) for each in called] == [REPLY_BYTES - len(HEAD + TAIL)] * 60
    assert REPLY_BYTES <= memory.most_held <= most_held
    assert memory.bytes_in_use == 0 and not memory._growing and not memory._waiting


@given(
    st.lists(st.lists(st.integers(1, 40 * MB), min_size=1, max_size=5), min_size=1, max_size=12), st.integers(1, 300)
)
@settings(deadline=None, max_examples=sized(40, 400))
def test_no_calls_wait_for_each_other(growing: list[list[int]], room_mb: int) -> None:
    """Replies grow step by step up to the largest; the clock of the test stops where everybody waits."""
    memory = ReplyMemory(room_mb * MB)

    async def grow(steps: list[int]) -> None:
        with shared_reply_memory() as share:
            share.begin(memory)
            for step in steps:
                await share.take(min(step, LARGEST_BYTES - share.bytes_in_use))
                await asyncio.sleep(step % 7)
            share.arrived(share.bytes_in_use // 3)
            await asyncio.sleep(1)

    async def main() -> None:
        await asyncio.gather(*(grow(steps) for steps in growing))

    run(main())
    assert memory.bytes_in_use == 0
    assert memory.most_held <= max(memory.most_bytes, LARGEST_BYTES)


def test_a_timeout_stands_still_while_a_call_waits_for_room() -> None:
    memory = ReplyMemory(MB)

    async def waits() -> float:
        with shared_reply_memory() as share:
            share.begin(memory)
            async with asyncio.timeout(5) as deadline:
                share.deadlines = [deadline]
                await asyncio.sleep(3)
                await share.take(MB)
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(1):
                        await asyncio.sleep(9)
                return now()

    async def main() -> float:
        with shared_reply_memory() as first:
            first.begin(memory)
            await first.take(MB)
            waiting = asyncio.create_task(waits(), context=Context())
            await asyncio.sleep(100)
        return await waiting

    assert run(main()) == 101


def test_a_call_that_is_cancelled_while_it_waits_leaves_nothing_behind() -> None:
    memory = ReplyMemory(MB)

    async def hold() -> None:
        with shared_reply_memory() as share:
            share.begin(memory)
            await share.take(MB)
            await asyncio.sleep(2)

    async def main() -> float:
        calls = [asyncio.create_task(hold()) for _ in range(3)]
        await asyncio.sleep(1)
        calls[1].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return now()

    assert run(main()) == 4
    assert memory.bytes_in_use == 0 and not memory._growing and not memory._waiting


def test_a_post_needs_no_timeout_of_its_own_where_its_call_ends_no_later() -> None:
    async def within(seconds: float) -> bool:
        with shared_reply_memory() as share:
            assert not share.ends_within(1000)
            async with asyncio.timeout(5) as deadline, asyncio.timeout(None) as endless:
                share.deadlines = [endless, deadline]
                await asyncio.sleep(1)
                return share.ends_within(seconds)

    assert [run(within(seconds)) for seconds in (3.9, 4.0, 300.0)] == [False, True, True]
