"""Items that models wrote are frozen in a release: a run of it makes none."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import Command
from tests.releases.test_extending import query
from tripos.releases.frozen import frozen_items
from tripos.releases.manifest import canonical, checksum_line
from tripos.releases.verification import verify
from tripos.runs.compilation import find_spec
from tripos_runtime.datasets.cases import CaseSource

SPEC = """\
benchmark written "1.0.0" {
  license "MIT"
  languages en
}
role candidate compared
role author
axis level { easy, hard }
dataset item by author {
  context level
  count   2
  prompt  "Write an exercise that is {{ level }}."
  returns { question text, solution text secret, topics set<text> }
}
scenario exercises {
  context level
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.solution)
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "written.tripos").write_text(SPEC, "utf-8")
    return tmp_path


def test_items_that_nobody_has_made_yet_cannot_be_released(folder: Path, tripos: Command) -> None:
    done = tripos("release", "written.tripos")
    assert done.code == 2
    assert "S0854" in done.err
    assert not list((folder / "releases").glob("*"))


def test_a_run_of_a_release_makes_no_items_and_takes_those_that_were_frozen(
    folder: Path, tripos: Command, once: Command
) -> None:
    models = ("--model", "mock/careful", "--role")
    assert once("run", "written.tripos", *models, "author=mock/author").code == 0
    assert once("release", "written.tripos").code == 0
    released = folder / "releases/written-1.0.0"
    assert verify(released).wrong == ()
    rows = [json.loads(line) for line in (released / "made/item.jsonl").read_text("utf-8").splitlines()]
    assert {row["written_by"] for row in rows} == {"mock/author"}
    assert all(row["written_at"] for row in rows)
    assert once("run", str(released), *models, "author=mock/careless", "--store", "other").code == 0
    listed = "select item_id, written_by from main.items order by all"
    assert query(folder / "other", listed) == query(folder / "results", listed) != []
    assert query(folder / "other", "select distinct role from main.samples") == [("candidate",)]


def test_a_row_that_was_tampered_with_is_named(folder: Path, tripos: Command, once: Command) -> None:
    assert once("run", "written.tripos", "--model", "mock/careful", "--role", "author=mock/author").code == 0
    assert once("release", "written.tripos").code == 0
    frozen = folder / "releases/written-1.0.0/made/item.jsonl"
    frozen.chmod(0o644)
    frozen.write_bytes(frozen.read_bytes().replace(b"mock/author", b"human/alice", 1))
    assert [each.what for each in verify(folder / "releases/written-1.0.0").wrong] == ["made/item.jsonl"]
    assert tripos("run", "releases/written-1.0.0", "--model", "mock/careful").code == 1


def refit(release: Path) -> None:
    """Have the manifest of a release fit its files, as somebody who forges them would."""
    said = json.loads((release / "manifest.json").read_bytes())
    for each in said["files"]:
        raw = (release / each["path"]).read_bytes()
        each |= {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}
    raw = canonical(said)
    (release / "manifest.json").write_bytes(raw)
    (release / "manifest.sha256").write_bytes(checksum_line(raw))


FORGED_LINES = (b"not JSON", b"[1]", b"{}", b'"' + b"\xff" * 4, b"[" * 100_000, b'{"place": 1, "values": 1}', b"null")


