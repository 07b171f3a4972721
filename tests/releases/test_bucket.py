"""A release in an object store that speaks S3: there whole or not at all, and never written over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.releases.bucket_server import Bucket, serving
from tests.releases.test_releases import LESSONS, contents, release
from tripos.releases.locations import forget_opened, open_location, push
from tripos.releases.publish import WrittenRelease
from tripos_compiler.errors import TriposError

URL = "s3://lab/releases"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> WrittenRelease:
    return release(LESSONS, tmp_path_factory.mktemp("bucket"))


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with serving() as bucket:
        for name, value in {
            "AWS_ENDPOINT_URL": bucket.address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        forget_opened()
        yield bucket


def test_a_release_in_a_bucket_is_read_back_as_it_was(made: WrittenRelease, bucket: Bucket, tripos: Command) -> None:
    place = push(made.path, URL)
    assert list(bucket.objects)[-1] == f"releases/{made.path.name}/manifest.json"
    found = open_location(place)
    assert found is not None and contents(found) == contents(made.path)
    done = tripos("verify", place, "--digest", made.digest)
    assert done.code == 0, done.err
    assert push(made.path, URL) == place


def test_a_push_that_was_cut_short_is_no_release_and_is_gone_on_with(made: WrittenRelease, bucket: Bucket) -> None:
    bucket.most = 3
    with pytest.raises(TriposError) as cut:
        push(made.path, URL)
    assert cut.value.code == "S0850"
    with pytest.raises(TriposError) as read:
        open_location(f"{URL}/{made.path.name}")
    assert read.value.code == "S0851"
    bucket.most = None
    assert open_location(push(made.path, URL)) is not None


def test_a_file_of_other_content_is_not_written_over(made: WrittenRelease, bucket: Bucket) -> None:
    key = f"releases/{made.path.name}/README.md"
    bucket.objects[key] = b"mine"
    with pytest.raises(TriposError) as caught:
        push(made.path, URL)
    assert (caught.value.code, bucket.objects[key]) == ("S0850", b"mine")
    assert not any(each.endswith("manifest.json") for each in bucket.objects)


def test_what_was_added_in_a_bucket_is_named(made: WrittenRelease, bucket: Bucket, tripos: Command) -> None:
    place = push(made.path, URL)
    bucket.objects[f"releases/{made.path.name}/spec/added.tripos"] = b"x"
    done = tripos("verify", place)
    assert done.code == 1 and "spec/added.tripos is not in the manifest" in done.out


def test_a_bucket_that_is_not_there_is_told(
    made: WrittenRelease, monkeypatch: pytest.MonkeyPatch, bucket: Bucket
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(TriposError) as caught:
        push(made.path, URL)
    assert caught.value.code == "S0850"
    assert "\n" not in caught.value.message and len(caught.value.message) < 300


def test_releasing_and_pushing_is_one_command(bucket: Bucket, tripos: Command, tmp_path: Path) -> None:
    done = tripos("release", str(LESSONS), "--to", str(tmp_path / "to"), "--push", URL)
    assert done.code == 0, done.err
    assert f"also    {URL}/lessons-1.2.3" in done.out
