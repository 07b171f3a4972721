"""A model on several servers: the least loaded is asked, a silent one is left out, and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from tripos.settings.config import Config
from tripos.settings.runtime import endpoints_of
from tripos_runtime.models.base import Endpoint, Message, ModelError, Request
from tripos_runtime.models.chat_completions import ReplicatedModel
from tripos_runtime.models.families import identity_of, open_model

NAME = "hosted_vllm/qwen"


@dataclass
class Stand:
    """A server that answers with its own name. `up` false: every page is an error of its own."""

    name: str
    takes_s: float = 0.0
    up: bool = True
    has_health: bool = True
    port: int = 0
    asked: int = 0
    under_way: int = 0
    most: int = 0
    paths: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def answer(self, request: web.Request) -> web.Response:
        self.paths.append(request.path)
        if not self.up:
            return web.Response(status=503)
        if request.method == "GET":
            return web.json_response({}, status=200 if self.has_health or request.path != "/health" else 404)
        self.asked += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(self.takes_s)
        self.under_way -= 1
        message = {"role": "assistant", "content": self.name}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}], "model": "qwen"})


def run(stands: list[Stand], work: Callable[[ReplicatedModel], Awaitable[None]], *, warm_up_s: float = 0.0) -> None:
    """Do something with a model that all of these serve."""

    async def whole() -> None:
        async with AsyncExitStack() as stack:
            for stand in stands:
                app = web.Application()
                app.router.add_route("*", "/{path:.*}", stand.answer)
                runner = web.AppRunner(app, shutdown_timeout=0.1)
                await runner.setup()
                stack.push_async_callback(runner.cleanup)
                site = web.TCPSite(runner, "127.0.0.1", 0)
                await site.start()
                stand.port = runner.addresses[0][1]
            first, *more = (stand.url for stand in stands)
            endpoint = Endpoint(first, None, "lab", tuple(more), warm_up_s)
            model = open_model(NAME, {NAME: endpoint}, sleep=lambda _: asyncio.sleep(0.01))
            assert isinstance(model, ReplicatedModel)
            try:
                await work(model)
            finally:
                await model.close()

    asyncio.run(whole())


async def ask(model: ReplicatedModel, number: int = 0) -> str:
    return (await model.ask(Request(NAME, (Message("user", f"question {number}"),)))).text


def test_calls_go_to_the_server_with_the_fewest_under_way() -> None:
    stands = [Stand("a", 0.05), Stand("b", 0.05), Stand("c", 0.05)]

    async def work(model: ReplicatedModel) -> None:
        await asyncio.gather(*(ask(model, number) for number in range(12)))

    run(stands, work)
    assert [stand.asked for stand in stands] == [4, 4, 4]
    assert [stand.most for stand in stands] == [4, 4, 4]


def test_a_slow_server_is_asked_less() -> None:
    fast, slow = Stand("fast", 0.01), Stand("slow", 0.2)

    async def work(model: ReplicatedModel) -> None:
        places = asyncio.Semaphore(4)

        async def one(number: int) -> None:
            async with places:
                await ask(model, number)

        await asyncio.gather(*(one(number) for number in range(40)))

    run([fast, slow], work)
    assert fast.asked + slow.asked == 40
    assert slow.asked < 12


def test_a_server_that_goes_loses_no_call_and_comes_back() -> None:
    stands = [Stand("a"), Stand("b")]

    async def work(model: ReplicatedModel) -> None:
        stands[0].up = False
        assert {await ask(model, number) for number in range(6)} == {"b"}
        looked = len([path for path in stands[0].paths if path == "/v1/chat/completions"])
        assert looked == 1  # once it failed its health check, it is asked no more
        stands[0].up = True
        for _ in range(200):
            await asyncio.sleep(0.01)
            if await ask(model) == "a":
                return
        raise AssertionError("it did not come back")

    run(stands, work)


def test_an_error_of_a_server_that_is_there_goes_to_the_caller() -> None:
    async def work(model: ReplicatedModel) -> None:
        async def failing(request: Request) -> None:
            raise ModelError("R0111", "server error", "wait", retryable=True)

        model._replicas[0].model.ask = failing  # type: ignore[assignment,method-assign]
        with pytest.raises(ModelError, match="server error"):
            await ask(model)
        assert await ask(model, 1) == "b"
        with pytest.raises(ModelError, match="server error"):
            await ask(model, 2)  # it is there, so it has its turn

    run([Stand("a"), Stand("b")], work)


def test_where_all_are_gone_the_error_is_that_of_a_call() -> None:
    stands = [Stand("a", up=False), Stand("b", up=False)]

    async def work(model: ReplicatedModel) -> None:
        with pytest.raises(ModelError) as caught:
            await ask(model)
        assert caught.value.retryable
        stands[1].up = True
        assert await ask(model, 1) == "b"

    run(stands, work)


@pytest.mark.parametrize("has_health", [True, False])
def test_a_run_waits_until_a_server_is_there(has_health: bool) -> None:
    stands = [Stand("a", up=False, has_health=has_health), Stand("b", up=False)]

    async def work(model: ReplicatedModel) -> None:
        warming = asyncio.create_task(model.warm_up())
        await asyncio.sleep(0.1)
        assert not warming.done()
        stands[0].up = True
        await asyncio.wait_for(warming, 10)
        assert {await ask(model, number) for number in range(4)} == {"a"}

    run(stands, work, warm_up_s=20)


def test_a_server_that_never_comes_is_told() -> None:
    async def work(model: ReplicatedModel) -> None:
        with pytest.raises(ModelError, match=r"was ready within 0\.05 s: http://127\.0\.0\.1"):
            await model.warm_up()

    run([Stand("a", up=False)], work, warm_up_s=0.05)


def test_the_name_of_a_reply_does_not_depend_on_who_answers() -> None:
    table = {"base_url": "http://a/v1", "name": "lab", "replicas": ["http://b/v1", "http://c/v1"]}
    others = {"base_url": "http://c/v1", "name": "lab"}
    names = {
        identity_of(NAME, endpoints_of(Config.model_validate({"endpoints": {NAME: each}})), {})
        for each in (table, others)
    }
    assert names == {f"{NAME} @ lab"}
    with pytest.raises(ValueError, match="replicas need a `name`"):
        Config.model_validate({"endpoints": {NAME: {**table, "name": None}}})


def test_a_model_in_another_form_has_no_replicas() -> None:
    endpoint = Endpoint("http://a/v1", None, "lab", ("http://b/v1",))
    with pytest.raises(ModelError, match="are for chats in OpenAI's form"):
        open_model("anthropic/claude-sonnet-4-5", {"anthropic": endpoint})


def test_a_limit_of_one_reply_a_request_is_set_for_every_server() -> None:
    async def work(model: ReplicatedModel) -> None:
        model.most_samples = 1
        assert model.most_samples == 1

    run([Stand("a"), Stand("b")], work)
