"""Releases at URLs are fetched by `fetch` or where a user types the URL, within limits, and pinned by their digest."""

from __future__ import annotations

import http.server
import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.releases.file_server import FileServer, address_of, running
from tests.releases.test_releases import LESSONS, release
from tripos.releases import download
from tripos.releases.download import download_release, is_public
from tripos.releases.network_policy import NetworkPolicy
from tripos.releases.opening import open_release
from tripos_compiler.errors import TriposError

SPEC = """
benchmark more "1.0.0" { languages en }
use release "lessons@1" from "URL"PIN
role candidate compared
scenario own {
  ask reply by candidate { prompt "What is 6 * 7?" }
  score right = contains(reply.text, "42")
}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FileServer]:
    made = release(LESSONS, tmp_path / "made").path
    shutil.copytree(made, tmp_path / "served/lessons")
    with running(FileServer(tmp_path / "served")) as one:
        yield one


def url_of(server: FileServer) -> str:
    return f"{address_of(server)}/lessons"


@pytest.fixture
def spec(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    path = tmp_path / "mine" / "more.tripos"
    path.write_text(SPEC.replace("URL", url_of(server)).replace("PIN", ""), "utf-8")
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("check", "more.tripos"),
        ("plan", "more.tripos"),
        ("describe", "more.tripos"),
        ("run", "more.tripos", "--model", "mock/careful"),
        ("release", "more.tripos"),
    ],
)
def test_no_verb_opens_a_connection_for_what_a_spec_names(
    server: FileServer, spec: Path, tripos: Command, words: tuple[str, ...]
) -> None:
    done = tripos(*words)
    assert done.code == 2 and "E0912" in done.err and "has not been fetched" in done.err
    assert "tripos fetch more.tripos" in done.err
    assert server.asked == []


@pytest.mark.parametrize("words", [("fetch", "more.tripos"), ("run", "more.tripos", "--fetch", "--model", "mock/a")])
def test_an_address_of_this_machine_is_not_reached_unless_that_is_said(
    server: FileServer, spec: Path, tripos: Command, words: tuple[str, ...]
) -> None:
    done = tripos(*words)
    assert done.code == 2 and "of this machine or its network" in done.err
    assert server.asked == []


def test_what_was_fetched_is_kept_and_pinned_and_used(server: FileServer, spec: Path, tripos: Command) -> None:
    done = tripos("fetch", "more.tripos", "--allow-private", "--json")
    assert done.code == 0, done.err
    [kept] = Path("releases").glob("lessons-*")
    assert done.data["fetched"] == {url_of(server): open_release(kept).digest}
    server.asked.clear()
    assert tripos("check", "more.tripos").code == 0
    assert tripos("fetch", "more.tripos", "--allow-private").out == "nothing to fetch\n"
    assert server.asked == []
    pins = Path("releases/fetched.json")
    pins.write_text(json.dumps({url_of(server): "0" * 64}))
    assert "has not been fetched" in tripos("check", "more.tripos").err


def test_a_release_of_another_digest_is_not_fetched_further(server: FileServer, spec: Path, tripos: Command) -> None:
    spec.write_text(SPEC.replace("URL", url_of(server)).replace("PIN", f' sha256 "{"0" * 64}"'), "utf-8")
    done = tripos("fetch", "more.tripos", "--allow-private")
    assert done.code == 2 and "has the digest" in done.err
    assert server.asked == ["/lessons/manifest.json"]


def test_a_url_is_fetched_by_itself(server: FileServer, tmp_path: Path, tripos: Command) -> None:
    done = tripos("fetch", url_of(server), "--allow-private", "--to", str(tmp_path / "kept"))
    assert done.code == 0 and "sha256 " in done.out
    assert tripos("verify", str(next((tmp_path / "kept").glob("lessons-*")))).code == 0


def failure(server: FileServer, reach: NetworkPolicy, to: Path) -> str:
    to.mkdir()
    with pytest.raises(TriposError) as caught:
        download_release(url_of(server), to, reach)
    return f"{caught.value.code} {caught.value.message}"


def test_a_redirect_is_checked_as_the_first_address_was(server: FileServer, tmp_path: Path, monkeypatch: Any) -> None:
    """The first address is taken for a public one, and what it redirects to is inside."""

    def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "http://127.0.0.1:9/latest/meta-data")
        handler.end_headers()

    server.answer = redirect
    seen: list[str] = []
    real = download._connected

    def connected(url: Any, reach: NetworkPolicy) -> Any:
        seen.append(url.netloc)
        return real(url, NetworkPolicy(private=len(seen) == 1))

    monkeypatch.setattr(download, "_connected", connected)
    assert "S0879" in failure(server, NetworkPolicy(), tmp_path / "to")
    assert seen[1] == "127.0.0.1:9"


def test_a_circle_of_redirects_ends(server: FileServer, tmp_path: Path) -> None:
    def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(301)
        handler.send_header("Location", handler.path)
        handler.end_headers()

    server.answer = redirect
    assert "redirects more than 5 times" in failure(server, NetworkPolicy(private=True), tmp_path / "to")


def test_what_is_too_large_is_cut_off(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MOST_MANIFEST_BYTES", 100)
    assert "more than 100 bytes" in failure(server, NetworkPolicy(private=True), tmp_path / "to")
    monkeypatch.setattr(download, "MOST_MANIFEST_BYTES", 2**20)
    monkeypatch.setattr(download, "MOST_BYTES", 20_000)
    assert "bytes" in failure(server, NetworkPolicy(private=True), tmp_path / "again")


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nab"])
def test_a_silent_server_is_not_waited_for(first: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "IDLE_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def serve() -> None:
            with listening.accept()[0] as one:
                one.sendall(first)
                ended.wait(20)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        started = time.monotonic()
        with pytest.raises(TriposError, match="timed out"):
            download_release(f"http://127.0.0.1:{listening.getsockname()[1]}/x", tmp_path, NetworkPolicy(private=True))
        assert time.monotonic() - started < 15
        ended.set()
        thread.join()


@pytest.mark.parametrize("url", ["file:///etc", "ftp://example.org/x", "memory:///x", "gopher://x/y"])
def test_other_schemes_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(TriposError):
        download_release(url, tmp_path, NetworkPolicy())


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "::1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
        *("::ffff:127.0.0.1", "fe80::1%eth0", "fd00::1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "::"),
    ],
)
def test_addresses_that_only_this_machine_reaches_are_private(address: str) -> None:
    assert not is_public(address)
    assert is_public("93.184.216.34") and is_public("2606:2800:220:1:248:1893:25c8:1946")


def test_an_object_store_is_asked_without_the_keys_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []
    monkeypatch.setattr("obstore.store.from_url", lambda url, **options: given.append(options))
    download._Bucket("s3://lab/releases", NetworkPolicy())._store()
    download._Bucket("s3://lab/releases", NetworkPolicy(signed=True))._store()
    assert given == [{"skip_signature": True}, {}]


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "URL"),
        ("check", "URL"),
        ("plan", "URL"),
        ("run", "URL", "--model", "mock/careful", "--role", "judge=mock/careful"),
        ("diff", "URL", "URL"),
    ],
)
def test_a_url_that_the_user_types_leads_to_a_private_host_only_where_that_is_said(
    server: FileServer, tripos: Command, words: tuple[str, ...]
) -> None:
    given = [word.replace("URL", url_of(server)) for word in words]
    done = tripos(*given)
    assert done.code == 1 and "S0879" in done.err and "--allow-private" in done.err
    assert server.asked == []
    done = tripos(*given, "--allow-private")
    assert "S0879" not in done.err and server.asked[0] == "/lessons/manifest.json"


def test_the_address_that_was_checked_is_the_one_that_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is public when it is checked, and private when it is looked up again."""
    asked: list[str] = []
    reached: list[str] = []

    def resolved(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        address = "93.184.216.34" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(address: tuple[str, int], **_: Any) -> Any:
        reached.append(address[0])
        raise ConnectionRefusedError("not in a test")

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(TriposError, match="not in a test"):
        download_release("https://example.org/x-1.0.0", Path("/nowhere"), NetworkPolicy())
    assert (asked, reached) == (["example.org"], ["93.184.216.34"])


def test_headers_are_sent_to_the_first_server_alone(server: FileServer, tmp_path: Path) -> None:
    sent: list[tuple[str, str | None]] = []

    def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
        sent.append(("first", handler.headers.get("Authorization")))
        handler.send_response(302)
        handler.send_header("Location", f"{address_of(other)}/x")
        handler.end_headers()

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        sent.append(("other", handler.headers.get("Authorization")))
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"x")

    with running(FileServer(tmp_path)) as other:
        server.answer, other.answer = redirect, answer
        web = download.Web(url_of(server), NetworkPolicy(private=True), headers={"Authorization": "Bearer mine"})
        assert web.save("x", tmp_path / "x", 10) == 1
    assert sent == [("first", "Bearer mine"), ("other", None)]
