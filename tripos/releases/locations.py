"""Locations of releases and data: folders, zips, URLs and the Hub. To every command a release is a folder.

A data set of the Hub has one release at its head, and each version under a tag.

`tripos fetch` downloads the data that a spec names, from the Hub or the web, or runs the Python function that generates
it; `check` and `run` read the local copy. A function runs in a separate process without the API keys of the
environment, and its rows are stored under a name with the digest of its file.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from tripos.errors import first_line
from tripos.files import opened_regular, read_untrusted
from tripos.releases.manifest import FORMAT, HUB, MANIFEST, MOST_FILES, UNLISTED
from tripos.releases.network_policy import USER_GIVEN, NetworkPolicy
from tripos.settings.options import SIGNED
from tripos.source_files import ALWAYS_ALLOWED_BYTES, BROKEN_ZIP, member_faults
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.files import ZIP_EPOCH, atomic_path
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.data_files import HUB as DATA_FILES_HUB, PROGRAM

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from tripos.releases.manifest import Manifest


BAD_ZIP = (*BROKEN_ZIP, OSError, ValueError)
"""Exceptions of unpacking a damaged zip."""
MOST_GROWTH = 100
"""Above `ALWAYS_ALLOWED_BYTES`, the maximum ratio of unpacked to packed size. Text rarely shrinks below a tenth."""


def unpack(path: Path, folder: Path) -> Path:
    """Unpack a zip into a folder. Return the release's folder: this one, or the only one in it.

    Raises `zipfile.BadZipFile` for an invalid or suspicious zip, and `OSError`.
    """
    with opened_regular(path) as file, zipfile.ZipFile(file) as archive:
        there = os.fstat(file.fileno()).st_size
        members = archive.infolist()
        if len(members) > MOST_FILES:
            raise zipfile.BadZipFile(f"it has more than {MOST_FILES:,} files")
        for name, fault in member_faults(archive, there).items():
            raise zipfile.BadZipFile(f"`{name}` {fault}")
        _check_edges(archive, file, there)
        size = sum(member.file_size for member in members)
        if size > max(ALWAYS_ALLOWED_BYTES, MOST_GROWTH * there):
            raise zipfile.BadZipFile(f"it would be {size:,} bytes, far more than a release of its size")
        archive.extractall(folder)
    tops = {member.filename.partition("/")[0] for member in members}
    return folder / tops.pop() if len(tops) == 1 else folder


def _check_edges(archive: zipfile.ZipFile, file: IO[bytes], size: int) -> None:
    """Raise `BadZipFile` for bytes before the first member or after the end, which programs interpret differently."""
    first = min((member.header_offset for member in archive.infolist()), default=0)
    file.seek(max(0, size - END.size - len(archive.comment)))
    mark, comment = END.unpack(file.read(END.size))
    if mark != END_MARK or comment != len(archive.comment):
        raise zipfile.BadZipFile("it has bytes after its end")
    if first != 0:
        raise zipfile.BadZipFile("it has bytes before its first file")


END, END_MARK = struct.Struct("<4s16xH"), b"PK\5\6"
"""The end record of a zip: its signature, and the length of the comment after it."""


ZIP = ".zip"
_HINT = "give a folder, a zip, or a URL such as s3://bucket/releases/NAME-1.0.0"


def is_release(path: Path) -> bool:
    """Return true if a path is the folder of a release."""
    try:
        return FORMAT.partition("/")[0].encode() in read_untrusted(path / MANIFEST)
    except OSError:
        return False


_opened: dict[str, Path] = {}
"""Folders of releases that this process downloaded or unpacked, by argument."""


def open_location(given: str, reach: NetworkPolicy = USER_GIVEN) -> Path | None:
    """Return the folder of a command's argument if it is a release, or None. A zip or a URL is unpacked into a
    temporary folder, once for each process; `reach` limits the download.

    Raises `TriposError` S0851 if a zip or URL cannot be read, and for the Hub as `push_to_hub` does.
    """
    path = Path(given)
    if "://" not in given and not (path.suffix == ZIP and path.is_file()):
        return path if is_release(path) else None
    if given not in _opened:
        _opened[given] = fetch_release(given, reach) if "://" in given else _unpacked(path)
    return _opened[given]


def forget_opened() -> None:
    """Forget all downloads, so that they are repeated."""
    _opened.clear()


def pack(folder: Path) -> Path:
    """Write a release as a zip next to its folder, with reproducible bytes. Raises `OSError`."""
    target = folder.with_name(folder.name + ZIP)
    with atomic_path(target) as new, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in _files(folder):
            entry = zipfile.ZipInfo(f"{folder.name}/{name}", ZIP_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, path.read_bytes())
    return target


def push(folder: Path, url: str) -> str:
    """Upload a release to `URL/NAME-VERSION`, and return that address. The manifest comes last, so that an incomplete
    release is not visible. On the Hub, `hf://OWNER/NAME`, it becomes the head of a data set.

    Raises `TriposError` S0850 if a file exists with other content, or if the store refuses.
    """
    if url.startswith(HUB):
        return push_to_hub(folder, url)
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError

    from tripos_warehouse.store.bucket.catalog import panics_as_errors

    place = f"{url.rstrip('/')}/{folder.name}"
    listed = sorted(_files(folder), key=lambda each: (each[0] in UNLISTED, each[0] == MANIFEST, each[0]))
    try:
        with panics_as_errors(hushed=True):
            store = _store(place, make=True)
            for name, path in listed:
                content = path.read_bytes()
                try:
                    obstore.put(store, name, content, mode="create")
                except AlreadyExistsError as error:
                    if bytes(obstore.get(store, name).bytes()) != content:
                        message = f"`{place}/{name}` is there already, with other content"
                        raise TriposError("S0850", message, "a release is never changed: push it elsewhere") from error
    except (BaseError, ValueError, OSError) as error:
        raise TriposError(
            "S0850", f"cannot write to `{place}`: {first_line(error)}", _HINT, ExitCode.SOME_FAILED
        ) from error
    return place


def fetch_release(url: str, reach: NetworkPolicy, sha256: str | None = None) -> Path:
    """Download a release into a temporary folder, and return it. Raises `TriposError` as `download_release` does."""
    if url.startswith(HUB):
        folder = temporary(PurePosixPath(parse_hub_address(url).name).name)
        fetch_from_hub(url, folder, reach, sha256)
        return folder
    from tripos.releases.download import download_file, download_release

    if url.endswith(ZIP):
        path = temporary("zip") / PurePosixPath(url).name
        download_file(url, path, reach)
        return _unpacked(path)
    folder = temporary(PurePosixPath(url.rstrip("/")).name)
    download_release(url, folder, reach, sha256)
    return folder


def _unpacked(path: Path) -> Path:
    """Return the folder of an unpacked zip: the release itself, or the only folder in it."""
    try:
        return unpack(path, temporary(path.stem))
    except BAD_ZIP as error:
        hint = "download it again"
        raise TriposError("S0851", f"cannot read the zip `{path}`: {error}", hint, ExitCode.SOME_FAILED) from error


def temporary(name: str) -> Path:
    """Return a temporary folder with this name, deleted at exit."""
    around = Path(tempfile.mkdtemp(prefix="tripos-"))
    atexit.register(shutil.rmtree, around, ignore_errors=True)
    (around / (name or "release")).mkdir()
    return around / (name or "release")


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    named = ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    yield from sorted(named)


def _store(url: str, make: bool = False) -> Any:
    from obstore.store import LocalStore, from_url

    if url.startswith("file://"):
        return LocalStore(url.removeprefix("file://"), mkdir=make)
    return from_url(url, client_options={"allow_http": True} if url.startswith("http://") else None)


# The Hugging Face Hub
HUB_OWN_FILE = ".gitattributes"
"""A file that the Hub adds to every data set, which is not part of a release."""
_KIND = "dataset"
_PLACE = re.compile(r"hf://(?:datasets/)?(?P<name>[\w.-]+/[\w.-]+?)(?:@(?P<revision>[^/@\s]+))?/?")
_ENDPOINT = "HF_ENDPOINT"
_HUB_ADDRESS_HINT = "write hf://OWNER/NAME, or hf://OWNER/NAME@VERSION to read one version"


@dataclass(frozen=True)
class HubDataset:
    """A data set of the Hub, with an optional tag, branch or commit."""

    name: str
    revision: str | None = None

    def at(self, revision: str) -> str:
        """Return the address of a revision."""
        return f"{HUB}{self.name}@{revision}"


def parse_hub_address(given: str) -> HubDataset:
    """Parse an address on the Hub. Raises `TriposError` R0202 if it is invalid.

    >>> parse_hub_address("hf://lab/quiz@1.0.0"), parse_hub_address("hf://datasets/lab/quiz").revision
    (HubDataset(name='lab/quiz', revision='1.0.0'), None)
    """
    match = _PLACE.fullmatch(given)
    if match is None:
        raise TriposError("R0202", f"`{given}` is no place on the Hub", _HUB_ADDRESS_HINT)
    return HubDataset(match["name"], match["revision"])


def push_to_hub(folder: Path, given: str) -> str:
    """Upload a release in one commit as the head of a data set, tag it with its version, and return its address. A
    tagged version is never changed, and content other than a release is never replaced.

    Raises `TriposError` S0850 if something else is there, S0876 if the Hub refuses, S0877 if it cannot be reached, and
    S0857 without its library.
    """
    place = parse_hub_address(given)
    if place.revision is not None:
        raise TriposError("R0202", f"`{given}` names a version, which is that of the release", "write hf://OWNER/NAME")
    api = _api()
    from huggingface_hub.errors import RepositoryNotFoundError

    from tripos.releases.manifest import parse_manifest

    raw = read_untrusted(folder / MANIFEST)
    manifest = parse_manifest(raw)
    with _hub_failures(place):
        try:
            api.repo_info(place.name, repo_type=_KIND)
        except RepositoryNotFoundError:
            api.create_repo(place.name, repo_type=_KIND, exist_ok=True)
        tags = {tag.name for tag in api.list_repo_refs(place.name, repo_type=_KIND).tags}
        if manifest.version in tags:
            if _read(api, place, manifest.version) == raw:
                return place.at(manifest.version)
            raise _already_there(place.at(manifest.version), "has other content")
        head = api.repo_info(place.name, repo_type=_KIND).sha
        there = {*api.list_repo_files(place.name, repo_type=_KIND, revision=head)} - {HUB_OWN_FILE}
        if there:
            before = _read(api, place, head or "main") if MANIFEST in there else None
            if before == raw:  # an earlier push was interrupted between its commit and its tag
                api.create_tag(place.name, repo_type=_KIND, tag=manifest.version, revision=head)
                return place.at(manifest.version)
            _check_replaceable(api, place, head, before, tags, manifest)
        commit = _commit(api, place, folder, there, head, manifest)
        api.create_tag(place.name, repo_type=_KIND, tag=manifest.version, revision=commit)
    return place.at(manifest.version)


def fetch_from_hub(given: str, to: Path, reach: NetworkPolicy, sha256: str | None = None) -> None:
    """Download a release of the Hub into a folder, within the limits of all downloads. The user's token is sent only if
    `reach` is `signed`. The Hub's library only lists the files.

    Raises `TriposError` as `push_to_hub` and `download_release` do, and S0851 if there is no release.
    """
    from tripos.releases.download import Web, download_from

    place = parse_hub_address(given)
    api = _api(reach.signed)
    from huggingface_hub import hf_hub_url

    commit, names = _listed(api, place)
    if MANIFEST not in names:
        raise TriposError("S0851", f"there is no release at `{given}`: it has no {MANIFEST}", _HUB_ADDRESS_HINT)
    with _hub_failures(place):
        headers = api._build_hf_headers() if reach.signed else {}
        url = hf_hub_url(place.name, "", repo_type=_KIND, revision=commit, endpoint=api.endpoint).rstrip("/")
    if len(names) > MOST_FILES:
        raise TriposError(
            "S0851", f"`{given}` has more than {MOST_FILES:,} files", _HUB_ADDRESS_HINT, ExitCode.SOME_FAILED
        )
    # A Hub other than the public one is the user's choice, and may be in a private network.
    far = reach if not os.environ.get(_ENDPOINT) else replace(reach, private=True)
    sent = {name: value for name, value in headers.items() if name.lower() == "authorization"}
    listed = tuple(name for name in names if name != HUB_OWN_FILE)
    download_from(Web(url, far, listed, sent), given, to, sha256)


def list_hub_files(given: str, reach: NetworkPolicy) -> tuple[str, list[str]]:
    """Return the commit of a data set on the Hub, at the revision of `given` or the head, and the paths of its files.

    Raises `TriposError` as `fetch_from_hub` does.
    """
    return _listed(_api(reach.signed), parse_hub_address(given))


def _listed(api: HfApi, place: HubDataset) -> tuple[str, list[str]]:
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    with _hub_failures(place):
        try:
            commit = api.repo_info(place.name, repo_type=_KIND, revision=place.revision).sha
            return commit or "main", api.list_repo_files(place.name, repo_type=_KIND, revision=commit)
        except RevisionNotFoundError as error:
            hint = "see the tags of the data set: a release has its version"
            raise TriposError("S0851", f"`{place.name}` has no version `{place.revision}` on the Hub", hint) from error
        except RepositoryNotFoundError as error:
            hint = f"see the name; where it is private, put a token into HF_TOKEN, and use {SIGNED}"
            raise TriposError("S0851", f"the Hub has no data set `{place.name}` that you may read", hint) from error


def fetch_file_from_hub(place: HubDataset, path: str, to: Path, reach: NetworkPolicy) -> list[str]:
    """Download the files of a data set that match a path into a folder, within the limits of all downloads, and return
    their paths. `*` and a name in braces match within one name.

    Raises `TriposError` as `fetch_from_hub` does.
    """
    from tripos.releases.download import Web, save_file

    api = _api(reach.signed)
    from huggingface_hub import hf_hub_url

    commit, names = _listed(api, place)
    with _hub_failures(place):
        headers = api._build_hf_headers() if reach.signed else {}
        url = hf_hub_url(place.name, "", repo_type=_KIND, revision=commit, endpoint=api.endpoint).rstrip("/")
    parts = re.split(r"(\{\w+\}|\*)", path)
    wanted = re.compile("".join("[^/]*" if place % 2 else re.escape(part) for place, part in enumerate(parts)))
    found = [name for name in names if wanted.fullmatch(name) and not {"", ".", ".."} & {*name.split("/")}]
    if not found:
        raise TriposError("S0851", f"the data set `{place.name}` has no file `{path}`", "see the files on its page")
    far = reach if not os.environ.get(_ENDPOINT) else replace(reach, private=True)
    sent = {name: value for name, value in headers.items() if name.lower() == "authorization"}
    web = Web(url, far, headers=sent)
    for name in found:
        save_file(web, name, to / name)
    return found


def _check_replaceable(
    api: HfApi, place: HubDataset, head: str | None, before: bytes | None, tags: Collection[str], new: Manifest
) -> None:
    """Check that the head of a data set may be replaced, because it is another version of the same benchmark. Tag the
    old head if it has no tag, so that it stays reachable."""
    from tripos.releases.manifest import parse_manifest

    try:
        last = None if before is None else parse_manifest(before)
    except ValueError:
        last = None
    if last is None or last.benchmark != new.benchmark:
        what = "something else than releases" if last is None else f"releases of `{last.benchmark}`"
        raise _already_there(f"{HUB}{place.name}", f"holds {what}")
    if last.version == new.version:
        raise _already_there(place.at(new.version), "has other content")
    if last.version not in tags:
        api.create_tag(place.name, repo_type=_KIND, tag=last.version, revision=head)


def _commit(api: HfApi, place: HubDataset, folder: Path, there: set[str], head: str | None, manifest: Manifest) -> str:
    """Commit the release as the whole content of a data set, and return the commit."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    added = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(path)) for name, path in sorted(files.items())]
    gone = [CommitOperationDelete(path_in_repo=name) for name in sorted(there - files.keys())]
    text = f"{manifest.benchmark} {manifest.version}"
    done = api.create_commit(place.name, [*gone, *added], commit_message=text, repo_type=_KIND, parent_commit=head)
    return str(done.oid)


