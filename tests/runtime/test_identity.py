"""The identity of a model: by its endpoint, its weights or its artefact, and never by a key or a port."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.each import each
from tests.runtime.small_runs import SmallRun, run_small
from tripos_runtime.models.base import Endpoint, Request
from tripos_runtime.models.catalog import NATIVE_PROVIDERS, PROVIDERS
from tripos_runtime.models.families import identity_of, public_address
from tripos_runtime.models.local import NAME, weights_digest
from tripos_runtime.models.vectors import to_text

SECRET = "s3cr3t0123456789"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def served(url: str, name: str | None = None) -> str:
    return identity_of("openai/a", {"openai/a": Endpoint(url, name=name)}, {})


@pytest.mark.parametrize(
    "name", ["mock/careful:ada", "baseline/empty", "human/ann", "local/use-multilingual", "openai/x"]
)
def test_a_name_that_says_who_answers_is_the_identity(name: str) -> None:
    assert identity_of(name, environ={}) == name


@each("provider", sorted({**PROVIDERS, **NATIVE_PROVIDERS}))
def test_the_address_of_the_provider_adds_nothing_however_it_is_said(provider: str) -> None:
    own = {**PROVIDERS, **NATIVE_PROVIDERS}[provider].base_url
    if own is not None:
        assert identity_of(f"{provider}/x", {provider: Endpoint(own + "/")}, {}) == f"{provider}/x"


def test_another_address_is_somebody_else_whatever_says_it() -> None:
    said = served("http://gpu-1:8000/v1")
    assert said == "openai/a @ http://gpu-1:8000/v1"
    assert served("http://gpu-2:8000/v1") != said
    assert identity_of("openai/a", {"openai": Endpoint("http://gpu-1:8000/v1")}, {}) == said
    assert identity_of("openai/a", {}, {"OPENAI_BASE_URL": "http://gpu-1:8000/v1"}) == said
    assert (
        identity_of("friendliai/a", {}, {"FRIENDLIAI_API_BASE": "http://gpu-1/v1"}) == "friendliai/a @ http://gpu-1/v1"
    )


@pytest.mark.parametrize(
    "other",
    [
        "http://GPU-1:8000/v1/",
        "HTTP://gpu-1:8000/v1/chat/completions",
        f"http://ann:{SECRET}@gpu-1:8000/v1",
        f"http://gpu-1:8000/v1?api_key={SECRET}",
    ],
)
def test_one_address_has_one_form_and_no_key(other: str) -> None:
    assert served(other) == served("http://gpu-1:8000/v1")


def test_a_stable_name_stands_for_any_address() -> None:
    assert served("http://gpu-1:8000/v1", "lab") == served("http://gpu-2/v1", "lab") == "openai/a @ lab"
    # The name may be the address at which the replies were kept before.
    assert served("http://gpu-2/v1", "http://gpu-1:8000/v1") == served("http://gpu-1:8000/v1")


@given(
    st.text(st.characters(whitelist_categories=["Ll", "Nd"]), min_size=9), st.sampled_from(["key", "access_token", "x"])
)
def test_no_value_of_a_parameter_is_in_an_address(value: str, parameter: str) -> None:
    assert value not in public_address(f"https://h.example/v1?{parameter}={value}").removeprefix("https://h.example/v1")


def test_a_model_file_is_its_weights_wherever_it_lies(tmp_path: Path) -> None:
    one, other = tmp_path / "one.gguf", tmp_path / "sub" / "other.gguf"
    other.parent.mkdir()
    one.write_bytes(b"weights")
    other.write_bytes(b"weights")
    assert identity_of(f"local/{one}") == identity_of(f"local/{other}")
    assert identity_of(f"local/{one}").startswith("local @ sha256:")
    other.write_bytes(b"others!")
    assert identity_of(f"local/{one}") != identity_of(f"local/{other}")


def test_the_digest_of_weights_is_taken_once_until_the_file_changes(tmp_path: Path) -> None:
    file, cache = tmp_path / "a.gguf", tmp_path / "kept"
    file.write_bytes(b"weights")
    first = weights_digest(file, cache)
    kept = json.loads((cache / NAME).read_text())
    (cache / NAME).write_text(json.dumps({str(file.resolve()): [*kept[str(file.resolve())][:2], "remembered"]}))
    assert weights_digest(file, cache) == "remembered"
    os.utime(file, ns=(1, 1))
    assert weights_digest(file, cache) == first


def test_a_reward_model_is_its_digest_wherever_its_folder_lies(tmp_path: Path) -> None:
    digest = "0123456789abcdef" * 4
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(json.dumps({"kind": "any", "digest": digest}))
    assert identity_of(f"reward/{tmp_path / 'here'}") == identity_of(f"reward/{tmp_path / 'there'}@{digest[:12]}")
    assert identity_of(f"reward/critic@{digest[:12]}") == f"reward @ {digest[:12]}"


EVERYBODY = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role student
role judge
role umpire
role author
role encoder
dataset pool by author {
  prompt "Write a word."
  returns { word text }
  count 2
}
dataset item from "items.jsonl" { a text }
scorer fair(said: text) by judge { prompt "Rate {{ said }}", gives 1..5 }
scorer kind(said: text) by umpire { prompt "Is this kind? {{ said }}", gives bool }
scenario s {
  over item
  converse talk {
    candidate { system "Teach {{ item.a }}." }
    student { system "Learn." }
    opens candidate, until student says "done", limit 2 turns
  }
  retrieve near from pool as p { top 1 by similarity(item.a, p.word) using encoder }
  ask reply by candidate { prompt "{{ item.a }} {{ json(near) }} {{ talk.text }}" }
  score rated = fair(reply.text)
  score nice = kind(reply.text) and words(reply.text) > 0
}
measure quality = mean(rated)
"""
ROLES = {"student": "s", "judge": "j", "umpire": "u", "author": "w", "encoder": "e"}


def says(request: Request) -> str:
    match request.model:
        case "j":
            return '{"score": 4, "reason": "so"}'
        case "u":
            return '{"score": true, "reason": "so"}'
        case "w":
            return json.dumps({"word": f"word {len(request.messages)} {request.number}"})
        case "e":
            return to_text(np.asarray([1.0, 2.0], dtype=np.float32))
    return "so it is"


def run(folder: Path, before: SmallRun | None = None, **identities: str) -> SmallRun:
    files = {"items.jsonl": [{"a": "one"}, {"a": "two"}]}

    def script(request: Request) -> str:
        said = says(request)
        if request.model not in identities:
            return said
        return {"a": "there it is", "s": "it is there", "w": json.dumps({"word": f"elsewhere {request.number}"})}.get(
            request.model, said
        )

    return run_small(folder, EVERYBODY, files, script=script, before=before, identities=identities, **ROLES)


@pytest.mark.parametrize(
    ("model", "asked"),
    [("a", {"a", "s", "j", "u"}), ("s", {"a", "s"}), ("j", {"j"}), ("u", {"u"}), ("e", {"e"}), ("w", {"a", "e", "w"})],
)
def test_whoever_answers_anew_under_a_name_is_asked_and_so_is_who_is_shown_it(
    tmp_path: Path, model: str, asked: set[str]
) -> None:
    first = run(tmp_path)
    assert all(first.asked.values())
    assert not any(run(tmp_path, first).asked.values())
    moved = run(tmp_path, first, **{model: f"{model} @ elsewhere"})
    assert {name for name, count in moved.asked.items() if count} == asked
    assert not any(run(tmp_path, moved, **{model: f"{model} @ elsewhere"}).asked.values())
