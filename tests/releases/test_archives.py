"""Archives and manifests of releases that a stranger wrote: they are refused, or are the release that they seem to be.

Nothing is written outside of the folder that an archive is unpacked into, and no failure is a traceback.
"""

from __future__ import annotations

import io
import json
import stat
import unicodedata
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.lengths import sized
from tripos.cli.main import run_command
from tripos.releases.locations import forget_opened, open_location, pack
from tripos.releases.manifest import checksum_line, parse_manifest
from tripos.releases.opening import open_release
from tripos.releases.publish import ReleaseInput, make_release
from tripos.releases.verification import verify
from tripos.runs.compilation import find_spec
from tripos_compiler.errors import TriposError

LESSONS = Path(__file__).parents[2] / "tests/compat/previous/title"
SEED = 7


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_spec(str(LESSONS))
    compilation = found.compile()
    assert compilation.plan is not None
    folder = tmp_path_factory.mktemp("releases")
    return make_release(ReleaseInput(compilation, compilation.plan, found.folders), folder).path


@pytest.fixture(scope="module")
def zipped(made: Path) -> bytes:
    return pack(made).read_bytes()


Member = tuple[zipfile.ZipInfo, bytes]


def members_of(raw: bytes) -> list[Member]:
    """Return the members of a zip."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return [(info, archive.read(info)) for info in archive.infolist()]


def zip_of(members: list[Member]) -> bytes:
    """Return a zip with these members, whatever their names are."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of a name that stands twice
        for info, content in members:
            new = zipfile.ZipInfo(info.filename, info.date_time)
            new.external_attr, new.compress_type = info.external_attr, zipfile.ZIP_DEFLATED
            archive.writestr(new, content)
    return out.getvalue()


def added(name: str, content: bytes = b"x", mode: int = 0o100644) -> Callable[[bytes], bytes]:
    """Return the change that adds a member."""

    def change(raw: bytes) -> bytes:
        info = zipfile.ZipInfo(name.replace("TOP", top_of(raw)))
        info.external_attr = mode << 16
        return zip_of([*members_of(raw), (info, content)])

    return change


def top_of(raw: bytes) -> str:
    return members_of(raw)[0][0].filename.partition("/")[0]


def doubled_end(raw: bytes) -> bytes:
    """Return a zip behind the end of which stands another one, which some programs would read."""
    return raw + zip_of([(zipfile.ZipInfo("other/manifest.json"), b"{}")])


def overlapped(raw: bytes) -> bytes:
    """Return a zip of which two members have the bytes of one."""
    content = bytearray(raw)
    first = content.find(b"PK\1\2")
    second = content.find(b"PK\1\2", first + 4)
    content[second + 42 : second + 46] = content[first + 42 : first + 46]
    return bytes(content)


