"""Downloads of releases: the only module that opens connections to the addresses of releases.

An address may come from a stranger. So it is checked after it is resolved, and at every redirect; requests carry no
keys unless the user asks for that; and bytes and seconds are limited.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import field
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from tripos.errors import first_line
from tripos.files import read_untrusted
from tripos.releases.manifest import MANIFEST, MOST_FILES, UNLISTED, digest_of, parse_manifest
from tripos.releases.network_policy import NetworkPolicy
from tripos.settings.options import ALLOW_PRIVATE
from tripos_compiler.diagnostics.text_format import duration
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.files import atomic_path
from tripos_compiler.source.data_classes import dataclass

MOST_BYTES = 2 * 2**30
"""Maximum bytes of a release, or of its zip."""
MOST_MANIFEST_BYTES = 64 * 2**20
TIMEOUT_S = 600.0
IDLE_TIMEOUT_S = 20.0
MOST_REDIRECTS = 5
MOST_FOLDERS = 100
STORES = ("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "file")
_CHUNK = 2**20
_HINT = "give a folder, a zip, or a URL such as s3://bucket/releases/NAME-1.0.0"


class Remote(Protocol):
    """A place with the files of a release."""

    def save(self, name: str, path: Path, most: int) -> int:
        """Write a file of at most `most` bytes, and return its size. Raises `OSError`."""
        ...

    def names(self) -> list[str]:
        """Return the names of the files, as far as they are known."""
        ...


def download_release(url: str, folder: Path, reach: NetworkPolicy, sha256: str | None = None) -> None:
    """Download a release from a URL into a folder, and check its digest against `sha256` if given.

    Raises `TriposError` S0851 if there is none or it is too large, and S0879 for a forbidden address.
    """
    download_from(_remote(url.rstrip("/"), reach), url, folder, sha256)


def download_from(remote: Remote, url: str, folder: Path, sha256: str | None = None) -> None:
    """Download a release from `remote` into a folder; messages call it `url`. Raises `TriposError` as
    `download_release` does."""
    try:
        remote.save(MANIFEST, folder / MANIFEST, MOST_MANIFEST_BYTES)
        raw = read_untrusted(folder / MANIFEST)
    except (OSError, ValueError) as error:
        raise TriposError("S0851", f"there is no release at `{url}`: {first_line(error)}", _HINT) from error
    if sha256 is not None and digest_of(raw) != sha256:
        message = f"the release at `{url}` has the digest {digest_of(raw)}, not {sha256}"
        raise TriposError(
            "S0851", message, "get the release that is meant, or write the new digest", ExitCode.SOME_FAILED
        )
    try:
        names = [file.path for file in parse_manifest(raw).files]
    except ValueError:
        names = []
    # A web server lists no files: additions to a release there are neither seen nor read.
    names += remote.names()
    left, root, seen = MOST_BYTES - len(raw), folder.resolve(), {MANIFEST.casefold()}
    for name in dict.fromkeys((*names, *UNLISTED)):
        if name == MANIFEST:
            continue
        try:
            target = (folder / name).resolve()
            if root not in target.parents:
                raise TriposError("S0851", f"`{url}` names a file outside of it: `{name}`", _HINT, ExitCode.SOME_FAILED)
            same = unicodedata.normalize("NFC", str(target.relative_to(root))).casefold()
            if same in seen:  # includes the manifest, which was checked against its digest
                raise TriposError("S0851", f"`{url}` has two files of the name `{name}`", _HINT, ExitCode.SOME_FAILED)
            seen.add(same)
            if len(target.parts) - len(root.parts) > MOST_FOLDERS:
                raise OSError(f"more than {MOST_FOLDERS} folders in each other")
            target.parent.mkdir(parents=True, exist_ok=True)
            left -= remote.save(name, target, left)
        except FileNotFoundError:
            continue  # `tripos verify` reports it
        except (OSError, ValueError) as error:
            raise TriposError(
                "S0851", f"cannot read `{url}/{name}`: {first_line(error)}", _HINT, ExitCode.SOME_FAILED
            ) from error


def download_file(url: str, path: Path, reach: NetworkPolicy) -> None:
    """Download a file to a path. Raises `TriposError` as `download_release` does."""
    around, _, name = url.rpartition("/")
    try:
        _remote(around, reach).save(name, path, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise TriposError("S0851", f"there is no release at `{url}`: {first_line(error)}", _HINT) from error


def save_file(remote: Remote, name: str, path: Path) -> None:
    """Download one file to a path, atomically. Raises `TriposError` S0851."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with atomic_path(path) as new:
            remote.save(name, new, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise TriposError(
            "S0851", f"cannot read `{name}`: {first_line(error)}", "check the address", ExitCode.SOME_FAILED
        ) from error


def _remote(url: str, reach: NetworkPolicy) -> Remote:
    try:
        parts = urlsplit(url)
        int(parts.port or 0)  # raises `ValueError` for an invalid port
    except ValueError as error:
        raise TriposError("S0851", f"`{url}` is no URL: {first_line(error)}", _HINT) from error
    if parts.scheme in ("http", "https"):
        return Web(url, reach)
    if parts.scheme == "file" and not (reach.private or reach.local_files):
        raise _refused(url, "is a folder of this machine")
    if parts.scheme in STORES:
        return _Bucket(url, reach)
    raise TriposError("S0851", f"there is no release at `{url}`: `{parts.scheme}` is not served", _HINT)


@dataclass
class _Bucket:
    """An object store, or a local folder in the same form."""

    url: str
    reach: NetworkPolicy
    ends: float = field(default_factory=lambda: time.monotonic() + TIMEOUT_S)

    def save(self, name: str, path: Path, most: int) -> int:
        """Write a file as `Remote` says."""
        import obstore
        from obstore.exceptions import BaseError

        from tripos_warehouse.store.bucket.catalog import panics_as_errors

        try:
            with panics_as_errors(hushed=True):
                found = obstore.get(self._store(), name)
            with panics_as_errors():
                if found.meta["size"] > most:
                    raise OSError(f"`{name}` has {found.meta['size']:,} bytes, and {most:,} are allowed")
                return _write_limited(path, (bytes(each) for each in found.stream(_CHUNK)), most, self.ends)
        except BaseError as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise OSError(first_line(error)) from error

    def names(self) -> list[str]:
        """Return the names of all files, or none if the store cannot list them."""
        import obstore
        from obstore.exceptions import BaseError

        from tripos_warehouse.store.bucket.catalog import panics_as_errors

        with suppress(BaseError, NotImplementedError), panics_as_errors(hushed=True):
            every = (each["path"] for batch in obstore.list(self._store()) for each in batch)
            found = list(islice(takewhile(lambda _: time.monotonic() < self.ends, every), MOST_FILES + 1))
            if len(found) > MOST_FILES:
                raise TriposError(
                    "S0851", f"`{self.url}` has more than {MOST_FILES:,} files", _HINT, ExitCode.SOME_FAILED
                )
            return found
        return []

    def _store(self) -> Any:
        from obstore.store import LocalStore, from_url

        if self.url.startswith("file://"):
            return LocalStore(self.url.removeprefix("file://"))
        return from_url(self.url) if self.reach.signed else from_url(self.url, skip_signature=True)


@dataclass
class Web:
    """A web server. It cannot list files, so `listed` names the known ones. `headers` are sent only to this server, not
    to the targets of redirects."""

    url: str
    reach: NetworkPolicy
    listed: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    ends: float = field(default_factory=lambda: time.monotonic() + TIMEOUT_S)

    def names(self) -> list[str]:
        """Return the names that are known."""
        return list(self.listed)

    def save(self, name: str, path: Path, most: int) -> int:
        """Write a file as `Remote` says, over at most `MOST_REDIRECTS` redirects."""
        url, reach = f"{self.url}/{quote(name)}", self.reach
        for _ in range(MOST_REDIRECTS + 1):
            with closing(_connected(urlsplit(url), reach)) as connection:
                sock = connection.sock
                if is_public(sock.getpeername()[0]):
                    reach = NetworkPolicy()  # a public server must not redirect into a private network
                stop = threading.Timer(max(0.0, self.ends - time.monotonic()), _shut, [sock])
                stop.daemon = True
                stop.start()
                try:
                    own = self.headers if _origin(url) == _origin(self.url) else {}
                    connection.request("GET", _target(urlsplit(url)), headers={"User-Agent": "tripos", **own})
                    answer = connection.getresponse()
                    if answer.status in (301, 302, 303, 307, 308):
                        url = urljoin(url, answer.getheader("Location") or "")
                        continue
                    if answer.status in (404, 410):
                        raise FileNotFoundError(f"`{url}` is not there")
                    if answer.status != 200:
                        raise OSError(f"`{url}` answers {answer.status}")
                    chunks = iter(lambda: answer.read(_CHUNK), b"")  # noqa: B023 - read before the next turn
                    size = _write_limited(path, chunks, most, self.ends)
                    if (text := answer.getheader("Content-Length")) is not None and text != str(size):
                        raise OSError(f"`{url}` was cut short")
                    return size
                except http.client.HTTPException as error:
                    raise OSError(f"`{url}`: {type(error).__name__}") from error
                finally:
                    stop.cancel()
        raise OSError(f"`{self.url}` redirects more than {MOST_REDIRECTS} times")


def _connected(url: SplitResult, reach: NetworkPolicy) -> http.client.HTTPConnection:
    """Return a connection to the very address that was checked, so that a second resolution cannot replace it."""
    host, secure = url.hostname, url.scheme == "https"
    if not host or url.scheme not in ("http", "https"):
        raise _refused(url.geturl(), "is no address of the web")
    port = url.port or (443 if secure else 80)
    addresses = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    inside = [address for address in addresses if not is_public(address)]
    if inside and not reach.private:
        raise _refused(url.geturl(), f"is the address {inside[0]}, of this machine or its network")
    if not secure and len(inside) < len(addresses):
        raise _refused(url.geturl(), "is not encrypted")
    sock = socket.create_connection((addresses[0], port), timeout=IDLE_TIMEOUT_S)
    if not secure:
        plain = http.client.HTTPConnection(host, port, timeout=IDLE_TIMEOUT_S)
        plain.sock = sock
        return plain
    context = ssl.create_default_context()
    connection = http.client.HTTPSConnection(host, port, timeout=IDLE_TIMEOUT_S, context=context)
    try:
        connection.sock = context.wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise
    return connection


_GLOBAL = ipaddress.ip_network("2000::/3")
"""IPv6 addresses that are assigned to the public."""
_CLOUD_ADDRESSES = [*map(ipaddress.ip_network, ("192.0.0.0/24", "168.63.129.16/32"))]
"""Addresses of cloud services for their own machines that some versions of `ipaddress` take for public."""
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""Addresses into which NAT64 translates IPv4."""


def is_public(address: str) -> bool:
    """Return true if an address belongs to the public internet.

    >>> [is_public(each) for each in ("93.184.216.34", "127.0.0.1", "169.254.169.254", "10.0.0.1", "::ffff:10.0.0.1")]
    [True, False, False, False, False]
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
        if ip in _TRANSLATED:
            inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
        elif ip not in _GLOBAL and ip.ipv4_mapped is None:
            return False
        if any(each is not None and not is_public(str(each)) for each in inner):
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _CLOUD_ADDRESSES)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _target(url: SplitResult) -> str:
    return (url.path or "/") + (f"?{url.query}" if url.query else "")


def _write_limited(path: Path, chunks: Iterator[bytes], most: int, ends: float) -> int:
    size = 0
    with path.open("wb") as file:
        for chunk in chunks:
            size += len(chunk)
            if size > most:
                raise OSError(f"more than {most:,} bytes")
            if time.monotonic() > ends:
                raise OSError(f"it took more than {duration(TIMEOUT_S)}")
            file.write(chunk)
    return size


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _refused(url: str, why: str) -> TriposError:
    hint = f"if you trust it, allow it: {ALLOW_PRIVATE}"
    return TriposError("S0879", f"`{url}` is not fetched: it {why}", hint, ExitCode.SOME_FAILED)
