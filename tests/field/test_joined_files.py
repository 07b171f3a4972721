"""Claims, abstracts and labels in files of their own, as those of SciFact: joined by their ids, with the F-measure that
is worked out apart; each file is kept, pinned, released and held against its digest."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.field.running import Figures, figures_of, lines

SPEC = """
benchmark claims "1.0.0" {
  license "CC0-1.0"
  languages en, de
}
role candidate compared

dataset item from "claims.{language}.jsonl" {
  join "labels.{language}.csv" on "id" to "claim_id"
  join "corpus.jsonl" on "doc"
  join "rubrics/{id}.json" on "rubric" to "id"
  language
  id        integer
  claim     text
  label     choice(SUPPORT, CONTRADICT) secret
  abstract  text
  weight    number
}

scenario verify {
  context language
  over item
  ask reply by candidate {
    prompt "{{ item.abstract }} || {{ item.claim }}"
    returns choice(SUPPORT, CONTRADICT)
  }
  score right = reply == item.label
  measure macro    = f1(reply, item.label)
  measure by_lang  = mean(right) by language
  measure weighted = weighted_mean(right, item.weight)
}
"""
LABELS = ("SUPPORT", "CONTRADICT")
DICE = random.Random(3)
TRUE = {(language, number): DICE.choice(LABELS) for language in ("en", "de") for number in range(40)}
SAYS = {key: label if DICE.random() < 0.7 else DICE.choice(LABELS) for key, label in TRUE.items()}


def files() -> dict[str, str]:
    """Return the files: labels in another order than claims, one abstract for many claims, a file for each rubric."""
    found = {}
    for language in ("en", "de"):
        numbers = [number for told, number in TRUE if told == language]
        rows = [{"id": n, "doc": f"d{n % 7}", "claim": f"{language} claim {n}", "rubric": str(n % 3)} for n in numbers]
        found[f"claims.{language}.jsonl"] = lines(rows)
        shuffled = random.Random(language).sample([*numbers, 99], len(numbers) + 1)
        labels = (f"{n},{TRUE.get((language, n), 'SUPPORT')}\n" for n in shuffled)
        found[f"labels.{language}.csv"] = "claim_id,label\n" + "".join(labels)
    found["corpus.jsonl"] = lines({"doc": f"d{n}", "abstract": f"abstract {n}"} for n in range(9))
    return found | {f"rubrics/{n}.json": json.dumps({"weight": n + 1}) for n in range(3)}


def answer(text: str) -> str:
    abstract, _, claim = text.splitlines()[0].partition(" || ")
    language, _, number = claim.split()
    assert abstract == f"abstract {int(number) % 7}"
    return json.dumps({"value": SAYS[language, int(number)]})


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    folder = tmp_path_factory.mktemp("claims")
    (folder / "rubrics").mkdir()
    return figures_of(folder, SPEC, files(), answer)


def test_the_figures_are_those_of_the_files_that_belong_together(figures: Figures) -> None:
    scores = []
    for label in LABELS:
        hit = sum(SAYS[key] == true == label for key, true in TRUE.items())
        said, meant = (sum(each == label for each in told.values()) for told in (SAYS, TRUE))
        scores.append(2 * hit / (said + meant))
    assert figures["verify.macro"].value == pytest.approx(sum(scores) / 2)
    for language, value in figures.by("verify.by_lang").items():
        right = [SAYS[key] == true for key, true in TRUE.items() if key[0] == language]
        assert value == pytest.approx(sum(right) / len(right))
    weights = {key: key[1] % 3 + 1 for key in TRUE}
    right_weight = sum(weights[key] for key in TRUE if SAYS[key] == TRUE[key])
    assert figures["verify.weighted"].value == pytest.approx(right_weight / sum(weights.values()))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rubrics").mkdir()
    for name, text in {"claims.tripos": SPEC, **files()}.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def files_of_plan(tripos: Command) -> dict[str, str]:
    """Return the digest of every file that the plan lists."""
    done = tripos("plan", "claims.tripos", "--json")
    assert done.code == 0, done.err
    (data,) = done.data["datasets"]
    every = [*data["files"], *(file for join in data["joins"] for file in join["files"])]
    return {file["path"]: file["sha256"] for file in every}


@pytest.mark.parametrize("name", ["labels.de.csv", "corpus.jsonl", "rubrics/2.json"])
def test_a_change_of_any_file_is_another_plan_and_a_drift(here: Path, tripos: Command, name: str) -> None:
    assert tripos("lock", "claims.tripos", "--model", "mock/careful").code == 0
    pinned = json.loads((here / "tripos.lock").read_text())
    assert set(pinned["data"]) == set(files())
    before = files_of_plan(tripos)
    assert before == pinned["data"]
    old, new = {"labels": ("SUPPORT", "CONTRADICT"), "corpus": ("abstract 1", "another"), "rubrics": ("3", "4")}[
        name.partition("/")[0].partition(".")[0]
    ]
    (here / name).write_text((here / name).read_text().replace(old, new, 1))
    assert [path for path, digest in files_of_plan(tripos).items() if digest != before[path]] == [name]
    done = tripos("run", "claims.tripos", "--model", "mock/careful", "--locked")
    assert done.code != 0 and name in done.err


def test_a_release_has_every_file_and_compiles_to_the_same_plan(here: Path, tripos: Command) -> None:
    done = tripos("release", "claims.tripos")
    assert done.code == 0, done.err
    for name in files():
        (here / name).unlink()
    done = tripos("verify", "releases/claims-1.0.0", "--json")
    assert done.code == 0, done.out
    assert {"what": "plan", "outcome": "good", "told": "the sources compile to it"} in done.data["checks"]
    assert tripos("run", "releases/claims-1.0.0", "--model", "mock/careful").code == 0
    (here / "releases/claims-1.0.0/spec/corpus.jsonl").write_text("{}")
    assert tripos("verify", "releases/claims-1.0.0").code != 0


def test_a_file_outside_of_the_benchmark_is_not_joined(here: Path, tripos: Command) -> None:
    inner = here / "inner"
    inner.mkdir()
    (here / "tripos.toml").unlink(missing_ok=True)
    (inner / "claims.tripos").write_text(SPEC.replace('"corpus.jsonl"', '"../corpus.jsonl"'), "utf-8")
    (inner / "rubrics").mkdir()
    for name, text in files().items():
        (inner / name).write_text(text, "utf-8")
    done = tripos("check", "inner/claims.tripos")
    assert done.code == 2 and "`../corpus.jsonl` lies outside of the benchmark" in done.err
    assert tripos("check", "inner/claims.tripos", "--allow-outside").code == 0


def test_a_secret_stays_secret_in_its_own_file(here: Path, tripos: Command) -> None:
    leaking = SPEC.replace("{{ item.abstract }}", "{{ item.label }}")
    (here / "claims.tripos").write_text(leaking, "utf-8")
    done = tripos("check", "claims.tripos")
    assert done.code == 2 and "E0501" in done.err
    # the same column of the same file is the same secret, whoever reads it
    other = 'dataset key from "labels.en.csv" {\n  number integer from "claim_id"\n  told text from "label"\n}\n'
    asks = "context language\n  over item\n  ask reply by candidate {\n    shots 1 from key"
    shown = '{ prompt "{{ key.number }}", reply "{{ key.told }}" }\n'
    spec = SPEC.replace("scenario verify", other + "\nscenario verify")
    spec = spec.replace("context language\n  over item\n  ask reply by candidate {", f"{asks} {shown}")
    (here / "claims.tripos").write_text(spec, "utf-8")
    done = tripos("check", "claims.tripos")
    assert done.code == 2 and "`key.told` is read from the same column" in done.err, done.err


def test_worlds_that_differ_in_a_joined_secret_ask_the_same(here: Path, tripos: Command) -> None:
    done = tripos("check", "claims.tripos", "--worlds")
    assert done.code == 0 and "none differs" in done.out + done.err, done.err


def test_a_joined_file_that_changes_while_the_run_starts_stops_it(here: Path) -> None:
    from tripos.runs.compilation import find_spec
    from tripos_compiler.source.inputs import DataError
    from tripos_runtime.datasets.cases import CaseSource
    from tripos_runtime.datasets.selection import Selection

    found = find_spec("claims.tripos")
    compilation = found.compile()
    plan = compilation.plan
    assert plan is not None
    (here / "corpus.jsonl").write_text(lines({"doc": f"d{n}", "abstract": "another"} for n in range(9)))
    source = CaseSource(plan, found.folders, tuple(each.path for each in compilation.sources))
    with pytest.raises(DataError, match=r"corpus\.jsonl.* changed"):
        list(source.of(plan.scenarios[0], Selection()))
