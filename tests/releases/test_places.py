"""A folder, a zip and a URL of a release are the same to every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.releases.file_server import FileServer, address_of, running
from tests.releases.test_releases import LESSONS, contents, release, wrong
from tripos.releases.locations import open_location, pack, push
from tripos.releases.network_policy import NetworkPolicy
from tripos.releases.opening import origin_of
from tripos.releases.publish import WrittenRelease
from tripos.releases.verification import verify
from tripos.runs.compilation import find_spec, has_benchmark
from tripos_compiler.errors import TriposError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> WrittenRelease:
    return release(LESSONS, tmp_path_factory.mktemp("places"))


@pytest.fixture
def url(made: WrittenRelease) -> Iterator[str]:
    """Yield where a web server on this machine has the release."""
    with running(FileServer(made.path.parent)) as server:
        yield f"{address_of(server)}/{made.path.name}"


def same(found: Path | None, made: WrittenRelease) -> bool:
    return found is not None and contents(found) == contents(made.path)


def test_a_zip_is_the_release_and_has_the_same_bytes_each_time(made: WrittenRelease) -> None:
    first = pack(made.path).read_bytes()
    target = pack(made.path)
    assert target.read_bytes() == first
    assert same(open_location(str(target)), made)
    assert origin_of(str(target), Path()).release == made.digest
    plan = find_spec(str(target)).compile().plan
    assert plan is not None and plan.digest == made.manifest.plan


def test_a_pushed_release_is_read_back_and_not_written_over(made: WrittenRelease, tmp_path: Path) -> None:
    place = push(made.path, f"file://{tmp_path}/store")
    assert push(made.path, f"file://{tmp_path}/store") == place
    assert same(open_location(place), made)
    (tmp_path / "store" / made.path.name / "README.md").write_text("mine")
    with pytest.raises(TriposError) as caught:
        push(made.path, f"file://{tmp_path}/store")
    assert caught.value.code == "S0850"


def test_what_was_tampered_with_in_a_store_is_named(made: WrittenRelease, tmp_path: Path) -> None:
    place = push(made.path, f"file://{tmp_path}/store")
    folder = tmp_path / "store" / made.path.name
    (folder / "LICENSE").write_text("mine")
    (folder / "spec/added.tripos").write_text("")
    found = open_location(place)
    assert found is not None
    named = {each.split()[0] for each in wrong(verify(found))}
    assert named == {"LICENSE", "spec/added.tripos"}


def test_a_release_on_a_web_server_is_read(url: str, made: WrittenRelease) -> None:
    with pytest.raises(TriposError, match="of this machine or its network"):
        open_location(url)
    assert same(open_location(url, NetworkPolicy(private=True)), made)


@pytest.mark.parametrize("given", ["http://127.0.0.1:1/x-1.0.0", "file:///nowhere/x-1.0.0", "{folder}/no.zip"])
def test_a_place_without_a_release_is_told_so(given: str, tmp_path: Path) -> None:
    (tmp_path / "no.zip").write_text("no zip")
    with pytest.raises(TriposError) as caught:
        open_location(given.format(folder=tmp_path), NetworkPolicy(private=True))
    assert caught.value.code == "S0851"


def test_a_release_is_a_benchmark_among_those_that_a_pattern_names(made: WrittenRelease, tmp_path: Path) -> None:
    assert has_benchmark(made.path)
    assert has_benchmark(pack(made.path))
    assert not has_benchmark(tmp_path)