def _read(api: HfApi, place: HubDataset, revision: str) -> bytes | None:
    """Return the manifest at a revision, or None without one."""
    from huggingface_hub.errors import EntryNotFoundError

    with tempfile.TemporaryDirectory(prefix="tripos-") as aside:
        try:
            path = api.hf_hub_download(place.name, MANIFEST, repo_type=_KIND, revision=revision, local_dir=aside)
        except EntryNotFoundError:
            return None
        return Path(path).read_bytes()


def _api(signed: bool = True) -> HfApi:
    """Return the client of the Hub, at the address of the environment. Raises `TriposError` S0857 without its
    library."""
    if importlib.util.find_spec("huggingface_hub") is None:
        raise TriposError("S0857", "the Hub needs `huggingface_hub`", "pip install 'tripos[release]'")
    from huggingface_hub import HfApi
    from huggingface_hub.utils import disable_progress_bars, logging

    disable_progress_bars()
    logging.set_verbosity_error()
    token = None if signed else False
    return HfApi(endpoint=os.environ.get(_ENDPOINT) or None, library_name="tripos", token=token)


@contextmanager
def _hub_failures(place: HubDataset) -> Iterator[None]:
    """Convert exceptions of the library to `TriposError`."""
    failures: tuple[type[Exception], ...] = (*_transport_errors(), OSError, ValueError, RuntimeError)
    try:
        yield
    except failures as error:
        # An error during the upload of a large file is wrapped twice.
        first = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ is not None else error
        raise _failure(f"`{HUB}{place.name}`", first) from error


