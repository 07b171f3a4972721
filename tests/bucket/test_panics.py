"""Drawn settings and credentials of object stores: a call ends in a `StoreError`, without the words of a panic."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import obstore
import pytest

from tests.lengths import sized
from tripos.cli.main import run_command
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.catalog import ClientPanicError, Objects, panics_as_errors

NAMES = """
AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION AWS_ENDPOINT AWS_ENDPOINT_URL
AWS_ENDPOINT_URL_S3 AWS_ENDPOINT_URL_STS AWS_BUCKET AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_ROLE_SESSION_NAME
AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN
AWS_ALLOW_HTTP AWS_VIRTUAL_HOSTED_STYLE_REQUEST AWS_S3_EXPRESS AWS_REQUEST_PAYER AWS_SKIP_SIGNATURE
AWS_UNSIGNED_PAYLOAD AWS_CHECKSUM_ALGORITHM AWS_IMDSV1_FALLBACK AWS_METADATA_ENDPOINT AWS_CONDITIONAL_PUT
AWS_COPY_IF_NOT_EXISTS AWS_SERVER_SIDE_ENCRYPTION AWS_SSE_KMS_KEY_ID AWS_PROXY_URL AWS_TIMEOUT AWS_USER_AGENT
AZURE_STORAGE_ACCOUNT_NAME AZURE_STORAGE_ACCOUNT_KEY AZURE_STORAGE_CLIENT_ID AZURE_STORAGE_CLIENT_SECRET
AZURE_STORAGE_TENANT_ID AZURE_STORAGE_AUTHORITY_HOST AZURE_STORAGE_SAS_KEY AZURE_STORAGE_TOKEN AZURE_STORAGE_ENDPOINT
AZURE_STORAGE_USE_EMULATOR AZURE_MSI_ENDPOINT AZURE_FEDERATED_TOKEN_FILE AZURE_USE_AZURE_CLI AZURE_SKIP_SIGNATURE
AZURE_CLIENT_ID AZURE_TENANT_ID AZURE_CLIENT_SECRET AZURE_AUTHORITY_HOST IDENTITY_ENDPOINT GOOGLE_SERVICE_ACCOUNT
GOOGLE_SERVICE_ACCOUNT_PATH GOOGLE_SERVICE_ACCOUNT_KEY GOOGLE_APPLICATION_CREDENTIALS GOOGLE_BUCKET
GOOGLE_SKIP_SIGNATURE GOOGLE_BASE_URL HTTPS_PROXY HTTP_PROXY SSL_CERT_FILE
"""
VARIABLES = NAMES.split()
ADDRESSES = (
    "s3://b/x", "s3://B_b/x y", "s3://b/%zz", "s3://b:99999/x", "s3://[::1/x", "s3://b\x01/x", "s3://ü/x",
    "s3://b/" + "a" * 3000, "az://c/x", "az://c", "az://C@acc/x", "gs://b/x", "gs://b\n/x", "s3:///x", "s3://b?x=1/y#z",
    "s3://u:p@b/x", "az://c/\udcff", "s3://b/\0", "gs://" + "a" * 70_000,
)  # fmt: skip
WORDS = (
    "", "x", "a\nb", "ä", "true", "maybe", "-1", "9" * 20, "http://127.0.0.1:9/", "http://127.0.0.1:9/a b",
    "https://127.0.0.1:9", "http://[::1", "http://127.0.0.1:99999", "ftp://x/", "::", "/nope", "/", "us-east-1", "{}",
    '{"a":1}', "AAAA", "A===", "sha256", "etag", "aws:kms", "sv=1&sig=%zz", "\x7f\x01", "0s", " ", "%00", "\udcff",
)  # fmt: skip
CALLS: tuple[Callable[[Objects], object], ...] = (
    lambda objects: objects.get("a"),
    lambda objects: objects.put("a", b"x"),
    lambda objects: objects.create("a", b"x", 0.0),
    lambda objects: objects.swap("a", b"x", {"e_tag": "1"}),
    lambda objects: objects.sizes("p"),
    lambda objects: objects.delete(["a"]),
    lambda objects: objects.written_at("a"),
)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """A token that ends with a line break, as an editor leaves it."""
    path = tmp_path / "token"
    path.write_text("x\n")
    return path


def test_drawn_settings_of_object_stores_end_in_errors_with_codes(
    tmp_path: Path, token: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    draw, found = random.Random(7), Counter[str]()
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x01\n")
    for _ in range(sized(25, 4_000)):
        with monkeypatch.context() as patched:
            patched.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
            patched.setenv("AWS_REGION", "us-east-1")
            patched.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
            for name in draw.sample(VARIABLES, draw.randint(0, 8)):
                patched.setenv(name, draw.choice((*WORDS, str(token), str(tmp_path / "binary"))))
            if draw.random() < 0.1:
                patched.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9/x")
                patched.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(token))
            try:
                objects = Objects.at(draw.choice(ADDRESSES), patience_s=0.0)
                draw.choice(CALLS)(objects)
            except StoreError as error:
                found["a panic" if "its client failed" in error.message else error.code] += 1
                assert error.code in ("S0108", "S0109", "S0110", "S0111") and error.hint
    assert capfd.readouterr() == ("", "")
    assert found["S0110"]


def test_a_panic_is_an_error_and_says_nothing_itself(
    token: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9/x")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StoreError, match="its client failed over a setting or a credential: request must be valid"):
        Objects.at("s3://b/x").get("a")
    assert capfd.readouterr() == ("", "")
    assert run_command(("list", "--store", "s3://b/x")) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("error[S0110]: `s3://b/x` is out of reach: its client failed over a setting")
    assert "panicked" not in err and len(err.splitlines()) == 3


def test_other_words_on_standard_error_come_out_and_other_exceptions_stay(capfd: pytest.CaptureFixture[str]) -> None:
    with panics_as_errors(hushed=True):
        print("kept", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-c", "import os; os.write(2, b'too')"], check=True)
    assert capfd.readouterr().err in ("kept\ntoo", "tookept\n")
    with pytest.raises(KeyboardInterrupt), panics_as_errors(hushed=True):
        raise KeyboardInterrupt
    assert issubclass(ClientPanicError, obstore.exceptions.BaseError)
