"""Releases: written alike twice, verified, run with their digest in every row, and refused where they lie."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tripos.cli.main import run_command
from tripos.releases.descriptions import croissant_faults
from tripos.releases.frozen import canary_of
from tripos.releases.manifest import Manifest, canonical, checksum_line
from tripos.releases.opening import open_release
from tripos.releases.publish import ReleaseInput, WrittenRelease, make_release
from tripos.releases.signing import sign, signature_checks
from tripos.releases.verification import Verification, verify
from tripos.runs.compilation import find_spec
from tripos_compiler.errors import ExitCode, TriposError
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

ROOT = Path(__file__).parents[2]
LESSONS = ROOT / "tests/compat/previous/prompt_reworded"
SCHEMA = ROOT / "docs/release.schema.json"
TAMPERINGS = 200


def release(spec: Path, to: Path, data: tuple[str, ...] = (), **more: Any) -> WrittenRelease:
    found = find_spec(str(spec), data)
    compilation = found.compile()
    assert compilation.plan is not None, [each.message for each in compilation.diagnostics]
    return make_release(ReleaseInput(compilation, compilation.plan, found.folders, **more), to)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> WrittenRelease:
    return release(LESSONS, tmp_path_factory.mktemp("releases"))


@pytest.fixture
def copy(made: WrittenRelease, tmp_path: Path) -> Path:
    """A release that may be tampered with."""
    folder = tmp_path / made.path.name
    shutil.copytree(made.path, folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def commit_all(folder: Path) -> list[str | Path]:
    """Commit what is in a folder, as its first commit; return how git is called there."""
    git: list[str | Path] = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    return git


def wrong(found: Verification) -> list[str]:
    return [f"{each.what} {each.told}" for each in found.wrong]


def test_two_builds_from_different_folders_are_equal_byte_for_byte(made: WrittenRelease, tmp_path: Path) -> None:
    shutil.copytree(LESSONS, tmp_path / "elsewhere")
    again = release(tmp_path / "elsewhere", tmp_path / "to")
    assert contents(again.path) == contents(made.path)
    assert again.digest == made.digest


def test_a_release_that_is_there_already_is_left_as_it_is(made: WrittenRelease) -> None:
    assert not made.was_there
    assert release(LESSONS, made.path.parent).was_there


def test_a_release_is_never_changed(made: WrittenRelease, tmp_path: Path) -> None:
    shutil.copytree(LESSONS, tmp_path / "spec")
    (tmp_path / "spec/items.jsonl").write_text('{"level": "easy", "question": "1 + 1?", "answer": "2"}\n')
    before = contents(made.path)
    with pytest.raises(TriposError) as caught:
        release(tmp_path / "spec", made.path.parent)
    assert caught.value.code == "S0850"
    assert contents(made.path) == before
    assert [path.name for path in made.path.parent.iterdir()] == [made.path.name]


def test_what_was_released_is_verified_whole_and_every_item_bears_the_canary(made: WrittenRelease) -> None:
    found = verify(made.path)
    assert wrong(found) == []
    good = {check.what for check in found.checks if check.outcome == "good"}
    assert {"manifest.json", "plan", "croissant.json", "items of explain"} <= good
    assert {file.path for file in made.manifest.files} <= good
    table = pq.read_table(made.path / "items/explain.parquet")
    assert set(table["canary"].to_pylist()) == {canary_of("lessons")} == {made.manifest.canary}
    assert table["answer"].to_pylist() == ["42", "221", "437"]


def test_the_manifest_fits_its_published_schema(made: WrittenRelease) -> None:
    import jsonschema

    schema = Manifest.model_json_schema()
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        SCHEMA.write_text(json.dumps(schema, indent=2, sort_keys=True) + "\n", "utf-8")
    assert json.loads(SCHEMA.read_text("utf-8")) == schema
    jsonschema.validate(json.loads((made.path / "manifest.json").read_bytes()), schema)


def test_fields_with_the_names_of_other_columns_are_released(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"item_id": "A-1", "canary": "bird", "written_by": "Ann"}\n', "utf-8")
    spec = """
    benchmark quiz "1.0.0" {
      languages en
      license "MIT"
    }
    role candidate compared
    dataset row from "rows.jsonl" { item_id text, canary text, written_by text secret }
    scenario names {
      over row
      ask reply by candidate { prompt "{{ row.item_id }}: {{ row.canary }}?" }
      score right = reply.text == row.written_by
    }
    measure accuracy = mean(right)
    """
    (tmp_path / "quiz.tripos").write_text(spec, "utf-8")
    found = find_spec(str(tmp_path / "quiz.tripos"))
    compilation = found.compile()
    assert compilation.plan is not None
    released = make_release(ReleaseInput(compilation, compilation.plan, found.folders), tmp_path / "out")
    [row] = pq.read_table(released.path / "items/names.parquet").to_pylist()
    assert (row["field_item_id"], row["field_canary"], row["written_by"]) == ("A-1", "bird", "Ann")
    assert len(row["item_id"]) == 32 and row["canary"].startswith("tripos canary")
    assert wrong(verify(released.path)) == []


def test_the_card_is_one_of_the_hub_and_the_croissant_file_is_accepted(made: WrittenRelease) -> None:
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(made.path / "README.md")
    assert card.data.license == "cc-by-4.0"
    assert [each["config_name"] for each in card.data["configs"]] == ["explain"]
    assert croissant_faults(made.path / "croissant.json", made.manifest) == []
    assert json.loads((made.path / "croissant.json").read_bytes())["conformsTo"].endswith("/croissant/1.1")


def tampered(folder: Path, draw: random.Random) -> Iterator[tuple[str, Path | None]]:
    """Tampers with a file of a release, says which, and puts it back."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = draw.choice(files)
    was = path.read_bytes()
    match draw.choice(("bit", "cut", "more", "gone", "added", "renamed")):
        case "bit":
            at = draw.randrange(len(was))
            path.write_bytes(was[:at] + bytes([was[at] ^ (1 << draw.randrange(8))]) + was[at + 1 :])
        case "cut":
            path.write_bytes(was[: draw.randrange(len(was))])
        case "more":
            path.write_bytes(was + draw.choice((b"\n", b" ", b"x")))
        case "gone":
            path.unlink()
        case "added":
            added = path.parent / f"added{draw.randrange(9)}"
            added.write_bytes(was)
            yield added.relative_to(folder).as_posix(), None
            added.unlink()
            return
        case "renamed":
            other = path.with_name(f"{path.name}.old")
            path.rename(other)
            yield path.relative_to(folder).as_posix(), None
            other.rename(path)
            return
    yield path.relative_to(folder).as_posix(), None
    path.write_bytes(was)


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, str]:
    """A secret key for minisign, and the path of its public one."""
    import minisign

    pair = minisign.KeyPair.generate()
    (tmp_path / "key").write_bytes(bytes(pair.secret_key))
    (tmp_path / "key.pub").write_bytes(bytes(pair.public_key))
    return tmp_path / "key", str(tmp_path / "key.pub")


