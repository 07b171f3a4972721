"""A text function gives the same however the same text is written, and its metrics are those of sacreBLEU."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping

import pytest
from hypothesis import example, given, settings, strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from tests.compiler.compiling import compile_files
from tests.lengths import sized
from tripos_compiler.editing.formatter import format_text
from tripos_compiler.library.registry import FUNCTIONS
from tripos_warehouse.statistics.metrics import corpus_metric

WORDS = (
    *("café", "Ångström", "Việt", "độc", "서울특별시", "It's", "don't", '"so"', "42", "3.14", "x-y", "Zürich", "Fuß"),
    *(
        "我喜欢数学。", "今天", "东京タワー", "カフェ", "がっこう", "สวัสดี", "the", "cat", "Наполеон", "γειά", "हिन्दी", "A", "B", ",",
    ),
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
WIDE = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F) if chr(code).isalnum()})
WRITTEN: Mapping[str, Callable[[str], str]] = {
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "NFC": lambda text: unicodedata.normalize("NFC", text),
    "curly": lambda text: text.replace("'", "’").replace('"so"', "“so”"),
    "full width": lambda text: text.translate(WIDE),
    "no-break space": lambda text: text.replace(" ", "\u00a0"),
    "invisible": lambda text: text.replace("a", "a\u200b").replace("7", "7\ufeff"),
    "minus": lambda text: text.replace("-", "\u2212"),
    "all": lambda text: unicodedata.normalize("NFD", text.replace("'", "’").translate(WIDE)),
}
OF_TWO = (
    *(
        "exact", "contains", "starts_with", "ends_with", "bleu", "chrf", "rouge", "edit_similarity", "similarity",
        "bm25",
    ),
    "echoed",
)  # fmt: skip


@given(TEXTS, TEXTS, st.sampled_from(sorted(WRITTEN)), st.sampled_from(sorted(WRITTEN)))
@example("Việt Nam độc lập", "Việt Nam", "NFD", "NFC")
@example("서울특별시", "서울특별시", "NFD", "NFC")
@settings(max_examples=sized(150, 10_000), deadline=None)
def test_a_difference_of_writing_changes_no_function(one: str, other: str, first: str, second: str) -> None:
    written = WRITTEN[first](one), WRITTEN[second](other)
    for name in OF_TWO:
        for a, b in ((one, other), (one, one)):
            again = WRITTEN[first](a), WRITTEN[second](b)
            assert FUNCTIONS[name](*again) == FUNCTIONS[name](a, b), name
    assert FUNCTIONS["rouge_n"](*written, 2) == FUNCTIONS["rouge_n"](one, other, 2)
    assert FUNCTIONS["words"](written[0]) == FUNCTIONS["words"](one)
    if one != other:
        ranked = [written[(one, other).index(each)] for each in FUNCTIONS["nearest"](one, [one, other], 2)]
        assert FUNCTIONS["nearest"](written[0], list(written), 2) == ranked
    for name in ("bleu", "chrf", "ter"):
        figures = [corpus_metric(name, {}, [a], [[b]]).overall() for a, b in ((one, other), written)]
        assert figures[0] == figures[1], name


ENGLISH = ["the cat sat on a mat.", "It's so, and 3.14 is pi"]
CHINESE = ["我喜欢数学。", "今天天气很好", "这只猫坐在垫子上"]
REFERENCES = {
    **dict(zip(ENGLISH, ["the cat sat on the mat.", "It's so, and 3.14 is not pi"], strict=True)),
    **dict(zip(CHINESE, ["我喜欢物理。", "今天天气不错", "那只猫坐在垫子上面"], strict=True)),
}


@pytest.mark.parametrize("said", [ENGLISH, CHINESE])
def test_a_corpus_of_one_language_has_the_figure_of_sacrebleu(said: list[str]) -> None:
    true = [[REFERENCES[text]] for text in said]
    chinese = said is CHINESE
    for name, scorer in {
        "bleu": BLEU(tokenize="zh" if chinese else "13a"),
        "chrf": CHRF(),
        "ter": TER(normalized=chinese, asian_support=chinese),
    }.items():
        expected = scorer.corpus_score(said, [[each for (each,) in true]]).score
        assert corpus_metric(name, {}, said, true).overall() == pytest.approx(expected), name
        assert 0 < expected < 100
    for tokenizer in ("13a", "zh", "intl", "char", "none"):
        expected = BLEU(tokenize=tokenizer).corpus_score(said, [[each for (each,) in true]]).score
        assert corpus_metric("bleu", {"tokenize": tokenizer}, said, true).overall() == pytest.approx(expected)


def test_each_text_of_a_mixed_corpus_has_the_tokens_of_its_language() -> None:
    said = [*ENGLISH, *CHINESE]
    sums = [0.0] * 10
    for text in said:
        scorer = BLEU(tokenize="zh" if text in CHINESE else "13a")
        [counts] = scorer._extract_corpus_statistics([text], [[REFERENCES[text]]])
        sums = [one + other for one, other in zip(sums, counts, strict=True)]
    expected = BLEU()._compute_score_from_stats([int(each) for each in sums]).score
    assert corpus_metric("bleu", {}, said, [[REFERENCES[text]] for text in said]).overall() == pytest.approx(expected)


@pytest.mark.parametrize(("said", "true"), [("わたしはねこです", "わたしはいぬです"), ("ฉันชอบแมวมาก", "ฉันชอบหมามาก")])
def test_letters_without_spaces_between_words_are_tokens(said: str, true: str) -> None:
    expected = (
        BLEU(tokenize="char", effective_order=True).sentence_score("わたしはねこです", ["わたしはいぬです"]).score
    )
    if said[0] == "わ":
        assert FUNCTIONS["bleu"](said, true) == pytest.approx(expected)
    assert 10 < FUNCTIONS["bleu"](said, true) < 100
    assert 10 < (corpus_metric("bleu", {}, [said], [[true]]).overall() or 0) < 100
    assert 0 < (corpus_metric("ter", {}, [said], [[true]]).overall() or 0) < 50


SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { stem text, answer text secret }
scenario one {
  over item
  ask reply by candidate { prompt "{{ item.stem }}" }
  score like = bleu(reply.text, item.answer)
  measure corpus = corpus_bleu(reply.text, item.answer, tokenize: WORD)
}
"""


@pytest.mark.parametrize("word", ["13a", '"13a"', "zh", "intl", "char", "none", "auto"])
def test_a_tokenizer_is_written_as_the_page_has_it(tmp_path: object, word: str) -> None:
    spec = SPEC.replace("WORD", word)
    found = compile_files(tmp_path, {"spec.tripos": spec, "items.jsonl": '{"stem": "a", "answer": "b"}'})
    assert [each.message for each in found.diagnostics if each.severity == "error"] == []
    assert found.plan is not None
    assert f'"tokenize":"{word.strip(chr(34))}"' in found.plan.model_dump_json()
    assert f"tokenize: {word})" in format_text(spec, "spec.tripos")


def test_a_tokenizer_that_is_none_is_told(tmp_path: object) -> None:
    files = {"spec.tripos": SPEC.replace("WORD", "14a"), "items.jsonl": '{"stem": "a", "answer": "b"}'}
    [found] = [each for each in compile_files(tmp_path, files).diagnostics if each.severity == "error"]
    assert found.code == "E0303"
