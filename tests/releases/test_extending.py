"""A spec that extends releases: what it takes of them, what is asked again, and what its own release holds."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos.lsp.documents import Documents
from tripos.lsp.session import OpenBenchmark
from tripos.releases.locations import pack
from tripos.releases.verification import verify
from tripos.runs.compilation import find_spec
from tripos_compiler.errors import ExitCode
from tripos_compiler.language.plan_diff import find_changes
from tripos_compiler.plan import Plan
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SUMS = """\
benchmark sums "1.0.0" {
  title     "Sums"
  license   "MIT"
  languages en
}
role candidate compared
axis size { small, large }
dataset sums from "sums.jsonl" { question text, answer text secret }
function near from "near.py:near"
scenario sums {
  over sums as item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = near(reply.text, item.answer)
}
scenario sized {
  context size
  ask reply by candidate { prompt "Name a {{ size }} number." }
  score right = words(reply.text) > 0
}
subset few { take 1 per scenario }
measure accuracy = mean(right)
measure summed   = mean(sums.right)
"""
ROWS = '{"question": "What is 6 * 7?", "answer": "42"}\n{"question": "What is 13 * 17?", "answer": "221"}\n'
NEAR = "def near(text: str, answer: str) -> bool:\n    return answer in text\n"
HEAD = 'benchmark more "1.0.0" {\n  license "MIT"\n  languages en\n}\n'
OWN = """
scenario own {
  ask reply by candidate { prompt "What is 2 * 21?" }
  score right = contains(reply.text, "42")
}
"""
MODEL = ("--model", "mock/careful")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, once: Command) -> Path:
    """A folder with the release of `sums`, whose spec is gone."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "origin", {"sums.tripos": SUMS, "sums.jsonl": ROWS, "near.py": NEAR})
    done = once("release", "origin/sums.tripos")
    assert done.code == 0, done.err
    shutil.rmtree(tmp_path / "origin")
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def digest_of(path: Path) -> str:
    digest = verify(path).digest
    assert digest is not None
    return digest


def using(folder: Path, more: str = "", name: str = "sums") -> str:
    """Return a line that uses a release of a folder, with its digest."""
    return f'use release "{name}@1.0" sha256 "{digest_of(folder / f"releases/{name}-1.0.0")}" {more}\n'


def extend(folder: Path, more: str = "", own: str = OWN, name: str = "sums") -> Path:
    """Write a spec that extends a release of a folder."""
    write(folder / "more", {"more.tripos": HEAD + using(folder, more, name) + own})
    return folder / "more"


def plan_at(path: Path) -> Plan:
    compilation = find_spec(str(path)).compile()
    assert compilation.plan is not None, [(each.code, each.message) for each in compilation.diagnostics]
    return compilation.plan


def query(store: Path, text: str) -> list[tuple[Any, ...]]:
    connection = connect(Store.open(store, create=False))
    with connection:
        return connection.execute(text).fetchall()


def loosen(folder: Path) -> None:
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_named_value_of_a_release_comes_with_what_is_taken(folder: Path, tripos: Command, once: Command) -> None:
    asks = SUMS.replace("benchmark sums", "benchmark polite").replace(
        "{{ item.question }}", "{{ kindly(item.question) }}"
    )
    asks += 'let kindly(text: text) = "Please. {{ text }}"\n'
    write(folder / "polite", {"polite.tripos": asks, "sums.jsonl": ROWS, "near.py": NEAR})
    assert once("release", "polite").code == 0
    own = OWN.replace("What is 2 * 21?", "{{ kindly(language) }}")
    use = using(folder, "{ take scenarios sums }", "polite")
    write(folder / "more", {"more.tripos": HEAD + use + own})
    assert plan_at(folder / "releases/polite-1.0.0").fingerprints & plan_at(folder / "more").fingerprints
    mine = 'let kindly(text: text) = "At once! {{ text }}"\n'
    write(folder / "more", {"more.tripos": HEAD + use + own + mine})
    assert "E0917" in tripos("check", "more").err