def _transport_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the HTTP client of `huggingface_hub`: httpx, and httpx2 since its version 2."""
    from importlib import import_module
    from importlib.util import find_spec

    return tuple(import_module(name).HTTPError for name in ("httpx", "httpx2") if find_spec(name) is not None)


def _failure(where: str, error: BaseException) -> TriposError:
    """Return the failure for an exception. It never contains the text of a request, which may include a key."""
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, _transport_errors()) and not isinstance(error, HfHubHTTPError):
        message = f"the Hub cannot be reached: {type(error).__name__}"
        return TriposError("S0877", message, f"see the network, and {_ENDPOINT} if you set it", ExitCode.SOME_FAILED)
    match error:
        case HfHubHTTPError(response=response) if response.status_code in (401, 403):
            hint = "put a token that may write there into HF_TOKEN, or log in: hf auth login"
            return TriposError("S0876", f"the Hub refuses {where}: {_why(response.status_code)}", hint)
        case HfHubHTTPError(response=response) if response.status_code == 404:
            hint = "see that the owner exists, and that your token may write there"
            return TriposError("S0876", f"the Hub knows no {where}, or you may not see it", hint)
        case HfHubHTTPError(response=response) if response.status_code in (409, 412):
            return TriposError(
                "S0850", f"{where} was changed while this was pushed", "push again", ExitCode.SOME_FAILED
            )
        case HfHubHTTPError(response=response):
            message = f"the Hub failed at {where}: HTTP {response.status_code}"
            return TriposError("S0877", message, "try again later", ExitCode.SOME_FAILED)
        case OSError():
            message = f"the Hub cannot be reached: {type(error).__name__}"
            return TriposError(
                "S0877", message, f"see the network, and {_ENDPOINT} if you set it", ExitCode.SOME_FAILED
            )
        case ValueError():
            text = next(iter(str(error).strip().splitlines()), "it gave no reason")
            return TriposError("S0876", f"the Hub does not take {where}: {text}", "see the card, README.md")
    message = f"sending to {where} failed: {type(error).__name__}"
    return TriposError("S0877", message, "try again later", ExitCode.SOME_FAILED)


def _why(status: int) -> str:
    return "it knows no such token, or there is none" if status == 401 else "your token may not write there"


def _already_there(where: str, what: str) -> TriposError:
    hint = "a release is never changed: raise the version, or push it elsewhere"
    return TriposError("S0850", f"`{where}` {what}", hint, ExitCode.SOME_FAILED)


# Data that a spec names
LONGEST_S = 3600.0
_RUNNER = """
import importlib.util, json, os, sys
path, function, out = sys.argv[1:]
spec = importlib.util.spec_from_file_location("rows_of_a_benchmark", path)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
with open(out + ".part", "w", encoding="utf-8") as file:
    for row in getattr(module, function)():
        if not isinstance(row, dict):
            raise TypeError(f"a row is a dict, and this is {type(row).__name__}")
        file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\\n")
