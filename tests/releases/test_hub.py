"""Releases on the Hugging Face Hub: one commit, a tag for each version, and nothing of others' written over."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest

from tests.conftest import Command
from tests.releases.hub_server import TOKEN, Hub, Repo, serving
from tests.releases.test_releases import LESSONS, contents, release
from tripos.releases import download
from tripos.releases.locations import forget_opened, open_location, push_to_hub
from tripos.releases.publish import WrittenRelease
from tripos_compiler.errors import TriposError

PLACE = "hf://lab/lessons"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # httpx', of how the library sends


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> WrittenRelease:
    return release(LESSONS, tmp_path_factory.mktemp("hub"))


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> WrittenRelease:
    """A release of a later version, with another file and another prompt."""
    folder = tmp_path_factory.mktemp("later") / "spec"
    shutil.copytree(LESSONS, folder)
    spec = folder / "spec.tripos"
    spec.write_text(spec.read_text("utf-8").replace('"1.2.3"', '"2.0.0"'), "utf-8")
    (folder / "release.toml").write_text('measures = "Lessons."\n')
    return release(folder, folder.parent / "to")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
        forget_opened()
        yield hub


def refused(made: WrittenRelease, place: str = PLACE) -> TriposError:
    with pytest.raises(TriposError) as caught:
        push_to_hub(made.path, place)
    return caught.value


def head(hub: Hub) -> dict[str, bytes]:
    repo = hub.repos["lab/lessons"]
    return {name: raw for name, raw in repo.commits[repo.head].items() if name != ".gitattributes"}


def test_a_release_is_one_commit_with_a_tag_of_its_version(made: WrittenRelease, hub: Hub) -> None:
    for _ in range(2):  # pushing the same again changes nothing
        assert push_to_hub(made.path, PLACE) == f"{PLACE}@1.2.3"
        repo = hub.repos["lab/lessons"]
        assert head(hub) == contents(made.path)
        assert (len(repo.commits), repo.tags) == (2, {"1.2.3": repo.head})
        assert len(hub.large) == 1
    assert refused(made, f"{PLACE}@1.2.3").code == "R0202", "a place with a version is not pushed to"


def test_a_release_is_verified_and_run_from_the_hub(
    made: WrittenRelease, hub: Hub, tripos: Command, tmp_path: Path
) -> None:
    done = tripos("release", str(LESSONS), "--to", str(tmp_path / "to"), "--push", PLACE)
    assert f"also    {PLACE}@1.2.3" in done.out, done.err
    done = tripos("verify", f"{PLACE}@1.2.3", "--digest", made.digest)
    assert (done.code, "as it was released" in done.out) == (0, True), done.out + done.err
    models = ("--model", "mock/careful", "--role", "judge=mock/careless")
    done = tripos("run", "hf://datasets/lab/lessons", *models, "--store", str(tmp_path / "results"))
    assert "lessons" in done.err.lower() and done.code in (0, 100), done.err


def test_a_later_version_becomes_the_head_and_the_earlier_one_stays_under_its_tag(
    made: WrittenRelease, later: WrittenRelease, hub: Hub
) -> None:
    push_to_hub(made.path, PLACE)
    push_to_hub(later.path, PLACE)
    assert head(hub) == contents(later.path)
    assert set(hub.repos["lab/lessons"].tags) == {"1.2.3", "2.0.0"}
    first, last = open_location(f"{PLACE}@1.2.3"), open_location(PLACE)
    assert first is not None and contents(first) == contents(made.path)
    assert last is not None and contents(last) == contents(later.path)


def test_a_push_that_ended_before_its_tag_is_finished(made: WrittenRelease, later: WrittenRelease, hub: Hub) -> None:
    hub.broken["/tag/"] = 500
    assert refused(made).code == "S0877"
    hub.broken.clear()
    push_to_hub(made.path, PLACE)
    repo = hub.repos["lab/lessons"]
    assert (len(repo.commits), repo.tags) == (2, {"1.2.3": repo.head})
    repo.tags.clear()
    push_to_hub(later.path, PLACE)
    assert set(repo.tags) == {"1.2.3", "2.0.0"}


def test_a_version_that_is_there_with_other_content_stays(made: WrittenRelease, hub: Hub, tmp_path: Path) -> None:
    push_to_hub(made.path, PLACE)
    shutil.copytree(LESSONS, tmp_path / "spec")
    (tmp_path / "spec/release.toml").write_text('measures = "Other."\n')
    other = release(tmp_path / "spec", tmp_path / "to")
    before = head(hub)
    assert refused(other).code == "S0850"
    hub.repos["lab/lessons"].tags.clear()
    assert refused(other).code == "S0850"
    assert head(hub) == before


@pytest.mark.parametrize("there", [{"data.csv": b"mine"}, {"manifest.json": b"{}"}])
def test_a_data_set_that_is_no_release_is_left_alone(made: WrittenRelease, hub: Hub, there: dict[str, bytes]) -> None:
    repo = hub.repos["lab/lessons"] = Repo()
    repo.commit(there)
    assert refused(made).code == "S0850"
    assert head(hub) == there


def test_a_release_of_another_benchmark_is_left_alone(made: WrittenRelease, hub: Hub) -> None:
    said = json.loads((made.path / "manifest.json").read_bytes()) | {"benchmark": "other"}
    repo = hub.repos["lab/lessons"] = Repo()
    repo.commit({"manifest.json": json.dumps(said).encode()})
    found = refused(made)
    assert found.code == "S0850" and "`other`" in found.message


@pytest.mark.parametrize(
    ("part", "status", "code"),
    [
        ("/repos/create", 403, "S0876"),
        ("/repos/create", 404, "S0876"),
        ("/preupload/", 403, "S0876"),
        ("/large/", 403, "S0876"),
        ("/commit/", 412, "S0850"),
        ("/commit/", 409, "S0850"),
        ("/commit/", 500, "S0877"),
        ("/refs", 418, "S0877"),
    ],
)
def test_what_the_hub_refuses_is_told_and_leaves_nothing(
    made: WrittenRelease, hub: Hub, part: str, status: int, code: str
) -> None:
    hub.broken[part] = status
    found = refused(made)
    assert found.code == code
    assert TOKEN not in found.message + found.hint and "\n" not in found.message
    assert "lab/lessons" not in hub.repos or head(hub) == {}


def test_without_a_token_nothing_is_pushed(made: WrittenRelease, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_another")
    found = refused(made)
    assert found.code == "S0876" and "HF_TOKEN" in found.hint
    assert hub.repos == {}


def test_a_hub_that_cannot_be_reached_is_told(made: WrittenRelease, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert refused(made).code == "S0877"
    with pytest.raises(TriposError) as caught:
        open_location("hf://lab/unreached")
    assert caught.value.code == "S0877"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("hf://lab/nowhere", "S0851"),
        ("hf://lab/lessons@9.9.9", "S0851"),
        ("hf://lab/empty", "S0851"),
        ("hf://lab", "R0202"),
        ("hf://lab/lessons/more", "R0202"),
    ],
)
def test_a_place_on_the_hub_without_a_release_is_told_so(
    made: WrittenRelease, hub: Hub, tripos: Command, given: str, code: str
) -> None:
    push_to_hub(made.path, PLACE)
    hub.repos["lab/empty"] = Repo()
    hub.repos["lab/empty"].commit({})
    done = tripos("verify", given)
    assert (done.code, code in done.err) == (2, True), done.err


def test_what_was_changed_on_the_hub_is_named(made: WrittenRelease, hub: Hub, tripos: Command) -> None:
    push_to_hub(made.path, PLACE)
    repo = hub.repos["lab/lessons"]
    repo.commit({**repo.commits[repo.head], "LICENSE": b"mine", "added.txt": b"x"})
    done = tripos("verify", PLACE)
    assert done.code == 1
    assert "LICENSE was changed" in done.out and "added.txt is not in the manifest" in done.out


def test_the_token_is_sent_only_where_that_is_said(
    made: WrittenRelease, hub: Hub, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_to_hub(made.path, PLACE)
    hub.tokens.clear()
    assert tripos("verify", PLACE).code == 0
    assert set(hub.tokens) == {None}
    hub.tokens.clear()
    forget_opened()
    assert tripos("verify", PLACE, "--signed").code == 0
    assert set(hub.tokens) == {f"Bearer {TOKEN}"}


def test_a_data_set_of_the_hub_is_fetched_within_the_limits_of_every_download(
    made: WrittenRelease, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_to_hub(made.path, PLACE)
    monkeypatch.setattr(download, "MOST_BYTES", 20_000)
    with pytest.raises(TriposError, match="bytes") as caught:
        open_location(PLACE)
    assert caught.value.code == "S0851"
    monkeypatch.setattr(download, "MOST_BYTES", 2**31)
    monkeypatch.setattr("tripos.releases.locations.MOST_FILES", 3)
    with pytest.raises(TriposError, match="more than 3 files"):
        open_location(PLACE)