def test_each_of_200_tamperings_is_named(copy: Path, keys: tuple[Path, str]) -> None:
    secret, key = keys
    sign(copy / "manifest.json", secret, copy.name, {})
    unnamed = []
    for seed in range(TAMPERINGS):
        for name, _ in tampered(copy, random.Random(seed)):
            found = verify(copy, signed=signature_checks(copy / "manifest.json", key))
            told = wrong(found)
            # Of the manifest and its checksum nobody can tell which of the two was changed, but that one was; a
            # signature that is gone is one that the key finds nowhere.
            told += [
                each.replace("manifest.json", "manifest.sha256") for each in told if each.startswith("manifest.json")
            ]
            named = [each for each in told if each.startswith((name, "signature" if "minisig" in name else name))]
            if not named:
                unnamed.append((seed, name, told))
    assert unnamed == []
    assert wrong(verify(copy, signed=signature_checks(copy / "manifest.json", key))) == []


def test_the_digest_that_was_cited_tells_a_release_that_was_replaced(made: WrittenRelease) -> None:
    assert wrong(verify(made.path, expected=made.digest)) == []
    assert "not the one that was asked for" in wrong(verify(made.path, expected="0" * 64))[0]


def test_a_sources_that_compiles_to_another_plan_is_found(copy: Path) -> None:
    spec = copy / "spec/spec.tripos"
    spec.write_text(spec.read_text("utf-8").replace("temperature 0", "temperature 1"), "utf-8")
    said = json.loads((copy / "manifest.json").read_bytes())
    from tripos.releases.manifest import ReleasedFile, file_digest, spec_digest

    for each in said["files"]:
        if each["path"] == "spec/spec.tripos":
            each |= {"sha256": file_digest(spec), "bytes": spec.stat().st_size}
    said["spec"] = spec_digest(tuple(ReleasedFile(**each) for each in said["files"]))
    raw = canonical(said)
    (copy / "manifest.json").write_bytes(raw)
    (copy / "manifest.sha256").write_bytes(checksum_line(raw))
    assert wrong(verify(copy)) == ["plan the sources compile to another plan"]


