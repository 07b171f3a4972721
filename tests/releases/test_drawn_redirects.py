"""Wherever a server redirects to, only public addresses are connected to, encrypted, and headers stay with the first."""

from __future__ import annotations

import random
import re
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lengths import sized
from tripos.releases.download import MOST_REDIRECTS, Web
from tripos.releases.network_policy import NetworkPolicy
from tripos_compiler.errors import TriposError

PUBLIC = ("93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946")
INSIDE = (
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
    "169.254.169.254", "169.254.170.2", "192.0.0.192", "168.63.129.16", "100.100.100.200", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "::1",
    "::", "fe80::1", "fd00:ec2::254", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe::", "2001:db8::1", "::ffff:0:10.0.0.1",
    "64:ff9b:1::a00:1", "::127.0.0.1",
)  # fmt: skip
"""Addresses of this machine, of its networks, and of the services that give credentials of a cloud."""
HOSTS = (
    *(f"[{each}]" if ":" in each else each for each in INSIDE), "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
    "127.1", "0", "017700000001", "2852039166", "0xA9FEA9FE", "[::1%25lo]", "localhost", "LOCALHOST.", "127.0.0.1.",
    "１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "inside.example", "mixed.example", "nowhere.example", "a..b", "", "[::",
    "[v1.x]", "me:secret@inside.example", "public.example@127.0.0.1", "127.0.0.1#@public.example", "ex\u00e4mple.example",
    "public.example:22", "public.example:99999", "public.example:x", "public.example:0", "-", "a" * 300, "\x00",
)  # fmt: skip
SCHEMES = (
    "https", "https", "https", "http", "file", "ftp", "gopher", "s3", "data", "javascript", "HTTPS", "h ttps", "",
)  # fmt: skip
OTHERS = (
    "", "/again", "//127.0.0.1/x", "\\\\127.0.0.1\\x", "/%00", "?a=b c", "#", "../../x", "file:///etc/passwd", "é", "\x7f",
    "data:text/plain,x", "https:", "https:///x", "/" + "a" * 9000, "/a\tb", "//[", "https://public.example/ x",
)  # fmt: skip
BODY = b"x" * 3000
NAMES = {"public.example": PUBLIC[:2], "other.example": PUBLIC[2:], "mixed.example": (PUBLIC[0], "127.0.0.1")}


class Net:
    """Names, addresses and servers that answer with what was drawn; it notes who was connected to and what was sent."""

    def __init__(self, answers: Iterator[bytes]) -> None:
        self.answers = answers
        self.connected: list[tuple[str, int]] = []
        self.encrypted: list[str | None] = []
        self.sent: list[bytes] = []

    def resolve(self, host: str, port: int, **_: Any) -> list[Any]:
        name = host.rstrip(".").lower()
        if name in ("inside.example", "localhost"):
            found: tuple[str, ...] = ("169.254.169.254",)
        elif name in NAMES:
            found = NAMES[name]
        else:
            flags = socket.AI_NUMERICHOST  # decimal, hexadecimal and short forms too
            found = tuple(str(each[4][0]) for each in REAL(host, port, type=socket.SOCK_STREAM, flags=flags))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    def connect(self, address: tuple[str, int], **_: Any) -> Any:
        self.connected.append(address)
        return FakeSocket(self, address)


REAL = socket.getaddrinfo


class FakeSocket:
    """A connection to a server that has its answer ready."""

    def __init__(self, net: Net, address: tuple[str, int]) -> None:
        self._net, self._address = net, address

    def getpeername(self) -> tuple[str, int]:
        return self._address

    def sendall(self, data: bytes) -> None:
        self._net.sent.append(bytes(data))

    def makefile(self, *_: Any, **__: Any) -> Any:
        import io

        return io.BytesIO(next(self._net.answers))

    def close(self) -> None:
        pass

    shutdown = settimeout = setsockopt = lambda self, *_: None


def locations(draw: random.Random) -> str:
    if draw.random() < 0.3:
        return draw.choice(OTHERS)
    host = draw.choice(HOSTS) if draw.random() < 0.6 else draw.choice(("public.example", "other.example"))
    return f"{draw.choice(SCHEMES)}://{host}{draw.choice(('', ':443', ':8443'))}/{draw.choice(('', 'x', 'latest/meta-data'))}"


def answers(draw: random.Random) -> Iterator[bytes]:
    while True:
        if draw.random() < 0.25:
            head = draw.choice((f"200 OK\r\nContent-Length: {len(BODY)}", "200 OK", "200 OK\r\nContent-Length: 5"))
            yield f"HTTP/1.1 {head}\r\n\r\n".encode() + BODY
        elif draw.random() < 0.05:
            yield draw.choice(
                (b"", b"HTTP/1.1 999 \xff\r\n\r\n", b"\xff" * 99, b"HTTP/1.1 302 x\r\n\r\n", b"HTTP/1.1 404\r\n\r\n")
            )
        else:
            location = re.sub("[\r\n]", "", locations(draw)).encode("utf-8", "surrogatepass")
            yield f"HTTP/1.1 {draw.choice((301, 302, 303, 307, 308))} x\r\nLocation: ".encode() + location + b"\r\n\r\n"


def test_no_drawn_redirect_leads_inside_or_takes_a_header_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, ends = random.Random(11), Counter[str]()

    class Tls(ssl.SSLContext):
        def wrap_socket(self, sock: Any, *_: Any, server_hostname: Any = None, **__: Any) -> Any:
            net.encrypted.append(server_hostname)
            return sock

    tls = Tls(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr(ssl, "create_default_context", lambda: tls)
    for _ in range(sized(300, 30_000)):
        net = Net(answers(draw))
        with monkeypatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", net.resolve)
            patched.setattr(socket, "create_connection", net.connect)
            web = Web("https://public.example/r", NetworkPolicy(), headers={"Authorization": "Bearer mine"})
            try:
                ends["saved" if web.save("manifest.json", tmp_path / "x", 4_000) else "empty"] += 1
            except TriposError as failure:
                ends[failure.code] += 1
            except (OSError, ValueError) as error:  # who calls makes it a failure
                ends[type(error).__name__] += 1
        assert {address for address, _ in net.connected} <= set(PUBLIC), net.connected
        assert len(net.connected) == len(net.encrypted) <= MOST_REDIRECTS + 1
        for host, sent in zip(net.encrypted, net.sent, strict=False):
            assert (b"Bearer mine" in sent) <= (host == "public.example" and b"\r\nHost: public.example\r\n" in sent)
    assert ends["saved"] and ends["S0879"]