def test_what_is_taken_of_a_release_has_the_fingerprints_that_it_has_there(folder: Path, tripos: Command) -> None:
    before, after = plan_at(folder / "releases/sums-1.0.0"), plan_at(extend(folder))
    assert before.fingerprints < after.fingerprints
    assert [(each.name, each.version, each.scenarios) for each in after.extends] == [
        ("sums", "1.0.0", ("sized", "sums"))
    ]
    digest = digest_of(folder / "releases/sums-1.0.0")
    assert f"extends sums 1.0.0, {digest[:12]}" in tripos("plan", "more").out
    said = tripos("diff", "releases/sums-1.0.0", "more").out
    assert said.startswith("sums 1.0.0 → more 1.0.0\nmore extends sums")


def test_what_a_run_of_the_release_kept_is_not_asked_again(folder: Path, tripos: Command, once: Command) -> None:
    assert once("run", "releases/sums-1.0.0", *MODEL).code == 0
    done = tripos("run", str(extend(folder)), *MODEL)
    assert "finished: 1 call asked, 4 reused" in done.err
    shown = query(folder / "results", "select scenario::varchar, count(*) from more.scores group by all order by all")
    assert shown == [("own", 1), ("sized", 2), ("sums", 2)]


def test_what_a_run_of_the_extension_kept_counts_for_the_release(folder: Path, tripos: Command, once: Command) -> None:
    assert once("run", str(extend(folder)), *MODEL).code == 0
    assert "finished: 0 calls asked, 4 reused" in tripos("run", "releases/sums-1.0.0", *MODEL).err
    shown = query(folder / "results", "select scenario::varchar, count(*) from sums.scores group by all order by all")
    assert shown == [("sized", 2), ("sums", 2)]


def test_only_what_is_taken_and_what_it_needs_is_in_the_plan(folder: Path) -> None:
    plan = plan_at(extend(folder, "{ take measures summed }"))
    assert [each.name for each in plan.scenarios] == ["own", "sums"]
    assert [each.name for each in plan.measures] == ["summed"]
    assert [each.name for each in plan.plugins] == ["near"]
    assert plan.axes == () or [axis.name for axis in plan.axes] == ["language"]
    assert plan.subsets == ()


def test_values_are_added_at_the_end_of_an_axis(folder: Path) -> None:
    plan = plan_at(extend(folder, "{\n  add to size { huge }\n}"))
    size = next(axis for axis in plan.axes if axis.name == "size")
    assert [value.name for value in size.values] == ["small", "large", "huge"]
    assert next(each.cells for each in plan.scenarios if each.name == "sized") == 3


@pytest.fixture
def grouped(folder: Path, once: Command) -> str:
    """The name of a second release there, of `sums` with a group in its axis."""
    spec = SUMS.replace("benchmark sums", "benchmark grouped").replace("large }", "group big { large } }")
    write(folder / "origin", {"grouped.tripos": spec, "sums.jsonl": ROWS, "near.py": NEAR})
    done = once("release", "origin/grouped.tripos")
    assert done.code == 0, done.err
    shutil.rmtree(folder / "origin")
    return "grouped"


def test_values_are_added_to_a_group_of_an_axis(folder: Path, grouped: str) -> None:
    taken = "{\n  add to size { group big { huge }\n group big { vast }\n tiny }\n}"
    size = next(axis for axis in plan_at(extend(folder, taken, name=grouped)).axes if axis.name == "size")
    named = [(value.name, value.group) for value in size.values]
    assert named == [("small", None), ("large", "big"), ("huge", "big"), ("vast", "big"), ("tiny", None)]


def test_a_condition_of_a_group_of_the_release_stays_as_it_is(folder: Path, grouped: str, tripos: Command) -> None:
    more = "{\n  add to size { group big when language == en { huge } }\n}"
    done = tripos("check", str(extend(folder, more, name=grouped)))
    assert done.code == ExitCode.USAGE
    assert "E0202" in done.err
    assert "the group `big` of grouped 1.0.0 has a condition and labels of its own" in " ".join(done.err.split())