def test_rows_that_somebody_forged_are_damage_and_no_internal_error(
    folder: Path, tripos: Command, once: Command
) -> None:
    assert once("run", "written.tripos", "--model", "mock/careful", "--role", "author=mock/author").code == 0
    assert once("release", "written.tripos").code == 0
    release = folder / "releases/written-1.0.0"
    for path in (release, *release.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for line in FORGED_LINES:
        (release / "made/item.jsonl").write_bytes(line + b"\n")
        refit(release)
        for verb in (("verify",), ("plan",), ("run", "--model", "mock/careful", "--store", "other")):
            done = tripos(verb[0], str(release), *verb[1:])
            assert "internal error" not in done.err, (verb, line[:30], done.err)
            assert done.code != 0 or verb == ("plan",), (verb, line[:30], done.out)


WITHHOLDING = SPEC + "subset private {\n  take 2 per scenario\n  seed 7\n  withheld\n}\n"
RUN = ("--model", "mock/careful", "--role", "author=mock/author")


def withhold(folder: Path, tripos: Command) -> tuple[Path, Path]:
    """Return a release of items that a model wrote, of which two are withheld, and the folder with those."""
    (folder / "written.tripos").write_text(WITHHOLDING, "utf-8")
    assert tripos("run", "written.tripos", *RUN).code == 0
    done = tripos("release", "written.tripos")
    assert done.code == 0, done.err
    assert "written-1.0.0.withheld" in done.out
    return folder / "releases/written-1.0.0", folder / "releases/written-1.0.0.withheld"


def test_the_text_of_items_that_a_model_wrote_and_that_are_withheld_is_in_no_file(
    folder: Path, tripos: Command
) -> None:
    release, private = withhold(folder, tripos)
    hidden = [json.loads(line)["values"] for line in (private / "made/item.jsonl").read_text("utf-8").splitlines()]
    assert len(hidden) == 2
    for path in release.rglob("*"):
        if path.is_file():
            raw = path.read_bytes().decode(errors="replace")
            shown = str(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else ""
            assert not [each for each in hidden if each["question"] in raw + shown], path
    manifest = json.loads((release / "manifest.json").read_bytes())
    assert len(manifest["items"][0]["withheld"]) == 2 and manifest["items"][0]["rows"] == 4
    assert pq.read_table(release / "items/exercises.parquet").num_rows == 2


def test_whoever_has_the_withheld_items_verifies_and_runs_them(folder: Path, tripos: Command, once: Command) -> None:
    release, private = withhold(folder, tripos)
    alone = tripos("verify", str(release))
    assert alone.code == 0 and "not checked: plan: it needs data that is not here: `made/item.jsonl`" in alone.out
    whole = tripos("verify", str(release), "--data", str(private))
    assert (whole.code, "not checked: plan" in whole.out) == (0, False)
    public = tripos("run", str(release), *RUN, "--store", "public")
    assert (public.code, "on 2 of 4 items, 2 withheld by the release" in public.err) == (0, True)
    assert once("run", str(release), *RUN, "--store", "other", "--data", str(private)).code == 0
    listed = "select item_id, written_by from main.items order by all"
    assert query(folder / "other", listed) == query(folder / "results", listed) != []
    assert set(query(folder / "public", listed)) < set(query(folder / "other", listed))


def test_other_items_are_not_passed_off_for_those_that_are_withheld(folder: Path, tripos: Command) -> None:
    release, private = withhold(folder, tripos)
    kept = private / "made/item.jsonl"
    kept.write_bytes(kept.read_bytes().replace(b'"question":"', b'"question":"Not ', 1))
    assert "not checked: plan" in tripos("verify", str(release), "--data", str(private)).out
    assert tripos("run", str(release), *RUN, "--store", "other", "--data", str(private)).code == 2


def extend(folder: Path, tripos: Command) -> tuple[Path, Path]:
    """Return a spec that extends a release of which items are withheld, and the folder with those."""
    release, private = withhold(folder, tripos)
    digest = verify(release).digest
    (folder / "more").mkdir()
    (folder / "more/more.tripos").write_text(
        f'benchmark more "1.0.0" {{\n  license "MIT"\n  languages en\n}}\nuse release "written@1.0" sha256 "{digest}"\n'
    )
    return folder / "more", private


def test_the_release_of_an_extension_says_that_withheld_items_are_not_in_it(folder: Path, tripos: Command) -> None:
    spec, private = extend(folder, tripos)
    done = tripos("release", str(spec), "--to", "out", "--data", str(private))
    assert "needs   made/item.jsonl" in done.out, done.err
    alone = tripos("verify", "out/more-1.0.0")
    assert alone.code == 0 and "not checked: plan: it needs data that is not here: `made/item.jsonl`" in alone.out
    whole = tripos("verify", "out/more-1.0.0", "--data", str(private))
    assert (whole.code, "not checked: plan" in whole.out) == (0, False)


def test_replies_are_taken_in_for_items_that_an_extended_release_froze(
    folder: Path, tripos: Command, once: Command
) -> None:
    spec, private = extend(folder, tripos)
    assert once("run", str(spec), *RUN, "--data", str(private), "--store", "first").code == 0
    listed = query(folder / "first", "select distinct item_id from main.scores where scenario = 'exercises'")
    rows = [json.dumps({"scenario": "exercises", "item_id": item, "reply": "42", "model": "me"}) for (item,) in listed]
    (folder / "replies.jsonl").write_text("\n".join(rows) + "\n")
    done = tripos(
        *("import", "samples", "replies.jsonl", "--spec", str(spec), "--data", str(private), "--store", "second")
    )
    assert done.code == 0, done.err
    assert len(listed) == 4


def test_what_was_made_from_withheld_items_is_not_released(folder: Path, tripos: Command, once: Command) -> None:
    more = (
        "dataset variant by author from item as other {\n"
        '  prompt  "Write it anew: {{ other.question }}"\n'
        "  returns { anew text }\n}\n"
        "scenario again {\n  over variant\n"
        '  ask reply by candidate { prompt "{{ variant.anew }}" }\n  score short = words(reply.text) < 9\n}\n'
    )
    (folder / "written.tripos").write_text(WITHHOLDING + more, "utf-8")
    assert once("run", "written.tripos", *RUN).code == 0
    done = tripos("release", "written.tripos")
    assert (done.code, "S0853" in done.err) == (2, True)
    assert not list((folder / "releases").glob("*"))


def test_a_plan_of_a_release_counts_no_calls_to_whoever_wrote_its_items(
    folder: Path, tripos: Command, once: Command
) -> None:
    assert "author" in tripos("plan", "written.tripos").out
    assert once("run", "written.tripos", *RUN).code == 0
    assert once("release", "written.tripos").code == 0
    done = tripos("plan", "releases/written-1.0.0")
    assert done.code == 0, done.err
    assert "author" not in done.out and "data set item" not in done.out
    foreseen = tripos("run", "releases/written-1.0.0", *RUN, "--store", "other", "--dry-run")
    assert foreseen.code == 0 and "author" not in foreseen.out


def test_replies_to_frozen_items_are_imported(folder: Path, tripos: Command, once: Command) -> None:
    assert once("run", "written.tripos", *RUN).code == 0
    assert once("release", "written.tripos").code == 0
    rows = [json.loads(line) for line in (folder / "releases/written-1.0.0/made/item.jsonl").read_bytes().splitlines()]
    items = query(folder / "results", "select item_id from main.items order by all")
    replies = [{"scenario": "exercises", "item_id": item, "reply": "It is 4."} for (item,) in items]
    assert len(replies) == len(rows) == 4
    (folder / "replies.jsonl").write_text("\n".join(map(json.dumps, replies)), "utf-8")
    given = ("replies.jsonl", "--model", "theirs/model", "--store", "other")
    done = tripos("import", "samples", *given, "--spec", "releases/written-1.0.0")
    assert done.code == 0, done.err
    assert "4 replies to 4 items" in done.out


def test_a_version_that_hides_items_which_were_written_anew_is_refused(
    folder: Path, tripos: Command, once: Command
) -> None:
    assert once("run", "written.tripos", *RUN).code == 0
    assert once("release", "written.tripos").code == 0
    (folder / "written.tripos").write_text(SPEC.replace('"1.0.0"', '"1.0.1"').replace('"MIT"', '"Apache-2.0"'), "utf-8")
    again = ("--model", "mock/careful", "--role", "author=mock/careless", "--store", "again")
    assert once("run", "written.tripos", *again).code == 0
    done = tripos("release", "written.tripos", "--store", "again")
    assert (done.code, "E0901" in done.err, "written anew" in done.err) == (2, True, True), done.err
    assert tripos("release", "written.tripos").code == 0


def test_an_item_that_another_release_holds_back_is_in_no_file(tmp_path: Path) -> None:
    spec = SPEC.replace("role author\n", "").replace("axis level { easy, hard }\n", "")
    head, tail = spec.split("dataset item", 1)
    text = (
        head
        + 'dataset item from "rows.jsonl" { question text, solution text secret }\n'
        + tail[tail.index("scenario") :]
    )
    (tmp_path / "written.tripos").write_text(text.replace("  context level\n", ""), "utf-8")
    rows = [{"question": f"Which is number {number}?", "solution": str(number)} for number in range(3)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    found = find_spec(str(tmp_path / "written.tripos"))
    plan = found.compile().plan
    assert plan is not None
    source = CaseSource(plan, found.folders, (str(tmp_path / "written.tripos"),))
    [whole] = frozen_items(source, "canary")
    held = whole.table["item_id"][0].as_py()
    [frozen] = frozen_items(source, "canary", frozenset({held}))
    assert (frozen.rows, frozen.withheld, frozen.digest) == (3, (held,), whole.digest)
    assert frozen.table["item_id"].to_pylist() == whole.table["item_id"].to_pylist()[1:]