os.replace(out + ".part", out)
"""


_COMMIT = re.compile(r"@[0-9a-f]{40}/")


def is_pinned(source: str) -> bool:
    """Return true unless a source is on the Hub without a commit: the content of a branch or tag may change.

    >>> is_pinned("hf://lab/quiz@main/test.jsonl"), is_pinned(f"hf://lab/quiz@{'0a' * 20}/test.jsonl")
    (False, True)
    """
    return not source.startswith(DATA_FILES_HUB) or _COMMIT.search(source) is not None


@dataclass
class DataFetcher:
    """Downloader of data sources. `brought` has the path of each downloaded source."""

    reach: NetworkPolicy
    brought: dict[str, Path] = field(default_factory=dict)

    def bring(self, source: str, beside: Path, target: Path) -> None:
        """Download a source to a path. Raises `DataError`, and `TriposError` if it cannot be downloaded."""
        from tripos.releases.download import Web, save_file

        program = PROGRAM.fullmatch(source)
        if program is not None:
            self._make(source, beside / f"{program['path']}.py", program["function"], target)
        elif source.startswith(DATA_FILES_HUB):
            owner, name, path = source.removeprefix(DATA_FILES_HUB).strip("/").removeprefix("datasets/").split("/", 2)
            folder = target.parents[path.count("/")]
            fetch_file_from_hub(parse_hub_address(f"{DATA_FILES_HUB}{owner}/{name}"), path, folder, self.reach)
        else:
            around, _, name = source.rpartition("/")
            save_file(Web(around, self.reach), name, target)
        self.brought[source] = target

    def _make(self, source: str, program: Path, function: str, target: Path) -> None:
        from tripos_runtime.asking.functions.process import run_python

        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            out = Path(folder) / "rows.jsonl"
            command = ["-P", "-c", _RUNNER, program.name, function, str(out.resolve())]
            try:
                ended = run_python(sys.executable, command, program.parent, LONGEST_S)
            except subprocess.TimeoutExpired as error:
                message = f"`{source}` took more than {LONGEST_S / 60:.0f} minutes"
                raise DataError(message, "let it give fewer rows") from error
            if ended.failed:
                raise DataError(f"the program `{source}` failed: {ended.last_line}", "fix the program")
            if not out.exists():
                raise DataError(f"the program `{source}` ended before its last row", "let it not exit by itself")
            if not out.stat().st_size:
                raise DataError(f"the program `{source}` gives no rows", "let it yield a dict for each row")
            out.replace(target)