def test_a_subset_of_the_release_is_drawn_from_its_scenarios_alone(folder: Path, once: Command) -> None:
    assert once("run", "releases/sums-1.0.0", "--subset", "few", *MODEL, "--store", "theirs").code == 0
    assert once("run", str(extend(folder)), "--subset", "few", *MODEL, "--store", "ours").code == 0
    listed = "select scenario, item_id from main.run_items order by all"
    assert query(folder / "ours", listed) == query(folder / "theirs", listed) != []


def test_a_release_holds_those_that_it_extends_and_is_verified_and_run_alone(folder: Path, tripos: Command) -> None:
    extend(folder)
    done = tripos("release", "more", "--to", "out")
    assert done.code == 0, done.err
    (folder / "elsewhere").mkdir()
    released = (folder / "out/more-1.0.0").rename(folder / "elsewhere/more-1.0.0")
    shutil.rmtree(folder / "releases")
    found = verify(released)
    assert found.wrong == ()
    assert "the sources compile to it" in [each.told for each in found.checks]
    assert verify(released / "releases/sums-1.0.0").wrong == ()
    manifest = json.loads((released / "manifest.json").read_bytes())
    assert [(each["name"], each["path"]) for each in manifest["extends"]] == [("sums", "releases/sums-1.0.0")]
    assert "finished: 5 calls asked" in tripos("run", str(released), *MODEL).err
    assert query(folder / "results", "select count(*) from main.samples where release is null") == [(0,)]


def test_a_release_that_extends_is_the_same_from_another_folder(folder: Path, once: Command) -> None:
    extend(folder)
    assert once("release", "more", "--to", "out").code == 0
    shutil.copytree(folder / "more", folder / "deep/down/more")
    assert once("release", "deep/down/more", "--to", "again").code == 0
    assert digest_of(folder / "out/more-1.0.0") == digest_of(folder / "again/more-1.0.0")


def test_a_file_of_an_extended_release_that_was_tampered_with_is_named(
    folder: Path, tripos: Command, once: Command
) -> None:
    extend(folder)
    assert once("release", "more", "--to", "out").code == 0
    loosen(folder / "out")
    (folder / "out/more-1.0.0/releases/sums-1.0.0/spec/near.py").write_text(NEAR + "\n", "utf-8")
    wrong = [each.what for each in verify(folder / "out/more-1.0.0").wrong]
    assert wrong == ["releases/sums-1.0.0/spec/near.py"]
    assert tripos("run", "out/more-1.0.0", *MODEL).code == 1


def test_a_release_is_not_made_of_a_spec_that_does_not_say_the_digest(folder: Path, tripos: Command) -> None:
    write(folder / "more", {"more.tripos": HEAD + 'use release "sums@1.0"\n' + OWN})
    checked = tripos("check", "more")
    assert checked.code == 0
    assert digest_of(folder / "releases/sums-1.0.0") in checked.err
    done = tripos("release", "more", "--to", "out")
    assert done.code == 2
    assert "S0870" in done.err
    assert not (folder / "out").exists()


def test_a_damaged_release_is_refused_and_its_file_is_named(folder: Path, tripos: Command) -> None:
    extend(folder)
    loosen(folder / "releases")
    (folder / "releases/sums-1.0.0/spec/sums.jsonl").write_text(ROWS * 2, "utf-8")
    done = tripos("check", "more")
    assert done.code == 2
    assert "E0914" in done.err
    assert "spec/sums.jsonl" in done.err
    assert "tripos verify" in done.err


def test_the_highest_version_that_fits_is_taken_and_versions_that_there_are_are_told(
    folder: Path, tripos: Command
) -> None:
    for version in ("1.0.9", "1.0.10", "1.1.0"):
        text = SUMS.replace('"1.0.0"', f'"{version}"').replace('"Sums"', f'"Sums {version}"')
        write(folder / version, {"sums.tripos": text, "sums.jsonl": ROWS, "near.py": NEAR})
        assert tripos("release", f"{version}/sums.tripos").code == 0
    for asked, found in (("1.0", "1.0.10"), ("1", "1.1.0"), ("1.0.9", "1.0.9")):
        write(folder / "more", {"more.tripos": HEAD + f'use release "sums@{asked}"\n' + OWN})
        assert [each.version for each in plan_at(folder / "more").extends] == [found]
    write(folder / "more", {"more.tripos": HEAD + 'use release "sums@2.0"\n' + OWN})
    done = tripos("check", "more")
    assert "E0912" in done.err
    assert "there is 1.1.0, 1.0.10, 1.0.9, 1.0.0" in done.err


