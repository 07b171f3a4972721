"""Releases on the Hugging Face Hub: a data set there has one release at its head, and each version under a tag."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.releases.fetching.download import Web, download_from, save_file
from tripos.releases.fetching.reach import Reach
from tripos.releases.layout import HUB, MANIFEST, MOST_FILES
from tripos.settings import read_untrusted
from tripos.ui import SOME_FAILED, Failure

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from tripos.releases.manifest import Manifest


OF_THE_HUB = ".gitattributes"
"""The file that the Hub puts into every data set, and that is no part of a release."""
_KIND = "dataset"
_PLACE = re.compile(r"hf://(?:datasets/)?(?P<name>[\w.-]+/[\w.-]+?)(?:@(?P<revision>[^/@\s]+))?/?")
_ENDPOINT = "HF_ENDPOINT"
_HINT = "write hf://OWNER/NAME, or hf://OWNER/NAME@VERSION to read one version"


@dataclass(frozen=True)
class HubDataset:
    """A data set of the Hub, and the tag, branch or commit that is meant, if one is."""

    name: str
    revision: str | None = None

    def at(self, revision: str) -> str:
        """Return the address of one version."""
        return f"{HUB}{self.name}@{revision}"


def place_of(given: str) -> HubDataset:
    """Return what an address means. Raises `Failure` R0202 for one that is none.

    >>> place_of("hf://lab/quiz@1.0.0"), place_of("hf://datasets/lab/quiz").revision
    (HubDataset(name='lab/quiz', revision='1.0.0'), None)
    """
    found = _PLACE.fullmatch(given)
    if found is None:
        raise Failure("R0202", f"`{given}` is no place on the Hub", _HINT)
    return HubDataset(found["name"], found["revision"])


def push_to_hub(folder: Path, given: str) -> str:
    """Make a release the head of a data set in one commit, and give it a tag that is called as its version; where it
    is. A version that has its tag is never changed, and what lies there that is no release is left alone.

    Raises `Failure`: S0850 where something else is there, S0876 where the Hub refuses, S0877 where it cannot be
    reached, S0857 without its library.
    """
    place = place_of(given)
    if place.revision is not None:
        raise Failure("R0202", f"`{given}` names a version, which is that of the release", "write hf://OWNER/NAME")
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
            raise _in_the_way(place.at(manifest.version), "has other content")
        head = api.repo_info(place.name, repo_type=_KIND).sha
        there = {*api.list_repo_files(place.name, repo_type=_KIND, revision=head)} - {OF_THE_HUB}
        if there:
            before = _read(api, place, head or "main") if MANIFEST in there else None
            if before == raw:  # a push before this one ended between its commit and its tag
                api.create_tag(place.name, repo_type=_KIND, tag=manifest.version, revision=head)
                return place.at(manifest.version)
            _keep(api, place, head, before, tags, manifest)
        commit = _commit(api, place, folder, there, head, manifest)
        api.create_tag(place.name, repo_type=_KIND, tag=manifest.version, revision=commit)
    return place.at(manifest.version)


def fetch_from_hub(given: str, to: Path, reach: Reach, sha256: str | None = None) -> None:
    """Put a release of the Hub into a folder, within the limits of every download; with the user's token only where
    that is `signed`. The library says which files there are, and fetches none.

    Raises `Failure` as `push_to_hub` and `download_release` do, and S0851 where there is none.
    """
    place = place_of(given)
    api = _api(reach.signed)
    from huggingface_hub import hf_hub_url
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    with _hub_failures(place):
        try:
            commit = api.repo_info(place.name, repo_type=_KIND, revision=place.revision).sha
            names = api.list_repo_files(place.name, repo_type=_KIND, revision=commit)
        except RevisionNotFoundError as error:
            hint = "see the tags of the data set: a release has its version"
            raise Failure("S0851", f"`{place.name}` has no version `{place.revision}` on the Hub", hint) from error
        except RepositoryNotFoundError as error:
            hint = "see the name; where it is private, put a token into HF_TOKEN, and use --signed"
            raise Failure("S0851", f"the Hub has no data set `{place.name}` that you may read", hint) from error
        if MANIFEST not in names:
            raise Failure("S0851", f"there is no release at `{given}`: it has no {MANIFEST}", _HINT)
        headers = api._build_hf_headers() if reach.signed else {}
        url = hf_hub_url(place.name, "", repo_type=_KIND, revision=commit, endpoint=api.endpoint).rstrip("/")
    if len(names) > MOST_FILES:
        raise Failure("S0851", f"`{given}` has more than {MOST_FILES:,} files", _HINT, SOME_FAILED)
    # Another Hub than the public one is of the user's choice, and may be in their network.
    far = reach if not os.environ.get(_ENDPOINT) else replace(reach, private=True)
    sent = {name: value for name, value in headers.items() if name.lower() == "authorization"}
    listed = tuple(name for name in names if name != OF_THE_HUB)
    download_from(Web(url, far, listed, sent), given, to, sha256)


def list_hub_files(given: str, reach: Reach) -> tuple[str, list[str]]:
    """Return the commit that a data set of the Hub has now, or at the revision that `given` names, and the paths of its
    files.

    Raises `Failure` as `fetch_from_hub` does.
    """
    return _listed(_api(reach.signed), place_of(given))


def _listed(api: HfApi, place: HubDataset) -> tuple[str, list[str]]:
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    with _hub_failures(place):
        try:
            commit = api.repo_info(place.name, repo_type=_KIND, revision=place.revision).sha
            return commit or "main", api.list_repo_files(place.name, repo_type=_KIND, revision=commit)
        except (RepositoryNotFoundError, RevisionNotFoundError) as error:
            hint = "see the name and the revision; where it is private, put a token into HF_TOKEN, and use --signed"
            named = place.name if place.revision is None else f"{place.name}@{place.revision}"
            raise Failure("S0851", f"the Hub has no data set `{named}` that you may read", hint) from error


def fetch_file_from_hub(place: HubDataset, path: str, to: Path, reach: Reach) -> list[str]:
    """Put the files of a data set that a path means, in which `*` and a name in braces match within one name, below a
    folder, within the limits of every download; return their paths.

    Raises `Failure` as `fetch_from_hub` does.
    """
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
        raise Failure("S0851", f"the data set `{place.name}` has no file `{path}`", "see the files on its page")
    far = reach if not os.environ.get(_ENDPOINT) else replace(reach, private=True)
    sent = {name: value for name, value in headers.items() if name.lower() == "authorization"}
    web = Web(url, far, headers=sent)
    for name in found:
        save_file(web, name, to / name)
    return found


def _keep(
    api: HfApi, place: HubDataset, head: str | None, before: bytes | None, tags: Collection[str], new: Manifest
) -> None:
    """See that the head of a data set may be replaced: it is another version of the same benchmark. Without a tag it
    gets one, so that it stays where it can be found."""
    from tripos.releases.manifest import parse_manifest

    try:
        last = None if before is None else parse_manifest(before)
    except ValueError:
        last = None
    if last is None or last.benchmark != new.benchmark:
        what = "something else than releases" if last is None else f"releases of `{last.benchmark}`"
        raise _in_the_way(f"{HUB}{place.name}", f"holds {what}")
    if last.version == new.version:
        raise _in_the_way(place.at(new.version), "has other content")
    if last.version not in tags:
        api.create_tag(place.name, repo_type=_KIND, tag=last.version, revision=head)


def _commit(api: HfApi, place: HubDataset, folder: Path, there: set[str], head: str | None, manifest: Manifest) -> str:
    """Return one commit that leaves the release and nothing else at the head of a data set; its name."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    added = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(path)) for name, path in sorted(files.items())]
    gone = [CommitOperationDelete(path_in_repo=name) for name in sorted(there - files.keys())]
    said = f"{manifest.benchmark} {manifest.version}"
    done = api.create_commit(place.name, [*gone, *added], commit_message=said, repo_type=_KIND, parent_commit=head)
    return str(done.oid)


