"""Targets: settings, terms of releases, locks, mappings, outlines and trees, and what a provider answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.fuzz.data_files import folder, put
from tests.fuzz.mutators import mutated_json, mutated_text, written
from tests.fuzz.trying import BrokenRule
from tripos.importing.rows import read_mapping, read_table
from tripos.importing.trees import check_suffix, check_tree, format_tree, read_outline, read_tree_file
from tripos.releases.lock import Lock, check_lock, check_served, read_lock
from tripos.releases.manifest import check_license, read_release_toml
from tripos.settings.load import load_settings
from tripos_runtime.models.base import Price
from tripos_runtime.models.chat_completions import completion
from tripos_runtime.models.errors import CallTarget, answer_error
from tripos_runtime.models.replies import read_reply

ROOT = Path(__file__).parents[2]


def _blocks(page: str, language: str) -> list[bytes]:
    """Return the examples in a language of a page of the documentation."""
    parts = (ROOT / "docs" / page).read_text("utf-8").split(f"```{language}\n")[1:]
    return [part.partition("```")[0].encode() for part in parts]


# --- TOML ---


def settings_seeds() -> Sequence[bytes]:
    """Return the settings of the documentation, and one of each kind."""
    own = [
        b'store = "s"\nbudget = ["1usd"]\nmodels = "mock/careful"\n',
        b'profile = "a"\n[profiles.a]\nstore = "b"\n[profiles.a.limits]\ntimeout_s = 5\n',
        b'[endpoints.x]\nbase_url = "http://127.0.0.1:1/v1"\napi_key_env = "X_KEY"\n[prices.x]\ninput = 1\noutput = 2.5\n',
    ]
    return [*_blocks("reference/settings.md", "toml"), *own]


def read_settings(data: bytes) -> None:
    """Read `tripos.toml` of a folder."""
    put("tripos.toml", data)
    chosen = load_settings(folder(), profile=None, environ={})
    if not isinstance(chosen.config.store, str):
        raise BrokenRule("settings without a store")


def release_seeds() -> Sequence[bytes]:
    """Return terms of a release."""
    own = (
        b'measures = "How well."\nlimits = ["small"]\nbaselines = []\nchanges = ["first"]\nlicense_file = "LICENSE"\n'
        b'[data."a.jsonl"]\nlicense = "MIT OR Apache-2.0"\nsource = "https://example.org"\ncopy = true\n'
        b'[releases."a-1.0.0"]\ncopy = false\n[artefacts.judge]\npath = "m"\nlicense = "CC-BY-4.0"\n'
    )
    return [own, *_blocks("reference/releases.md", "toml")]


def read_terms(data: bytes) -> None:
    """Read `release.toml` of a folder, and every licence in it."""
    put("release.toml", data)
    terms = read_release_toml(folder())
    for name, each in terms.data.items():
        check_license(each.license, f"`{name}`")


def mapping_seeds() -> Sequence[bytes]:
    """Return mappings of columns."""
    own = b'each = "options"\n[columns]\nreply = "answer"\nitem = "question"\n[set]\nround = 2\n[values.model]\n"A" = "b/c"\n'
    return [own, own.replace(b'each = "options"\n', b""), b'[columns]\nvalue = "score"\n']


def read_columns(data: bytes) -> None:
    """Read a mapping, and a table by it."""
    rows = put("mapped.jsonl", b'{"question": "a", "answer": "b", "score": 1, "options": [{"model": "A"}]}\n')
    table = read_table(str(rows), read_mapping(str(put("mapping.toml", data)), [], {}, None))
    for record in table.records:
        for name in ("item", "reply", "value", "model", "round"):
            record.get(name)
            record.text(name)


# --- locks ---


LOCK = {
    "format": "tripos.lock/1", "benchmark": "g", "version": "1.0.0", "plan": "0" * 64, "data": {"a.jsonl": "1" * 64},
    "functions": {"f": "1"}, "roles": {"candidate": ["openai/a"]},
    "models": {"openai/a": {"price": {"input": 1.0}, "address": "https://example.org", "served": ["a-1"]}},
}  # fmt: skip


def lock_seeds() -> Sequence[bytes]:
    """Return a lock."""
    return [written(LOCK)]


def hold_lock(data: bytes) -> None:
    """Read a lock, and hold a run against it."""
    lock = read_lock(put("tripos.lock", data))
    check_served(lock, {"openai/a": ["a-1"]})
    check_lock(lock, Lock.model_validate(LOCK))


# --- trees ---


OUTLINES = (
    "# Numbers\n## Whole\n- small\n- large\n## Parts\n1. halves\n2) thirds\n",
    "一、数\n（一）整数\n1. 小\n2. 大\n二、形\n第一章 圆\n第二节 方\n",
    "Unit 1: Numbers\n  Chapter 1. Whole\n\t- a\n    - b\nPart II Shapes\n i. round\n ii. square\n① x\n1.1 y\n1.1.1 z\n",
)


def outline_seeds() -> Sequence[bytes]:
    """Return outlines as models write them."""
    return [text.encode() for text in OUTLINES]


def read_points(data: bytes) -> None:
    """Read an outline, and write the tree that it is."""
    tree = check_tree(read_outline(data.decode("utf-8", "replace")), "the reply", "S0835")
    for path in (Path("a.yaml"), Path("a.json")):
        check_suffix(path)
        format_tree(tree, path, "Drafted.")


def tree_seeds() -> Sequence[bytes]:
    """Return trees in every form."""
    return [
        b"Sums:\n  Small: [One, Two]\n  Large:\nShapes:\n  - Round\n  - Square: {Red: [a]}\n",
        b"- name: Sums\n  children:\n    - name: Small\n    - name: Large\n      children: [a, b]\n- Shapes\n",
        json.dumps({"name": "Sums", "children": [{"name": "Small"}, "Large"]}).encode(),
    ]


def read_branches(data: bytes) -> None:
    """Read a tree."""
    tree = read_tree_file(put("tree.yaml", data))
    for leaf in tree.leaves():
        tree.children(leaf)
    if tree.depth < 0 or tree.inner < 0:
        raise BrokenRule("a tree without branches has some")


# --- providers ---


PLACE = CallTarget("openai/a", "https://api.example.org/v1", "A_KEY", ("sk-secret-key-0123456789",))
HEADERS = (
    "",
    "7",
    "0",
    "-1",
    "1e9",
    "1e400",
    "nan",
    "Wed, 21 Oct 2026 07:28:00 GMT",
    "Wed, 99 Foo",
    "9" * 400,
    "\u0661",
    "7s",
)
STATUSES = (200, 200, 200, 400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 529, 302, 999)


def answer_seeds() -> Sequence[bytes]:
    """Return bodies of providers: replies and errors."""
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "total_tokens": 14,
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    usage |= {"prompt_tokens_details": {"cached_tokens": 3}, "cost": 0.01}
    message = {"role": "assistant", "content": "two", "reasoning_content": "1+1", "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    reply = {"id": "1", "object": "chat.completion", "model": "a-1", "choices": [choice], "usage": usage}
    parts = {**choice, "message": {"content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "b"}]}}
    errors = (
        {"error": {"message": "slow down", "code": 429, "type": "rate"}},
        {"error": "no"},
        {"detail": [{"msg": "x"}]},
    )
    bodies = [
        reply,
        {**reply, "choices": [choice, {**choice, "finish_reason": "length"}]},
        {**reply, "choices": [parts]},
    ]
    return [written(each) for each in (*bodies, {**reply, "usage": None}, *errors)] + [b"<html>502</html>"]


def read_answer(data: bytes) -> None:
    """Read what a provider answers, with a status and a header that the body draws."""
    random = Random(data)
    headers = {"retry-after": random.choice(HEADERS), "x-ratelimit-reset": random.choice(HEADERS)}
    status = random.choice(STATUSES)
    if status != 200:
        error = answer_error(status, data, headers, PLACE)
        if error.retry_after_s is not None and not 0 <= error.retry_after_s < float("inf"):
            raise BrokenRule(f"a wait that is none: {error.retry_after_s}")
        raise error
    reply = read_reply(completion(data, headers, PLACE), "openai/a", Price(0.5, 1.0))
    for each in (reply, *reply.further_choices):
        each.text.encode()
        for number in (each.tokens_in, each.tokens_out, each.cost_usd, each.tokens_reasoning):
            if number is not None and not 0 <= number < 2**63:
                raise BrokenRule(f"a count or cost that no table can hold: {number}")


def mutated_answer(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a body whose values are changed; now and then its text is."""
    return (mutated_json if random.random() < 0.85 else mutated_text)(random, data, others)