def test_another_digest_is_refused_and_both_are_told(folder: Path, tripos: Command) -> None:
    write(folder / "more", {"more.tripos": HEAD + f'use release "sums@1.0" sha256 "{"0" * 64}"\n' + OWN})
    done = tripos("check", "more")
    assert done.code == 2
    said = re.sub(r"\s+", "", done.err)
    assert "E0913" in said
    assert "0" * 64 in said
    assert digest_of(folder / "releases/sums-1.0.0") in said


@pytest.mark.parametrize("kind", ["folder", "zip", "url"])
def test_a_release_is_taken_from_where_the_spec_says_that_it_lies(
    kind: str, folder: Path, tripos: Command, once: Command
) -> None:
    (folder / "far").mkdir()
    far = (folder / "releases/sums-1.0.0").rename(folder / "far/sums-1.0.0")
    place = {"folder": "../far/sums-1.0.0", "zip": "../far/sums-1.0.0.zip", "url": f"file://{far}"}[kind]
    if kind == "zip":
        pack(far)
    line = f'use release "sums@1.0" from "{place}" sha256 "{digest_of(far)}"\n'
    write(folder / "more", {"more.tripos": HEAD + line + OWN})
    if kind == "url":
        assert "has not been fetched" in tripos("check", "more").err
        assert tripos("fetch", "more", "--allow-private").code == 0
    assert once("release", "more", "--to", "out").code == 0
    assert verify(folder / "out/more-1.0.0").wrong == ()


@pytest.mark.parametrize("by", ["option", "setting"])
def test_a_release_is_looked_for_in_the_folders_that_are_given(by: str, folder: Path, tripos: Command) -> None:
    extend(folder)
    (folder / "releases").rename(folder / "shelf")
    done = tripos("check", "more")
    assert done.code == 2
    assert "--releases DIR" in re.sub(r"\s+", " ", done.err)
    if by == "setting":
        write(folder, {"tripos.toml": 'releases = "shelf"\n'})
    given = ("--releases", "shelf") if by == "option" else ()
    assert tripos("check", "more", *given).code == 0


def test_a_release_that_may_not_be_copied_is_named_and_asked_for(folder: Path, tripos: Command) -> None:
    extend(folder)
    write(folder / "more", {"release.toml": '[releases."sums-1.0.0"]\ncopy = false\nsource = "https://example.org"\n'})
    done = tripos("release", "more", "--to", "out")
    assert done.code == 0, done.err
    (folder / "releases").rename(folder / "shelf")
    released = folder / "out/more-1.0.0"
    assert not (released / "releases").exists()
    assert "S0871" in tripos("run", str(released), *MODEL).err
    assert [each.outcome for each in verify(released).checks if each.what == "plan"] == ["unchecked"]
    assert verify(released, releases=(folder / "shelf",)).wrong == ()
    assert tripos("run", str(released), *MODEL, "--releases", "shelf").code == 0


def test_a_release_that_extends_can_be_extended(folder: Path, tripos: Command, once: Command) -> None:
    extend(folder)
    assert once("release", "more").code == 0
    (folder / "releases/sums-1.0.0").rename(folder / "sums-1.0.0")
    last = HEAD.replace("more", "last") + using(folder, name="more")
    write(folder / "last", {"last.tripos": last + OWN.replace("own", "mine")})
    plan = plan_at(folder / "last")
    assert plan_at(folder / "releases/more-1.0.0").fingerprints < plan.fingerprints
    assert [each.name for each in plan.extends] == ["more", "sums"]
    assert once("release", "last", "--to", "out").code == 0
    shutil.rmtree(folder / "releases")
    assert verify(folder / "out/last-1.0.0").wrong == ()
    assert tripos("run", "out/last-1.0.0", *MODEL).code == 0


