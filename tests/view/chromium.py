"""A headless Chromium for tests of the page, driven by the DevTools protocol; None where the machine has none."""

from __future__ import annotations

import asyncio
import atexit
import base64
import contextlib
import functools
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Self

import aiohttp

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--mute-audio"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0"),
)
PATIENCE = 60.0


class Page:
    """One page of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._asked = 0
        self.problems: list[str] = []
        """Exceptions, errors of the console and refusals by the policy, as they came."""
        self.requests: list[str] = []
        """The address of everything that the page asked for."""

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return what the browser answers."""
        self._asked += 1
        await self._socket.send_json({"id": self._asked, "method": method, "params": parameters})
        while True:
            said = await self._socket.receive_json(timeout=PATIENCE)
            if said.get("id") == self._asked:
                assert "error" not in said, said
                found: dict[str, Any] = said["result"]
                return found
            self._note(said)

    def _note(self, said: dict[str, Any]) -> None:
        parameters = said.get("params", {})
        match said.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(parameters["exceptionDetails"])[:500])
            case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                entry = parameters["entry"]
                self.problems.append(f"{entry['text']} {entry.get('url', '')}")
            case "Page.javascriptDialogOpening":
                self.problems.append(f"dialog: {parameters['message']}")

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        said = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    async def open(self, address: str, *, width: int = 1200, dark: bool = False) -> None:
        """Open an address and wait until its content is there."""
        await self.resize(width, 800)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=address)
        await self.until(
            "document.querySelector('#content')?.children.length && !document.querySelector('.waiting, [aria-busy=true]')"
        )

    async def resize(self, width: int, height: int) -> None:
        """Give the page another size; one that is narrow is a phone's."""
        size = {"width": width, "height": height}
        await self.call("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=width < 600)

    async def until(self, condition: str) -> None:
        """Wait until a condition holds in the page."""
        async with asyncio.timeout(PATIENCE):
            while not await self.evaluate(f"!!({condition})"):
                await asyncio.sleep(0.05)

    async def picture(self, path: Path) -> None:
        """Write what is in sight as a PNG file."""
        said = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(said["data"]))


class Program:
    """A Chromium that runs, with a profile of its own."""

    def __init__(self) -> None:
        assert PROGRAM is not None
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [PROGRAM, *QUIET, f"--user-data-dir={self._folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def profile(self) -> str:
        """The folder of its profile, which the commands of its processes name."""
        return self._folder.name

    async def address(self) -> str:
        """Return where it listens, once it does."""
        found = Path(self._folder.name, "DevToolsActivePort")
        async with asyncio.timeout(PATIENCE):
            while not found.is_file() or "\n" not in found.read_text():
                await asyncio.sleep(0.02)
        return f"http://127.0.0.1:{found.read_text().splitlines()[0]}"

    def stop(self) -> None:
        """End it and remove its profile."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


@functools.cache
def shared_program() -> Program:
    """Return the Chromium that the tests of this process share: to start one takes longer than most of them."""
    program = Program()
    atexit.register(program.stop)
    return program


class Browser:
    """A browser for the time of a `with`: a program of its own, or one that is shared."""

    def __init__(self, program: Program | None = None) -> None:
        self._program = program or Program()
        self._own = program is None

    async def __aenter__(self) -> Self:
        self._client = aiohttp.ClientSession()
        return self

    @property
    def profile(self) -> str:
        """The folder of its profile, which the commands of its processes name."""
        return self._program.profile

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()
        if self._own:
            self._program.stop()

    @contextlib.asynccontextmanager
    async def page(self) -> AsyncIterator[Page]:
        """A page, which is closed at the end; its problems are noted from the first."""
        where = await self._program.address()
        async with self._client.put(f"{where}/json/new?about:blank") as answer:
            opened = json.loads(await answer.text())
        try:
            async with self._client.ws_connect(opened["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                for domain in ("Page", "Runtime", "Log", "Network"):
                    await page.call(f"{domain}.enable")
                yield page
        finally:
            await self._client.get(f"{where}/json/close/{opened['id']}")


def shown(go: Callable[[Page], Awaitable[None]]) -> None:
    """Do something with a page of the browser that the tests share."""

    async def all_of_it() -> None:
        async with Browser(shared_program()) as browser, browser.page() as page:
            await go(page)

    asyncio.run(all_of_it())
