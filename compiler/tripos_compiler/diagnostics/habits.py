"""Words and signs of specs for those of Python, SQL, scikit-learn, Inspect and the LM Evaluation Harness.

An author who writes `len(x)` or `str` means something that has another name here. Spelling would lead some of these
words to a name with another meaning: `str` is close to `set`, and `balanced_accuracy` to `accuracy`. So the tables come
before the comparison of spellings in `suggest_notation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from tripos_compiler.diagnostics.diagnostic import suggest

Kind = Literal["type", "function", "aggregate", "statement", "value", "operator", "clause", "figure clause"]
"""Kinds of words: types, functions of expressions, aggregates of measures, the first words of statements, names in
expressions, operators, and words after the value of a statement and of a measure."""


_NOTATIONS: dict[Kind, dict[str, str]] = {
    "type": {
        **dict.fromkeys(("str", "string", "varchar", "char", "date", "datetime"), "text"),
        **dict.fromkeys(("int", "int64", "long", "bigint"), "integer"),
        **dict.fromkeys(("float", "float64", "double", "decimal", "real", "numeric"), "number"),
        "boolean": "bool",
        **dict.fromkeys(("array", "vector", "tuple", "sequence", "iterable"), "list<text>"),
        **dict.fromkeys(("dict", "dictionary", "map", "mapping", "object", "struct"), "{ a text, b integer }"),
        **dict.fromkeys(("enum", "literal", "category", "categorical", "label", "classlabel"), "choice(A, B)"),
        **dict.fromkeys(("optional", "nullable"), "text?"),
        **dict.fromkeys(("messages", "conversation"), "dialogue"),
    },
    "function": {
        **dict.fromkeys(("len", "size", "count", "strlen", "char_length", "num_words"), "length(x)"),
        **dict.fromkeys(("strip", "lstrip", "rstrip"), "trim(x)"),
        **dict.fromkeys(("lowercase", "tolower", "casefold", "lcase"), "lower(x)"),
        **dict.fromkeys(("uppercase", "toupper", "ucase"), "upper(x)"),
        "startswith": "starts_with(x, part)",
        "endswith": "ends_with(x, part)",
        **dict.fromkeys(("includes", "has", "instr"), "contains(x, part)"),
        **dict.fromkeys(("substring", "substr", "left", "right", "head"), "slice(x, start, count)"),
        **dict.fromkeys(("concat", "concat_ws", "string_agg"), 'join(list, ", ")'),
        **dict.fromkeys(("if", "iff", "iif", "ifelse", "if_else", "case", "cond"), "choose(condition, this, other)"),
        **dict.fromkeys(("coalesce", "ifnull", "nvl", "isnull", "fillna"), "default(x, fallback)"),
        **dict.fromkeys(("extract", "regexp_extract", "regex_extract", "capture"), "regex(x, pattern)"),
        **dict.fromkeys(("findall", "finditer", "extract_all"), "regex_all(x, pattern)"),
        **dict.fromkeys(("search", "match", "fullmatch", "test", "rlike", "regexp_matches"), "matches(x, pattern)"),
        **dict.fromkeys(("sub", "gsub", "regexp_replace", "re_sub"), "regex_replace(x, pattern, new)"),
        **dict.fromkeys(("int", "float", "to_number", "parse_int", "parse_float"), "number(x)"),
        **dict.fromkeys(("str", "string", "format", "f"), '"{{ x }}"'),
        **dict.fromkeys(("shuffle", "permute"), "shuffled(list, by)"),
        **dict.fromkeys(("sample", "random", "choice", "choices"), "drawn(list, count, by)"),
        **dict.fromkeys(("unique", "set", "dedupe", "drop_duplicates"), "distinct(list)"),
        "sort": "sorted(list)",
        "enumerate": "numbered(list)",
        **dict.fromkeys(("get", "index", "element_at", "at"), "nth(list, 0)"),
        **dict.fromkeys(("levenshtein", "edit_distance", "fuzz"), "edit_similarity(x, y)"),
        "exact_match": "exact(x, y)",
        **dict.fromkeys(("pow", "exponent"), "power(x, y)"),
        "ln": "log(x)",
        **dict.fromkeys(("dumps", "to_json"), "json(x)"),
        **dict.fromkeys(("loads", "parse_json", "json_extract", "json_loads"), "json_part(x, path, text)"),
        **dict.fromkeys(("mean", "avg", "average"), "sum(list) / length(list)"),
    },
    "aggregate": {
        **dict.fromkeys(("avg", "average", "nanmean"), "mean(x)"),
        **dict.fromkeys(("std", "stddev", "sd", "std_dev"), "stdev(x)"),
        **dict.fromkeys(("total",), "sum(x)"),
        **dict.fromkeys(("percent", "percentage", "rate", "proportion", "fraction"), "share(x)"),
        **dict.fromkeys(("len", "length", "n", "size"), "count(x)"),
        **dict.fromkeys(("acc", "accuracy_score"), "accuracy(x, gold)"),
        **dict.fromkeys(
            ("macro", "macro_f1", "f1_macro", "f1_score", "micro_f1", "f1_micro", "weighted_f1"),
            "f1(x, gold, average: macro)",
        ),
        "precision_score": "precision(x, gold)",
        "recall_score": "recall(x, gold)",
        **dict.fromkeys(("matthews", "matthews_corrcoef", "matthews_corr"), "mcc(x, gold)"),
        **dict.fromkeys(("auc", "roc_auc", "roc_auc_score", "auroc_score"), "auroc(x, gold)"),
        **dict.fromkeys(("kappa", "cohens_kappa", "cohen_kappa_score"), "cohen_kappa(x) across ROLE"),
        **dict.fromkeys(("qwk", "weighted_kappa"), "quadratic_kappa(x) across ROLE"),
        **dict.fromkeys(("alpha", "krippendorff"), "krippendorff_alpha(x) across ROLE"),
        **dict.fromkeys(("spearmanr", "rank_correlation"), "spearman(x, y)"),
        **dict.fromkeys(("kendalltau", "kendall"), "kendall_tau(x, y)"),
        **dict.fromkeys(("brier_score", "brier_score_loss"), "brier(x, gold)"),
        **dict.fromkeys(("calibration_error", "expected_calibration_error"), "ece(x, gold)"),
        **dict.fromkeys(("pass_at_k", "passk"), "pass_at(1, x)"),
        **dict.fromkeys(("pass_hat_k", "pass_hat"), "pass_all(2, x)"),
        **dict.fromkeys(("elo", "elo_rating"), "bradley_terry(x)"),
        "bleu": "corpus_bleu(x, references)",
        "chrf": "corpus_chrf(x, references)",
        "ter": "corpus_ter(x, references)",
    },
    "statement": {
        **dict.fromkeys(("import", "include", "from", "require_file"), 'use "other.tripos"'),
        **dict.fromkeys(("model", "models", "solver", "agent"), "role NAME compared"),
        **dict.fromkeys(("task", "eval", "test", "tests"), "scenario NAME { … }"),
        **dict.fromkeys(("messages", "message", "user", "input", "template"), 'prompt "…"'),
        **dict.fromkeys(("system_prompt", "system_message"), 'system "…"'),
        **dict.fromkeys(("n", "epochs", "num_samples", "repeats"), "samples 5"),
        **dict.fromkeys(("max_new_tokens", "max_gen_toks", "max_completion_tokens"), "max_tokens 400"),
        **dict.fromkeys(("num_fewshot", "fewshot", "few_shot", "examples"), "shots 5 from DATASET"),
        **dict.fromkeys(("output", "response_format", "schema", "output_type"), "returns { a text }"),
        **dict.fromkeys(("metric_list", "metrics_list", "aggregation"), "measure NAME = mean(x)"),
        **dict.fromkeys(("assert", "threshold", "gate"), "expect NAME > 0.5"),
        **dict.fromkeys(("def", "fn", "var", "const"), "let NAME = VALUE"),
        **dict.fromkeys(("data", "dataset_path", "data_files"), 'dataset NAME from "file.jsonl" { … }'),
        **dict.fromkeys(("filter",), "over DATASET where CONDITION"),
    },
    "value": {
        **dict.fromkeys(("null", "none", "nil", "nan", "undefined", "na"), "default(x, fallback)"),
    },
    "operator": {
        **dict.fromkeys(("&&", "&"), "and"),
        **dict.fromkeys(("||", "|"), "or"),
        "!": "not",
        "===": "==",
        "<>": "!=",
        ":=": "=",
        "//": "floor(x / y)",
        "**": "power(x, y)",
        "^": "power(x, y)",
        "%": "x - y * floor(x / y)",
        "++": 'join((x, y), "")',
        "~": "matches(x, pattern)",
        "`": '"…"',
        "'": '"…"',
    },
    "clause": {
        **dict.fromkeys(("if", "else", "unless"), "choose(condition, this, other)"),
        "is": "x == y",
        **dict.fromkeys(("for", "lambda"), "VALUE each NAME in LIST"),
    },
    "figure clause": {
        **dict.fromkeys(("group", "groupby", "per", "over"), "mean(x) by DIMENSION"),
        **dict.fromkeys(("where", "filter", "when", "if"), "mean(x, where: CONDITION)"),
        "having": "expect NAME > 0.5",
        **dict.fromkeys(("minimize", "lower_is_better", "desc"), "mean(x) lower is better"),
        **dict.fromkeys(("maximize", "higher_is_better", "asc"), "mean(x) higher is better"),
    },
}
NOTATIONS: Mapping[Kind, Mapping[str, str]] = MappingProxyType(_NOTATIONS)
"""By kind, the notation of this language for words and signs of others, in lower case."""


MISPLACED: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("scorer", "returns"): "gives 1..5",
        ("ask", "gives"): "returns { a text }",
    }
)
"""The notation of a statement in a block, by the block and by the word of a statement that belongs elsewhere."""


_RECORD = "reasons and a verdict are written `gives { reasons text, verdict bool }`; `in` is for a verdict alone"
AFTER_BLOCK: Mapping[tuple[str, str], str] = MappingProxyType({("gives", "in"): _RECORD})
"""The help for a word after the block of a statement, by the word before the block and by that word."""


def notation_for(kind: Kind, word: str) -> str | None:
    """Return the notation for a word or sign of another language, or None if it is not known.

    >>> notation_for("type", "str"), notation_for("value", "None"), notation_for("function", "bleu")
    ('text', 'default(x, fallback)', None)
    """
    return NOTATIONS[kind].get(word.casefold())


def suggest_notation(kind: Kind, word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the hint for an unknown word: the notation for it, else the known name of nearly the same spelling, else
    `otherwise`.

    >>> suggest_notation("function", "len", ["length"], "see the list")
    'here it is written `length(x)`'
    >>> suggest_notation("function", "lenght", ["length"], "see the list")
    'did you mean `length`?'
    """
    notation = notation_for(kind, word)
    return f"here it is written `{notation}`" if notation is not None else suggest(word, known, otherwise)
