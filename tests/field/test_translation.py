"""A translation benchmark: its corpus BLEU, chrF and TER are sacreBLEU's own, and its intervals hold the truth."""

from __future__ import annotations

import random

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from tests.field.running import Figures, figures_of, lines

SPEC = """
benchmark translation "1.0.0" { languages en }
role candidate compared

dataset sentence from "sentences.jsonl" {
  source      text
  references  list<text> secret
  domain      choice(news, talk)
}

scenario translate {
  over sentence as s
  ask reply by candidate { prompt "Translate: {{ s.source }}" }
  score best = chrf(reply.text, s.references)

  measure bleu       = corpus_bleu(reply.text, s.references)
  measure bleu_lower = corpus_bleu(reply.text, s.references, tokenize: intl, case: ignored)
  measure characters = corpus_bleu(reply.text, first(s.references), tokenize: char)
  measure chrf       = corpus_chrf(reply.text, s.references)
  measure chrf_words = corpus_chrf(reply.text, s.references, words: two)
  measure ter        = corpus_ter(reply.text, s.references) lower is better
  measure strict     = corpus_bleu(reply.text, s.references, missing: zero)
  measure by_domain  = corpus_bleu(reply.text, s.references) by s.domain
  measure difference = bleu_news - bleu_talk
  measure bleu_news  = corpus_bleu(reply.text, s.references)
  measure bleu_talk  = corpus_chrf(reply.text, s.references)
  measure sentences  = mean(best)
}
"""
WORDS = (
    "the", "cat", "dog", "sat", "stood", "on", "under", "mat", "table", ",", ".", "and", "big", "Ärger", "猫", "naïve",
)  # fmt: skip


def sentences(count: int, seed: int) -> list[dict[str, object]]:
    dice = random.Random(seed)
    rows = []
    for number in range(count):
        one = [dice.choice(WORDS) for _ in range(dice.randint(3, 12))]
        other = [word if dice.random() < 0.8 else dice.choice(WORDS) for word in one]
        references = [" ".join(one), " ".join(other)]
        rows.append({"source": f"s{number}", "references": references, "domain": dice.choice(["news", "talk"])})
    return rows


def replies(rows: list[dict[str, object]], seed: int) -> dict[str, str | None]:
    dice = random.Random(seed)
    said: dict[str, str | None] = {}
    for row in rows:
        first = row["references"][0].split()  # type: ignore[index]
        said[str(row["source"])] = " ".join(word if dice.random() < 0.7 else dice.choice(WORDS) for word in first)
    said["s3"], said["s4"], said["s5"] = None, "…", "—"  # one that refuses, and two that say nothing
    return said


@pytest.fixture(scope="module")
def run(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Figures, list[list[str]], list[str], list[dict[str, object]]]:
    rows = sentences(120, 1)
    said = replies(rows, 2)
    found = figures_of(
        tmp_path_factory.mktemp("translation"),
        SPEC,
        {"sentences.jsonl": lines(rows)},
        lambda text: said[text.split()[-1]],
    )
    kept = [row for row in rows if said[str(row["source"])] is not None]
    references = [[row["references"][place] for row in kept] for place in (0, 1)]  # type: ignore[index]
    return found, references, [said[str(row["source"])] or "" for row in kept], kept


def test_figures_are_those_of_sacrebleu(run) -> None:  # type: ignore[no-untyped-def]
    found, references, said, _ = run
    expected = {
        "bleu": BLEU().corpus_score(said, references).score,
        "bleu_lower": BLEU(tokenize="intl", lowercase=True).corpus_score(said, references).score,
        "characters": BLEU(tokenize="char").corpus_score(said, references[:1]).score,
        "chrf": CHRF().corpus_score(said, references).score,
        "chrf_words": CHRF(word_order=2).corpus_score(said, references).score,
        "ter": TER().corpus_score(said, references).score,
    }
    for name, value in expected.items():
        row = found[f"translate.{name}"]
        assert row.value == pytest.approx(value, abs=1e-9), name
        assert (row.n, row.total, row.method) == (119, 120, "bootstrap")
        assert row.low is not None and row.low < value < row.high


def test_a_reply_that_is_missing_counts_as_an_empty_one_on_request(run) -> None:  # type: ignore[no-untyped-def]
    found, references, said, _ = run
    row = sentences(120, 1)[3]["references"]
    with_it = [[*each, row[place]] for place, each in enumerate(references)]  # type: ignore[index]
    assert found["translate.strict"].value == pytest.approx(BLEU().corpus_score([*said, ""], with_it).score)


def test_each_group_has_the_figure_of_its_own_sentences(run) -> None:  # type: ignore[no-untyped-def]
    found, references, said, kept = run
    for domain, value in found.by("translate.by_domain").items():
        own = [place for place, row in enumerate(kept) if row["domain"] == domain]
        parts = [[each[place] for place in own] for each in references]
        assert value == pytest.approx(BLEU().corpus_score([said[place] for place in own], parts).score)


def test_a_formula_has_an_interval_from_the_same_draws(run) -> None:  # type: ignore[no-untyped-def]
    found = run[0]
    row = found["translate.difference"]
    assert row.value == pytest.approx(found["translate.bleu"].value - found["translate.chrf"].value)
    alone = found["translate.bleu"]
    width = row.high - row.low
    assert row.method == "bootstrap" and 0 < width < 2 * (alone.high - alone.low)