def test_rows_that_models_wrote_are_taken_as_they_were_frozen(folder: Path, tripos: Command, once: Command) -> None:
    written = HEAD.replace("more", "written") + (
        "role candidate compared\nrole author\n"
        'dataset item by author {\n  count 2\n  prompt "Write an exercise."\n  returns { question text }\n}\n'
        'scenario exercises {\n  over item\n  ask reply by candidate { prompt "{{ item.question }}" }\n'
        "  score done = words(reply.text) > 0\n}\n"
    )
    write(folder / "written", {"written.tripos": written})
    assert once("run", "written", *MODEL, "--role", "author=mock/author").code == 0
    assert once("release", "written").code == 0
    shutil.rmtree(folder / "written")
    write(folder / "more", {"more.tripos": HEAD + using(folder, name="written") + OWN})
    assert once("run", "more", *MODEL, "--role", "author=mock/careless", "--store", "other").code == 0
    assert query(folder / "other", "select distinct role from main.samples") == [("candidate",)]
    listed = "select item_id, written_by from main.items where scenario = 'exercises' order by all"
    assert query(folder / "other", listed) == query(folder / "results", listed) != []
    assert once("release", "more", "--to", "out", "--store", "nowhere").code == 0
    assert verify(folder / "out/more-1.0.0").wrong == ()
    frozen = [folder / f"{where}/made/item.jsonl" for where in ("releases/written-1.0.0", "out/more-1.0.0")]
    assert frozen[0].read_bytes() == frozen[1].read_bytes()


def test_rows_that_models_write_for_the_extension_itself_are_frozen_beside_those(
    folder: Path, tripos: Command, once: Command
) -> None:
    own = (
        "role author\n"
        'dataset item by author {\n  count 1\n  prompt "Write an exercise."\n  returns { question text }\n}\n'
        'scenario exercises {\n  over item\n  ask reply by candidate { prompt "{{ item.question }}" }\n'
        "  score right = near(reply.text, item.question)\n}\n"
    )
    extend(folder, own=own)
    assert once("run", "more", *MODEL, "--role", "author=mock/author").code == 0
    done = tripos("release", "more", "--to", "out")
    assert done.code == 0, done.err
    assert verify(folder / "out/more-1.0.0").wrong == ()


@pytest.mark.parametrize(
    "strata",
    ["take 2", "take 2 per scenario, size", "take 2 per size", "take 2 per scenario\n  spread over size"],
)
def test_items_that_a_release_holds_back_are_in_no_file_of_one_that_extends_it(
    folder: Path, tripos: Command, once: Command, strata: str
) -> None:
    private = HEAD.replace("more", "private") + (
        "role candidate compared\naxis size { small, large }\n"
        'dataset rows from "rows.jsonl" { question text }\n'
        'scenario sized {\n  context size\n  ask reply by candidate { prompt "A {{ size }} number." }\n'
        "  score done = words(reply.text) > 0\n}\n"
        'scenario asked {\n  over rows as item\n  ask reply by candidate { prompt "{{ item.question }}" }\n'
        "  score done = words(reply.text) > 0\n}\nsubset kept {\n"
        f"  {strata}\n  withheld\n}}\n"
    )
    rows = "".join(f'{{"question": "Which is number {number}?"}}\n' for number in range(4))
    write(folder / "private", {"private.tripos": private, "rows.jsonl": rows})
    assert once("release", "private").code == 0
    (folder / "private").rename(folder / "vault")
    take = "{ take scenarios asked }"
    write(folder / "more", {"more.tripos": HEAD + using(folder, take, name="private") + OWN})
    done = tripos("release", "more", "--to", "out", "--data", "vault")
    assert done.code == 0, done.err
    theirs, ours = (
        json.loads((folder / f"{where}/manifest.json").read_bytes())
        for where in ("releases/private-1.0.0", "out/more-1.0.0")
    )
    held = {each["scenario"]: each.get("withheld", []) for each in ours["items"]}
    assert held["asked"] == theirs["items"][1]["withheld"] != []
    plan = json.loads((folder / "out/more-1.0.0/plan.json").read_bytes())
    assert [(each["name"], each["withheld"]) for each in plan["subsets"]] == [("kept", True)]
    drawn = json.loads((folder / "out/more-1.0.0/public/subsets.json").read_bytes())["kept"]
    assert sorted(item for _, item in drawn) == held["asked"]
    assert ours["external"] == theirs["external"]
    text = b"".join(path.read_bytes() for path in (folder / "out").rglob("*") if path.suffix == ".jsonl")
    public = (folder / "releases/private-1.0.0/public/rows.jsonl").read_text("utf-8")
    hidden = [each for each in (f"Which is number {number}?" for number in range(4)) if each not in public]
    assert len(hidden) == 2
    assert not [each for each in hidden if each.encode() in text]
    assert verify(folder / "out/more-1.0.0", (folder / "vault",)).wrong == ()