def _read(api: HfApi, place: HubDataset, revision: str) -> bytes | None:
    """Return the manifest at a revision; `None` without one."""
    import tempfile

    from huggingface_hub.errors import EntryNotFoundError

    with tempfile.TemporaryDirectory(prefix="tripos-") as aside:
        try:
            path = api.hf_hub_download(place.name, MANIFEST, repo_type=_KIND, revision=revision, local_dir=aside)
        except EntryNotFoundError:
            return None
        return Path(path).read_bytes()


def _api(signed: bool = True) -> HfApi:
    """Return the Hub, at the address that the environment names. Raises `Failure` S0857 without its library."""
    if importlib.util.find_spec("huggingface_hub") is None:
        raise Failure("S0857", "the Hub needs `huggingface_hub`", "pip install 'tripos[release]'")
    from huggingface_hub import HfApi
    from huggingface_hub.utils import disable_progress_bars, logging

    disable_progress_bars()
    logging.set_verbosity_error()
    token = None if signed else False
    return HfApi(endpoint=os.environ.get(_ENDPOINT) or None, library_name="tripos", token=token)


@contextmanager
def _hub_failures(place: HubDataset) -> Iterator[None]:
    """Make failures of what the library raises."""
    failures: tuple[type[Exception], ...] = (*_transport_errors(), OSError, ValueError, RuntimeError)
    try:
        yield
    except failures as error:
        # What fails while a large file is sent is wrapped once more.
        first = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ is not None else error
        raise _failure(f"`{HUB}{place.name}`", first) from error


