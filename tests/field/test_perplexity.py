"""Perplexity of texts in the form of WikiText: figures equal to the formulas of the LM Evaluation Harness."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """
benchmark wiki "1.0.0" { languages en }
role candidate compared

dataset item from "pages.jsonl" { key id, id integer, page text }

aggregate weighted(nats: list<number>, counts: list<integer>) -> number from "perplexities.py:weighted"
aggregate bits(nats: list<number>, counts: list<integer>) -> number from "perplexities.py:bits"

scenario wiki {
  over item
  ask read by candidate { prompt "Page {{ item.id }}:", likelihood of item.page }
  score nats = 0 - sum(read.logprobs)
  let words  = length(regex_all(item.page, "\\\\s+")) + 1
  measure word_perplexity = weighted(nats, words) lower is better
  measure byte_perplexity = weighted(nats, bytes(item.page)) lower is better
  measure bits_per_byte   = bits(nats, bytes(item.page)) lower is better
}
"""
AGGREGATES = """
import math


def weighted(nats: list[float], counts: list[int]) -> float:
    return math.exp(sum(nats) / sum(counts))


def bits(nats: list[float], counts: list[int]) -> float:
    return sum(nats) / sum(counts) / math.log(2)
"""
FORMS = (
    "River {0} rises in the hills and flows north.",
    " = Heading {0} = \n\nA  bridge was\tbuilt there in 18{0} – of stone . \n",
    "第{0}章：河流向北。",
    "same text",
    "",
    "é{0}",
    "   ",
)
PAGES = [FORMS[number % len(FORMS)].format(number) for number in range(112)]


def test_three_figures_are_those_of_the_harness(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`weighted_perplexity` and `bits_per_byte` of lm_eval/api/metrics.py, over the words and bytes of lm_eval/tasks/
    wikitext/preprocess_wikitext.py: words are the parts between blanks. An empty page has no likelihood."""
    monkeypatch.chdir(tmp_path)
    Path("spec.tripos").write_text(SPEC, "utf-8")
    Path("perplexities.py").write_text(AGGREGATES, "utf-8")
    rows = [{"id": number, "page": page} for number, page in enumerate(PAGES)]
    Path("pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert tripos("run", "spec.tripos", "--model", "mock/careful").code == 0
    kept = tripos("sql", "select messages, reply from wiki.samples where status = 'ok'", "-o", "replies.json")
    assert kept.code == 0, kept.err
    likelihoods, words, sizes = [], [], []
    for row in json.loads(Path("replies.json").read_text("utf-8")):
        [option] = json.loads(row["reply"])["options"]
        likelihoods.append(option["logprob"])
        words.append(len(re.split(r"\s+", option["text"])))
        sizes.append(len(option["text"].encode("utf-8")))
    assert len(likelihoods) == sum(page != "" for page in PAGES) == 96
    told = {each["name"]: each["rows"][0] for each in tripos("report", "--json").data["measures"]}
    wanted = {
        "wiki.word_perplexity": math.exp(-sum(likelihoods) / sum(words)),
        "wiki.byte_perplexity": math.exp(-sum(likelihoods) / sum(sizes)),
        "wiki.bits_per_byte": -sum(likelihoods) / sum(sizes) / math.log(2),
    }
    assert {name: row["value"] for name, row in told.items()} == pytest.approx(wanted, rel=1e-12)
    assert {row["n"] for row in told.values()} == {96}