ATTACKS: dict[str, Callable[[bytes], bytes]] = {
    "a path above": added("../escaped"),
    "a path above, below a folder": added("TOP/../../escaped"),
    "an absolute path": added("/tmp/escaped"),
    "a drive": added("C:/escaped"),
    "a backslash": added("TOP\\..\\escaped"),
    "an empty part": added("TOP//escaped"),
    "a dot": added("TOP/./escaped"),
    "a control character": added("TOP/a\tb\n"),
    "a link": added("TOP/link", b"/etc/passwd", stat.S_IFLNK | 0o777),
    "a name twice": added("TOP/manifest.json"),
    "a name in other capitals": added("TOP/Manifest.JSON"),
    "a folder in the place of a file": added("TOP/manifest.json/"),
    "a file below a file": added("TOP/manifest.json/x"),
    "a name in two forms of Unicode": lambda raw: added("TOP/é")(added(unicodedata.normalize("NFD", "TOP/é"))(raw)),
    "a bomb": added("TOP/bomb", bytes(300_000_000)),
    "bytes before it": lambda raw: b"#!/bin/sh\n" + raw,
    "bytes after it": lambda raw: raw + b"x",
    "another zip after it": doubled_end,
    "members that overlap": overlapped,
    "half of it": lambda raw: raw[: len(raw) // 2],
    "no end": lambda raw: raw[:-1],
    "nothing": lambda raw: b"",
}
"""Changes of a zip that are all refused."""


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_zip_that_is_not_only_a_release_is_refused(attack: str, zipped: bytes, tmp_path: Path) -> None:
    given = tmp_path / "given.zip"
    given.write_bytes(ATTACKS[attack](zipped))
    with pytest.raises(TriposError) as caught:
        open_location(str(given))
    assert caught.value.code == "S0851"
    assert not list(tmp_path.parent.rglob("escaped"))


@pytest.mark.parametrize("name", ["TOP/new.zip", "TOP/spec/nested.zip", "TOP/more/new"])
def test_what_is_added_to_a_zip_is_named_and_never_unpacked(name: str, zipped: bytes, tmp_path: Path) -> None:
    given = tmp_path / "given.zip"
    given.write_bytes(added(name, zipped)(zipped))
    folder = open_location(str(given))
    assert folder is not None
    told = [f"{each.what} {each.told}" for each in verify(folder).wrong]
    assert any("is not in the manifest: it was added" in each for each in told), told


def test_a_changed_zip_is_refused_or_verified_and_never_breaks(zipped: bytes, made: Path, tmp_path: Path) -> None:
    """Draw changes of bytes, cuts and copies of pieces."""
    draw = Random(SEED)
    digest = open_release(made).digest
    counts = {"refused": 0, "wrong": 0, "good": 0}
    for number in range(sized(60, 3_000)):
        content = bytearray(zipped)
        for _ in range(draw.randint(1, 3)):
            at, size = draw.randrange(len(content)), draw.randint(1, 40)
            match draw.randrange(4):
                case 0:
                    content[at] ^= 1 << draw.randrange(8)
                case 1:
                    del content[at : at + size]
                case 2:
                    content[at:at] = content[draw.randrange(len(content)) :][:size]
                case 3:  # in the directory, where names and sizes stand
                    content[max(0, len(content) - draw.randint(1, 900))] = draw.randrange(256)
            if not content:
                break
        given = tmp_path / "given.zip"
        given.write_bytes(content)
        forget_opened()
        try:
            folder = open_location(str(given))
            found = None if folder is None else verify(folder)
        except TriposError as failure:
            assert failure.code == "S0851", number
            counts["refused"] += 1
            continue
        good = found is not None and not found.wrong and found.digest == digest
        counts["good" if good else "wrong"] += 1
    assert counts["refused"] > counts["good"], counts


def twice(raw: bytes, key: str) -> bytes:
    """Return a JSON object with a second value under a key, after the first."""
    said = json.loads(raw)
    return raw.rstrip()[:-1] + b"," + json.dumps({key: said[key]}).encode()[1:]


def rewritten(folder: Path, raw: bytes) -> None:
    (folder / "manifest.json").write_bytes(raw)
    (folder / "manifest.sha256").write_bytes(checksum_line(raw))


@pytest.mark.parametrize("key", ["files", "plan", "main", "license"])
def test_a_manifest_with_a_name_twice_is_refused(key: str, copy: Path) -> None:
    rewritten(copy, twice((copy / "manifest.json").read_bytes(), key))
    with pytest.raises(TriposError, match=f"the name `{key}` is repeated"):
        open_release(copy)
    assert any("is repeated" in each.told for each in verify(copy).wrong)
    assert run_command(["plan", str(copy)]) != 0


def test_a_plan_with_a_name_twice_is_refused(copy: Path) -> None:
    raw = twice((copy / "plan.json").read_bytes(), "benchmark")
    (copy / "plan.json").write_bytes(raw)
    said = json.loads((copy / "manifest.json").read_bytes())
    for each in said["files"]:
        if each["path"] == "plan.json":
            import hashlib

            each.update(sha256=hashlib.sha256(raw).hexdigest(), bytes=len(raw))
    from tripos.releases.manifest import canonical

    rewritten(copy, canonical(said))
    with pytest.raises(TriposError, match=r"`plan\.json` cannot be read"):
        open_release(copy).plan()


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "C:/x", "spec/../../x", "spec//x", "spec/./x", "a\\b", "a\0b", "", ".", "..", "a/"]
)
def test_a_manifest_with_a_path_outside_is_refused(path: str, copy: Path) -> None:
    said = json.loads((copy / "manifest.json").read_bytes())
    said["files"].append({"path": path, "sha256": "0" * 64, "bytes": 1})
    with pytest.raises(ValueError, match="is no path below the release"):
        parse_manifest(json.dumps(said).encode())


@pytest.mark.parametrize("path", ["LICENSE", "Plan.JSON", "MANIFEST.json", "spec"])
def test_a_manifest_with_names_that_are_one_on_some_systems_is_refused(path: str, copy: Path) -> None:
    said = json.loads((copy / "manifest.json").read_bytes())
    same = path if path != "LICENSE" else path.lower()
    names = [each["path"] for each in said["files"]]
    if same == "spec":  # two forms of Unicode
        said["files"] += [{"path": name, "sha256": "0" * 64, "bytes": 1} for name in ("é", "e\u0301")]
    else:
        assert any(name.casefold() == same.casefold() for name in (*names, "manifest.json"))
        said["files"].append({"path": same, "sha256": "0" * 64, "bytes": 1})
    with pytest.raises(ValueError, match="are one file on some systems"):
        parse_manifest(json.dumps(said).encode())