def test_another_file_in_the_place_of_one_that_a_release_only_names_is_refused(
    folder: Path, tripos: Command, once: Command
) -> None:
    outer = HEAD.replace("more", "outer") + (
        'role candidate compared\ndataset rows from "rows.jsonl" { question text }\n'
        'scenario asked {\n  over rows as item\n  ask reply by candidate { prompt "{{ item.question }}" }\n'
        "  score done = words(reply.text) > 0\n}\n"
    )
    write(folder, {"outer/outer.tripos": outer, "data/rows.jsonl": '{"question": "Who?"}\n'})
    assert once("release", "outer", "--data", "data").code == 0
    write(folder, {"more/more.tripos": HEAD + using(folder, name="outer") + OWN})
    assert tripos("check", "more", "--data", "data").code == 0
    write(folder, {"data/rows.jsonl": '{"question": "Whose?"}\n'})
    done = tripos("check", "more", "--data", "data")
    assert done.code == 2
    assert "E0916" in done.err


def test_a_data_file_of_the_release_is_not_overlaid_by_one_of_that_name(folder: Path, tripos: Command) -> None:
    extend(folder)
    write(folder, {"data/sums.jsonl": '{"question": "Other?", "answer": "other"}\n'})
    assert tripos("check", "more", "--data", "data").code == 0


def test_an_editor_compiles_what_extends_a_release_and_fetches_nothing(folder: Path) -> None:
    main = extend(folder) / "more.tripos"
    opened = OpenBenchmark(Documents(), main.as_posix(), pytest.fail).compilation()
    assert opened.plan == plan_at(main)
    far = using(folder).replace(" sha256", ' from "https://example.invalid/sums" sha256')
    write(folder / "apart", {"apart.tripos": HEAD.replace("more", "apart") + far + OWN})
    shutil.rmtree(folder / "releases")
    found = OpenBenchmark(Documents(), (folder / "apart/apart.tripos").as_posix(), pytest.fail).compilation()
    assert [(each.code, each.message) for each in found.diagnostics] == [
        ("E0912", "`https://example.invalid/sums` has not been fetched")
    ]


def test_a_newer_release_that_is_extended_is_told_as_a_change(folder: Path, tripos: Command, once: Command) -> None:
    before = plan_at(extend(folder))
    text = SUMS.replace('"1.0.0"', '"1.0.1"').replace('"Sums"', '"Sums again"')
    write(folder / "origin", {"sums.tripos": text, "sums.jsonl": ROWS, "near.py": NEAR})
    assert once("release", "origin/sums.tripos").code == 0
    digest = digest_of(folder / "releases/sums-1.0.1")
    write(folder / "more", {"more.tripos": HEAD + f'use release "sums@1.0" sha256 "{digest}"\n' + OWN})
    found = find_changes(before, plan_at(folder / "more"))
    assert [(each.part, each.text) for each in found] == [("patch", "extends `sums`: was 1.0.0 and is 1.0.1")]
