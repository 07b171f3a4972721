"""An address where nobody answers ends a run after three attempts, with nothing lost; one that comes back is asked on."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.faults.conftest import RUN, rows_of, write
from tests.faults.server import GOOD, closes, free_port, resets, serving


def stops(bench: Path, tripos: Command, address: str) -> str:
    """Run against an address where nobody answers; return what was printed."""
    write(bench, address, "one", "two")
    done = tripos(*RUN)
    assert (done.code, done.data["status"], done.data["calls"]["asked"]) == (1, "stopped", 0)
    assert "R0101" in done.err and address in done.err and "Traceback" not in done.err
    with serving({}) as server:
        write(bench, f"http://127.0.0.1:{server.port}/v1", "one", "two")
        assert tripos(*RUN).code == 0
        assert server.asked == {"one": 1, "two": 1}
    return done.err


def test_a_port_that_refuses_connections(bench: Path, tripos: Command) -> None:
    assert "check that the server is running" in stops(bench, tripos, f"http://127.0.0.1:{free_port()}/v1")


def test_a_name_that_does_not_exist(bench: Path, tripos: Command) -> None:
    stops(bench, tripos, "http://nowhere.invalid/v1")


def test_a_proxy_that_is_down(bench: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    stops(bench, tripos, "http://models.example/v1")


def test_a_server_that_speaks_no_tls(bench: Path, tripos: Command) -> None:
    with serving({}, greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
        assert "HTTPS_PROXY" in stops(bench, tripos, f"https://127.0.0.1:{server.port}/v1")
        assert not server.asked


def test_a_server_that_is_silent_within_the_tls_handshake(
    bench: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tripos_runtime.models.http.CONNECT_S", 0.1)
    with serving({}) as server:
        assert "HTTPS_PROXY" in stops(bench, tripos, f"https://127.0.0.1:{server.port}/v1")
        assert not server.asked


def test_a_certificate_that_nobody_signed(bench: Path, tripos: Command, tmp_path: Path) -> None:
    with serving({}, tls=certified(tmp_path)) as server:
        assert "SSL_CERT_FILE" in stops(bench, tripos, f"https://127.0.0.1:{server.port}/v1")
        assert not server.asked


@pytest.mark.parametrize("way", [closes, resets])
def test_a_connection_that_is_gone_when_the_next_call_comes_is_opened_again(
    way: object, bench: Path, tripos: Command
) -> None:
    """The server answers, keeps the connection, and breaks it off at the next request."""
    breaks = closes() if way is closes else resets()
    with serving({f"q{number}": breaks for number in (1, 3)}) as server:
        write(bench, f"http://127.0.0.1:{server.port}/v1", "q0", "q1", "q2", "q3", "q4")
        assert tripos(*RUN).code == 0
        assert server.asked == {"q0": 1, "q1": 2, "q2": 1, "q3": 2, "q4": 1}


def test_a_server_that_goes_away_within_a_run_and_comes_back(bench: Path, tripos: Command) -> None:
    """It answers the first call, and nothing listens there any more: the calls so far are kept."""
    with serving({"two": closes(GOOD)}) as server:
        port = server.port
        write(bench, f"http://127.0.0.1:{port}/v1", "one", "two")
        assert tripos(*RUN).code == 0
    write(bench, f"http://127.0.0.1:{port}/v1", "one", "two", "three")
    done = tripos(*RUN)
    assert (done.code, done.data["status"], done.data["calls"]["reused"]) == (1, "stopped", 2)
    with serving({}) as server:
        write(bench, f"http://127.0.0.1:{server.port}/v1", "one", "two", "three")
        done = tripos(*RUN)
        assert (done.code, server.asked) == (0, {"three": 1})
    assert {row["question"] for row in rows_of(tripos)} == {"one", "two", "three"}


def certified(folder: Path) -> ssl.SSLContext:
    """Return the context of a server whose certificate it made itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    today = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(pem + made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context