def _transport_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the client that `huggingface_hub` uses: httpx, and httpx2 since its version 2."""
    from importlib import import_module
    from importlib.util import find_spec

    return tuple(import_module(name).HTTPError for name in ("httpx", "httpx2") if find_spec(name) is not None)


def _failure(where: str, error: BaseException) -> Failure:
    """Return what an exception means. The text of a request never stands in it, for that may bear a key."""
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, _transport_errors()) and not isinstance(error, HfHubHTTPError):
        message = f"the Hub cannot be reached: {type(error).__name__}"
        return Failure("S0877", message, f"see the network, and {_ENDPOINT} if you set it", SOME_FAILED)
    match error:
        case HfHubHTTPError(response=response) if response.status_code in (401, 403):
            hint = "put a token that may write there into HF_TOKEN, or log in: hf auth login"
            return Failure("S0876", f"the Hub refuses {where}: {_why(response.status_code)}", hint)
        case HfHubHTTPError(response=response) if response.status_code == 404:
            hint = "see that the owner exists, and that your token may write there"
            return Failure("S0876", f"the Hub knows no {where}, or you may not see it", hint)
        case HfHubHTTPError(response=response) if response.status_code in (409, 412):
            return Failure("S0850", f"{where} was changed while this was pushed", "push again", SOME_FAILED)
        case HfHubHTTPError(response=response):
            message = f"the Hub failed at {where}: HTTP {response.status_code}"
            return Failure("S0877", message, "try again later", SOME_FAILED)
        case OSError():
            message = f"the Hub cannot be reached: {type(error).__name__}"
            return Failure("S0877", message, f"see the network, and {_ENDPOINT} if you set it", SOME_FAILED)
        case ValueError():
            told = next(iter(str(error).strip().splitlines()), "it gave no reason")
            return Failure("S0876", f"the Hub does not take {where}: {told}", "see the card, README.md")
    message = f"sending to {where} failed: {type(error).__name__}"
    return Failure("S0877", message, "try again later", SOME_FAILED)


def _why(status: int) -> str:
    return "it knows no such token, or there is none" if status == 401 else "your token may not write there"


def _in_the_way(where: str, what: str) -> Failure:
    hint = "a release is never changed: raise the version, or push it elsewhere"
    return Failure("S0850", f"`{where}` {what}", hint, SOME_FAILED)
