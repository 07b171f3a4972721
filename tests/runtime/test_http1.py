"""Posts on connections that are kept: when one is used again, how a body ends, what is packed, and whom TLS trusts."""

from __future__ import annotations

import asyncio
import datetime
import gzip
import ipaddress
import socket
import ssl
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tripos_runtime.models import http
from tripos_runtime.models.http import HttpAnswer, ModelConnection

TEXT = b'{"text": "it is so"}'
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(TEXT) + TEXT


def answer(body: bytes, head: str, status: str = "200 OK") -> bytes:
    """Return a response."""
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def posted(
    responses: Sequence[bytes], *, closing: bool = False, together: int = 1
) -> tuple[list[HttpAnswer], list[int]]:
    """Return the answers to as many posts as there are responses, and the number of the connection of each. The server
    may close after each response."""

    async def go() -> tuple[list[HttpAnswer], list[int]]:
        left, used, opened, tasks = list(responses), [], 0, set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal opened
            opened += 1
            number = opened
            tasks.add(asyncio.current_task())
            try:
                while left:
                    head = (await reader.readuntil(b"\r\n\r\n")).lower()
                    await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
                    used.append(number)
                    writer.write(left.pop(0))
                    if closing:
                        break
            except asyncio.IncompleteReadError:
                pass
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        line = ModelConnection(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", {}, 5.0)
        try:
            answers: list[HttpAnswer] = []
            while len(answers) < len(responses):
                answers += await asyncio.gather(*(line.post(b"{}") for _ in range(together)))
            return answers, used
        finally:
            await line.close()
            server.close()
            await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(go())


def test_one_connection_takes_one_post_after_another_and_several_take_those_together() -> None:
    answers, used = posted([LENGTH] * 3)
    assert [each.body for each in answers] == [TEXT] * 3 and used == [1, 1, 1]
    _, used = posted([LENGTH] * 4, together=2)
    assert sorted(used) == [1, 1, 2, 2]


@pytest.mark.parametrize(
    "response",
    [
        answer(TEXT, f"Connection: close\r\nContent-Length: {len(TEXT)}\r\n"),
        answer(TEXT, "X-Other: 1\r\n"),
        LENGTH.replace(b"1.1", b"1.0"),
    ],
    ids=["said to close", "without a length", "HTTP/1.0"],
)
def test_a_connection_that_the_server_closes_is_not_used_again(response: bytes) -> None:
    answers, used = posted([response] * 2, closing=True)
    assert [each.body for each in answers] == [TEXT] * 2 and used == [1, 2]


def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "IDLE_S", -1.0)
    assert posted([LENGTH] * 2)[1] == [1, 2]


def raw_deflate(text: bytes) -> bytes:
    """Return the text packed as some servers do for `deflate`: without a head."""
    packed = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packed.compress(text) + packed.flush()


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        (gzip.compress, "gzip"),
        (lambda text: gzip.compress(text[:9]) + gzip.compress(text[9:]), "gzip"),
        (zlib.compress, "deflate"),
        (raw_deflate, "deflate"),
        (bytes, "identity"),
    ],
)
@pytest.mark.parametrize("text", [TEXT, TEXT * 100_000], ids=["small", "large"])
def test_a_packed_body_is_unpacked(packed: Callable[[bytes], bytes], encoding: str, text: bytes) -> None:
    body = packed(text)
    response = answer(body, f"Content-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n")
    answers, used = posted([response] * 2)
    assert [each.body for each in answers] == [text] * 2 and used == [1, 1]


def test_a_body_packed_with_what_nobody_asked_for_is_an_error() -> None:
    with pytest.raises(http.HttpError, match="`br`, which was not asked for"):
        posted([answer(b"abc", "Content-Encoding: br\r\nContent-Length: 3\r\n")])


@pytest.mark.parametrize("size", [1, 7, 5_000])
def test_a_body_in_chunks_of_any_size_is_whole(size: int) -> None:
    text = TEXT * 300
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    body = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in chunks) + b"0\r\nX-Trailer: 1\r\n\r\n"
    answers, used = posted([answer(body, "Transfer-Encoding: chunked\r\n")] * 2)
    assert [each.body for each in answers] == [text] * 2 and used == [1, 1]
    assert "x-trailer" not in answers[0].headers


def test_interim_responses_are_passed_over() -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
    answers, used = posted([hints + LENGTH, LENGTH])
    assert [(each.status, each.body) for each in answers] == [(200, TEXT)] * 2 and used == [1, 1]
    assert "link" not in answers[0].headers