def test_debians_minisign_accepts_the_signature(copy: Path, tmp_path: Path) -> None:
    if shutil.which("minisign") is None:
        pytest.skip("minisign is not installed")
    public, secret = tmp_path / "lab.pub", tmp_path / "lab.key"
    subprocess.run(["minisign", "-G", "-W", "-p", public, "-s", secret], check=True, capture_output=True)
    sign(copy / "manifest.json", secret, copy.name, {})
    said = subprocess.run(
        ["minisign", "-V", "-p", public, "-m", copy / "manifest.json"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert copy.name in said.stdout
    assert [check.outcome for check in signature_checks(copy / "manifest.json", str(public))] == ["good"]


@pytest.mark.parametrize(
    ("line", "outcome"), [(0, "good"), (1, "wrong"), (2, "wrong"), (3, "wrong")], ids=["untrusted", "1", "trusted", "3"]
)
def test_all_but_the_untrusted_comment_of_a_minisign_signature_is_protected(
    copy: Path, keys: tuple[Path, str], line: int, outcome: str
) -> None:
    secret, public = keys
    sign(copy / "manifest.json", secret, copy.name, {})
    signature = copy / "manifest.json.minisig"
    lines = signature.read_text("utf-8").split("\n")
    changed = lines[line][:-5] + ("A" if lines[line][-5] != "A" else "B") + lines[line][-4:]
    signature.write_text("\n".join([*lines[:line], changed, *lines[line + 1 :]]), "utf-8")
    assert [check.outcome for check in signature_checks(copy / "manifest.json", public)] == [outcome]
    if shutil.which("minisign") is not None:
        command = ["minisign", "-V", "-p", public, "-m", copy / "manifest.json"]
        said = subprocess.run(command, capture_output=True, check=False)
        assert (said.returncode == 0) == (outcome == "good")


def test_an_ssh_key_signs_and_another_does_not_hold(copy: Path, tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    for name in ("mine", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name]
        subprocess.run(command, check=True, capture_output=True)
    sign(copy / "manifest.json", tmp_path / "mine", copy.name, {})
    outcomes = [
        signature_checks(copy / "manifest.json", str(tmp_path / f"{name}.pub"))[0].outcome for name in ("mine", "other")
    ]
    assert outcomes == ["good", "wrong"]
    assert signature_checks(copy / "manifest.json", None)[0].outcome == "unchecked"


def test_what_is_no_public_key_says_nothing_against_a_release(copy: Path, keys: tuple[Path, str]) -> None:
    secret, _ = keys
    sign(copy / "manifest.json", secret, copy.name, {})
    for given in (f"{secret}.nothing", str(secret)):
        with pytest.raises(TriposError) as caught:
            signature_checks(copy / "manifest.json", given)
        assert caught.value.code == "S0856"


@pytest.mark.parametrize("more", [b"\n", b" ", b"another line\n"])
def test_a_signature_with_something_after_it_was_changed(copy: Path, keys: tuple[Path, str], more: bytes) -> None:
    name = sign(copy / "manifest.json", keys[0], copy.name, {})
    (copy / name).write_bytes((copy / name).read_bytes() + more)
    assert [check.outcome for check in signature_checks(copy / "manifest.json", None)] == ["wrong"]


def test_an_unsigned_release_is_shown_as_unsigned(made: WrittenRelease, tmp_path: Path) -> None:
    [check] = signature_checks(made.path / "manifest.json", None)
    assert (check.outcome, check.told) == ("unchecked", "there is none: it is unsigned")
    (tmp_path / "key.pub").write_text(
        "untrusted comment: x\nRWTXadvsRbCIoQhio+9qQEYUc9eNBDku9IM9VQu/rVvyMcR4sAq2pwVD\n"
    )
    assert signature_checks(made.path / "manifest.json", str(tmp_path / "key.pub"))[0].outcome == "wrong"


def test_every_row_of_a_run_bears_the_digest(
    made: WrittenRelease, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "results"
    command = f"run {made.path} --model mock/careful --role judge=mock/careless --store {store}"
    assert run_command(command.split()) == ExitCode.SUCCESS, capsys.readouterr().err
    connection = connect(Store.open(store, create=False))
    with connection:
        for table in ("runs", "samples", "judgements", "scores", "measures"):
            found = connection.execute(f"select distinct release from main.{table}").fetchall()
            assert found == [(made.digest,)], table


def test_a_run_of_a_working_tree_bears_the_commit_and_whether_the_spec_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(LESSONS, tmp_path / "tree")
    git = commit_all(tmp_path / "tree")
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    store = tmp_path / "results"
    command = f"run {tmp_path / 'tree'} --model mock/careful --role judge=mock/careless --limit 1 --store {store}"
    assert run_command(command.split()) == ExitCode.SUCCESS
    (tmp_path / "tree/notes.txt").write_text("not committed")
    assert run_command(command.split()) == ExitCode.SUCCESS
    capsys.readouterr()
    connection = connect(Store.open(store, create=False))
    with connection:
        query = "select release, git_commit, git_dirty from main.runs order by started_at"
        assert connection.execute(query).fetchall() == [(None, commit, False), (None, commit, True)]


@pytest.mark.parametrize("name", ["plan.json", "spec/items.jsonl"])
def test_a_damaged_release_is_not_run(copy: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / name).write_bytes((copy / name).read_bytes() + b"\n")
    assert run_command(["plan", str(copy)]) == 1
    assert "S0855" in capsys.readouterr().err


def test_data_of_others_is_named_and_not_copied(tmp_path: Path) -> None:
    (tmp_path / "spec").mkdir()
    (tmp_path / "data").mkdir()
    shutil.copy(LESSONS / "spec.tripos", tmp_path / "spec/spec.tripos")
    shutil.copy(LESSONS / "items.jsonl", tmp_path / "data/items.jsonl")
    made = release(tmp_path / "spec", tmp_path / "to", data=(str(tmp_path / "data"),))
    [outer] = made.manifest.external
    assert (outer.path, outer.rows) == ("items.jsonl", 3)
    assert not [name for name in contents(made.path) if "items" in name]
    assert [check.what for check in verify(made.path).checks if check.outcome == "unchecked"] == ["plan"]
    assert wrong(verify(made.path, [tmp_path / "data"])) == []
    (tmp_path / "spec/release.toml").write_text('[data."items.jsonl"]\nlicense = "MIT"\ncopy = true\n')
    copied = release(tmp_path / "spec", tmp_path / "other", data=(str(tmp_path / "data"),))
    assert "data/items.jsonl" in contents(copied.path)
    assert wrong(verify(copied.path)) == []


@pytest.mark.parametrize(("licence", "told"), [("", "has no licence"), ('license "Apache 2"', "no SPDX expression")])
def test_a_licence_that_spdx_does_not_know_is_refused(tmp_path: Path, licence: str, told: str) -> None:
    shutil.copytree(LESSONS, tmp_path / "spec")
    spec = tmp_path / "spec/spec.tripos"
    spec.write_text(spec.read_text("utf-8").replace('license   "CC-BY-4.0"', licence), "utf-8")
    with pytest.raises(TriposError, match=told) as caught:
        release(tmp_path / "spec", tmp_path / "to")
    assert caught.value.code == "S0852"


def test_a_diff_tells_programs_and_pull_requests_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (str(ROOT / "tests/compat" / side / "temperature") for side in ("previous", "current"))
    assert run_command(["diff", before, after, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["part"], said["demands"]) == ("major", "2.0.0")
    assert said["changes"][0]["what"] == "temperature 0.0 → 0.7"
    assert said["changes"][0]["can_change_scores"] is True
    assert run_command(["diff", before, after, "--format", "markdown"]) == 0
    assert "| major | settings `explain.reply` | temperature 0.0 → 0.7 | yes |" in capsys.readouterr().out


def test_a_diff_takes_a_revision_of_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(LESSONS, tmp_path / "specs/lessons")
    commit_all(tmp_path)
    spec = tmp_path / "specs/lessons/spec.tripos"
    monkeypatch.chdir(tmp_path)
    against = ["check", "specs/lessons", "--against", "HEAD:specs/lessons"]
    assert run_command(against) == 0
    spec.write_text(spec.read_text("utf-8").replace("Lessons", "Lectures"), "utf-8")
    assert (run_command(against), "error[E0901]" in capsys.readouterr().err) == (2, True)
    for given in ("HEAD:specs/lessons/spec.tripos", "HEAD:specs/lessons"):
        assert run_command(["diff", given, "specs/lessons", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["part"] == "patch"
    monkeypatch.chdir(tmp_path / "specs")
    assert run_command(["diff", "HEAD:specs/lessons", "lessons", "--format", "json"]) == 0
    assert run_command(["diff", "HEAD:specs/nothing", "lessons", "--format", "json"]) == 2


def test_a_revision_of_a_spec_has_what_it_has_in_common_with_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(LESSONS, tmp_path / "specs/lessons")
    (tmp_path / "specs/common").mkdir()
    (tmp_path / "specs/common/roles.tripos").write_text("role candidate compared\nrole judge\n", "utf-8")
    spec = tmp_path / "specs/lessons/spec.tripos"
    text = spec.read_text("utf-8").replace("role candidate compared\nrole judge\n", 'use "../common/roles.tripos"\n')
    spec.write_text(text, "utf-8")
    commit_all(tmp_path)
    (tmp_path / "specs/common/roles.tripos").write_text("role candidate compared\nrole judge panel\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run_command(["diff", "HEAD:specs/lessons", "specs/lessons", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["kind"] == "role"


def test_a_folder_that_is_no_release_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(TriposError) as caught:
        open_release(tmp_path)
    assert caught.value.code == "S0851"


def withholding(folder: Path) -> Path:
    """Return a spec that withholds two of its three items, over which a second scenario runs too."""
    shutil.copytree(LESSONS, folder)
    spec = folder / "spec.tripos"
    more = 'scenario again {\n  over items\n  context level\n  ask reply by candidate { prompt "{{ items.question }}" }\n  score short = words(reply.text) < 9\n}\n'
    text = spec.read_text("utf-8").replace("seed 7", "seed 7\n  withheld")
    spec.write_text(
        text.replace("measure accuracy", f"{more}\nmeasure accuracy").replace(
            "take 1 per level", "take 1 per scenario, level"
        ),
        "utf-8",
    )
    return folder


def test_no_text_of_a_withheld_item_is_in_a_release(tmp_path: Path) -> None:
    made = release(withholding(tmp_path / "spec"), tmp_path / "to")
    held = {item for each in made.manifest.items for item in each.withheld}
    rows = pq.read_table(made.path / "items/explain.parquet").to_pylist()
    assert held and not held & {row["item_id"] for row in rows}
    assert [(each.rows, len(each.withheld) + len(rows)) for each in made.manifest.items] == [(3, 3), (3, 3)]
    texts = [json.loads(line)["question"] for line in (tmp_path / "spec/items.jsonl").read_text("utf-8").splitlines()]
    hidden = [text for text in texts if text not in {row["question"] for row in rows}]
    assert len(hidden) == len(held)
    for name in contents(made.path):
        shown = str(pq.read_table(made.path / name).to_pylist()) if name.endswith(".parquet") else ""
        raw = (made.path / name).read_bytes().decode(errors="replace")
        assert not [text for text in hidden if text in raw or text in shown], name


def test_whoever_has_the_withheld_items_proves_that_they_are_unchanged(tmp_path: Path) -> None:
    made = release(withholding(tmp_path / "spec"), tmp_path / "to")
    assert "plan" in {check.what for check in verify(made.path).checks if check.outcome == "unchecked"}
    found = verify(made.path, [tmp_path / "spec"])
    assert wrong(found) == []
    assert "items of explain" in {check.what for check in found.checks if check.outcome == "good"}
    data = tmp_path / "spec/items.jsonl"
    data.write_text(data.read_text("utf-8").replace("42", "43"), "utf-8")
    assert "plan" in {
        check.what for check in verify(made.path, [tmp_path / "spec"]).checks if check.outcome == "unchecked"
    }