@pytest.mark.parametrize(
    "response",
    [
        LENGTH + LENGTH,
        answer(b"", "X-Long: " + "x" * 200_000 + "\r\nContent-Length: 0\r\n"),
        answer(b"1" + b";x" * 100_000 + b"\r\na\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n"),
        answer(b"", "Upgrade: websocket\r\nConnection: upgrade\r\n", "101 Switching Protocols"),
    ],
    ids=["two responses", "a long head", "a long chunk's head", "another protocol"],
)
def test_what_is_no_response_to_a_post_is_an_error(response: bytes) -> None:
    with pytest.raises(http.HttpError):
        posted([response])


def test_a_header_with_a_line_break_has_no_place_in_a_request() -> None:
    assert http.request_head("http://localhost/v1", {"Authorization": "Bearer a\r\nX: b"}) is None


@pytest.mark.parametrize(
    ("url", "line", "host"),
    [
        ("https://api.example.com/v1?api-version=2", "/v1?api-version=2", "api.example.com"),
        ("https://api.example.com:443/v1", "/v1", "api.example.com"),
        ("http://localhost:8000", "/", "localhost:8000"),
        ("http://[::1]:8000/v1", "/v1", "[::1]:8000"),
        ("http://[::1]/v1", "/v1", "[::1]"),
    ],
)
def test_a_request_names_its_path_and_its_host(url: str, line: str, host: str) -> None:
    assert http.request_head(url, {}) == f"POST {line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: ".encode()


@pytest.mark.parametrize("url", ["http://a:b@localhost/v1", "http://münchen.example/v1", "http://localhost/a b"])
def test_an_address_that_is_not_sent_as_it_is_is_left_to_the_session(url: str) -> None:
    assert http.request_head(url, {}) is None


def test_a_model_that_is_asked_directly_needs_no_aiohttp() -> None:
    code = (
        "import sys; from tripos_runtime.models.base import Endpoint; from tripos_runtime.models.families import open_model;"
        " open_model('openai/m', {'openai': Endpoint('http://127.0.0.1:1/v1')});"
        " assert 'tripos_runtime.models.http' in sys.modules; assert 'aiohttp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# TLS, and addresses


@pytest.fixture
def trusting() -> Iterator[None]:
    """The trusted authorities are read again, before and after."""
    http._trusted.cache_clear()
    yield
    http._trusted.cache_clear()


def certified(folder: Path, *, authority: bool, address: str = "127.0.0.1") -> tuple[ssl.SSLContext, Path]:
    """Return the context of a server, and the certificate that a client has to trust: that of a laboratory which signed
    the server's, or the server's own, which then is that of an authority."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    lab_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    lab, name = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, each)]) for each in ("lab", "server"))
    today = datetime.datetime.now(datetime.UTC)

    def signed(subject: x509.Name, key: ec.EllipticCurvePrivateKey, ca: bool) -> x509.Certificate:
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(lab).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(today - datetime.timedelta(1))
        builder = builder.not_valid_after(today + datetime.timedelta(1))
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        builder = builder.add_extension(names, False).add_extension(x509.BasicConstraints(ca, None), True)
        return builder.sign(lab_key, hashes.SHA256())

    root = signed(lab, lab_key, ca=True)
    own, key = (root, lab_key) if authority else (signed(name, server_key, ca=False), server_key)
    form = serialization.Encoding.PEM
    secret = key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(secret + own.public_bytes(form))
    (folder / "trusted.pem").write_bytes(root.public_bytes(form))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context, folder / "trusted.pem"


def posted_to(host: str, tls: ssl.SSLContext | None) -> HttpAnswer:
    """Return the answer of a server on an address of this machine."""

    async def go() -> HttpAnswer:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"{}")
            writer.write(LENGTH)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, host, 0, ssl=tls)
        place = f"[{host}]" if ":" in host else host
        url = f"{'http' if tls is None else 'https'}://{place}:{server.sockets[0].getsockname()[1]}/v1"
        line = ModelConnection(url, {}, 5.0)
        try:
            return await line.post(b"{}")
        finally:
            await line.close()
            server.close()

    return asyncio.run(go())


@pytest.mark.parametrize("authority", [False, True], ids=["signed by a laboratory", "its own authority"])
def test_a_server_is_trusted_by_the_file_of_certificates(
    authority: bool, trusting: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, trusted = certified(tmp_path, authority=authority)
    with pytest.raises(http.HttpError, match="certificate verify failed"):
        posted_to("127.0.0.1", context)
    http._trusted.cache_clear()
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    assert posted_to("127.0.0.1", context).body == TEXT


def test_a_certificate_for_another_address_is_named(
    trusting: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, trusted = certified(tmp_path, authority=False, address="10.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with pytest.raises(http.HttpError, match=r"certificate is not valid for '127\.0\.0\.1'"):
        posted_to("127.0.0.1", context)


def test_an_address_of_ipv6_is_reached() -> None:
    try:
        with socket.socket(socket.AF_INET6) as free:
            free.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert posted_to("::1", None).body == TEXT
