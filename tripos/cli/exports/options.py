"""Options of the verbs that export results and train models: export, train."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import above_zero, add_deny, add_store_options, add_untrusted, amount, count, positive, share
from tripos.cli.parser import Parser
from tripos.training import RECIPES


def add_export(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos export`."""
    help_ = (
        "distillation, preferences, eee, inspect, lm-eval, hub, otel, csv, parquet, xlsx, "
        "or the name of an `export` of the spec"
    )
    parser.add_argument("what", metavar="KIND", help=help_)
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: the last run)")
    parser.add_argument("-o", "--output", metavar="PATH", help="the file, or the folder, to write")
    help_ = "export pairs from the data of this spec, without a run"
    parser.add_argument("--spec", metavar="PATH", help=help_)
    help_ = "with --spec: search this folder for data too"
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_untrusted(parser)
    parser.add_argument("--by", metavar="NAME", help="measure or score that ranks models, or replies")
    help_ = "choose the best model in each of these: scenario, metric, an axis, an arm"
    parser.add_argument("--per", metavar="DIM[,DIM]", action="append", default=[], help=help_)
    help_ = "export all replies of a model that is best in any cell, not only those of the cell"
    parser.add_argument("--every", action="store_true", help=help_)
    help_ = "export replies of these runs, graded or not; RUN determines the best models"
    parser.add_argument("--replies-of", metavar="RUN[,RUN]", action="append", default=[], help=help_)
    parser.add_argument(
        "--margin", type=amount, metavar="N", help="leave out pairs with a smaller difference (default: 0)"
    )
    help_ = "export the replies of these asks (default: the scored ones)"
    parser.add_argument("--rows", metavar="STEP[,STEP]", action="append", default=[], help=help_)
    parser.add_argument("--format", choices=("chat", "completion"), help="set the format of a line (default: chat)")
    help_ = "export replies of these models only (default: all models under test)"
    parser.add_argument("--models", metavar="A[,B]", action="append", default=[], help=help_)
    help_ = "export replies of this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    help_ = "export replies with this value of an axis or arm only; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "leave out the items of these subsets (default: all of the spec's)"
    parser.add_argument("--hold-out", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "leave out the items of these runs, which may be of other benchmarks"
    parser.add_argument("--apart-from", metavar="RUN[,RUN]", action="append", default=[], help=help_)
    help_ = "export these tables only: items, samples, scores, measures"
    parser.add_argument("--table", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "write texts unchanged, also those that a spreadsheet takes for formulas"
    parser.add_argument("--raw", action="store_true", help=help_)
    parser.add_argument("--organization", metavar="NAME", help="organization that ran the benchmark, for eee and hub")
    parser.add_argument("--dataset", metavar="OWNER/NAME", help="data set of the benchmark on the Hub, for hub")
    parser.add_argument("--source", metavar="URL", help="address where the results can be read, for hub")
    parser.add_argument("--to", metavar="URL", help="endpoint of OTLP over HTTP, for otel")
    help_ = "write or send messages and replies of the models under test too, for hub and otel"
    parser.add_argument("--content", action="store_true", help=help_)
    help_ = "write secrets too, and the prompts and replies of other roles"
    parser.add_argument("--secrets", action="store_true", help=help_)
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")


def add_emit(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos emit`."""
    forms = ("jsonschema", "lm-eval", "openai-evals", "promptfoo")
    help_ = "the form: jsonschema, lm-eval, openai-evals or promptfoo"
    parser.add_argument("form", choices=forms, metavar="FORM", help=help_)
    parser.add_argument("path", metavar="SPEC", help="a spec, a folder with one, or a release")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder to write")
    help_ = "search this folder for data files too"
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_untrusted(parser)
    add_deny(parser)
    parser.add_argument("--json", action="store_true", help="print the files and what is lost as JSON")


def add_train(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos train`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    _add_sft(actions)
    _add_reward(actions)


def _add_reward(actions: argparse._SubParsersAction[Parser]) -> None:
    """Options of `tripos train reward`."""
    reward = actions.add_parser("reward", help="train a reward model on pairs of a better and a worse reply")
    help_ = "pairs as JSON Lines, or a spec, for the pairs of its exports"
    reward.add_argument("source", metavar="FILE", help=help_)
    help_ = "with a spec: train on these exports (default: those for training, or all that are not tested)"
    reward.add_argument("--export", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = (
        "test on these pairs: a file, or exports of the spec (default: those for the test, or a fifth of the topics)"
    )
    reward.add_argument("--test", metavar="WHAT", action="append", default=[], help=help_)
    help_ = "leave out pairs with a reply by these authors (see `by`)"
    reward.add_argument("--without", metavar="WHO[,WHO]", action="append", default=[], help=help_)
    reward.add_argument("-o", "--output", metavar="DIR", required=True, help="folder of the new model")
    help_ = "base model: a name of the Hub or a folder (default: all-MiniLM-L6-v2, which comes with the extra)"
    reward.add_argument("--model", metavar="NAME", default="all-MiniLM-L6-v2", help=help_)
    help_ = "train a head on a frozen base, classifiers of criteria, or all weights (default: head)"
    reward.add_argument("--tune", choices=("head", "criteria", "all"), default="head", help=help_)
    help_ = "with --tune all: times through the data (default: 1)"
    reward.add_argument("--epochs", type=positive, default=1, metavar="N", help=help_)
    help_ = "with --tune all: highest learning rate (default: 1e-5)"
    reward.add_argument("--learning-rate", type=above_zero, default=1e-5, metavar="N", help=help_)
    help_ = "with --tune all: pairs in a step (default: 16)"
    reward.add_argument("--batch", type=positive, default=16, metavar="N", help=help_)
    reward.add_argument("--at-once", type=positive, metavar="N", help="replies in a batch (default: 32)")
    help_ = "tokens of context before a reply (default: as many as the base reads, up to 512)"
    reward.add_argument("--context", type=count, metavar="N", help=help_)
    reward.add_argument(
        "--max-tokens", type=positive, default=256, metavar="N", help="tokens of a reply (default: 256)"
    )
    help_ = "text before the reply in a scored text (default: Teacher:)"
    reward.add_argument("--marker", metavar="TEXT", default="Teacher:", help=help_)
    reward.add_argument("--no-margin", action="store_true", help="ignore the margins of the pairs")
    help_ = "share of the topics that choose the recipe (default: 0.1)"
    reward.add_argument("--held-out", type=share, default=0.1, metavar="SHARE", help=help_)
    help_ = "trainings of each variant in the audit (default: 5)"
    reward.add_argument("--seeds", type=positive, default=5, metavar="N", help=help_)
    help_ = "trainings on shuffled labels in the audit (default: 20)"
    reward.add_argument("--shuffled", type=count, default=20, metavar="N", help=help_)
    reward.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the final model (default: 0)")
    help_ = "device (default: a GPU if there is one)"
    reward.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help=help_)
    help_ = "with a spec: search this folder for data files too"
    reward.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_deny(reward)
    reward.add_argument("--json", action="store_true", help="print the report as JSON")


def _add_sft(actions: argparse._SubParsersAction[Parser]) -> None:
    """Options of `tripos train sft`."""
    sft = actions.add_parser("sft", help="train a model on the replies of chats (supervised fine-tuning)")
    help_ = "chats as JSON Lines, or a spec, for the export of its last run"
    sft.add_argument("source", metavar="FILE", help=help_)
    sft.add_argument("--model", metavar="NAME", required=True, help="a name of the Hub, a folder or a .gguf file")
    sft.add_argument("-o", "--output", metavar="DIR", required=True, help="folder of the new model")
    help_ = "use the recipe of this paper; other options override it"
    sft.add_argument("--recipe", choices=tuple(RECIPES), help=help_)
    sft.add_argument("--epochs", type=above_zero, metavar="N", help="times through the data (default: 1)")
    sft.add_argument("--max-steps", type=positive, metavar="N", help="end after N steps")
    help_ = "highest learning rate (default: 2e-5, with --lora 2e-4)"
    sft.add_argument("--learning-rate", type=above_zero, metavar="N", help=help_)
    sft.add_argument("--batch", type=positive, metavar="N", help="chats in a step (default: 16)")
    help_ = "chats that go through the model together (default: 8 on a GPU, 1 on a CPU)"
    sft.add_argument("--at-once", type=positive, metavar="N", help=help_)
    help_ = "leave out chats of more tokens (default: 2048)"
    sft.add_argument("--max-tokens", type=positive, metavar="N", help=help_)
    help_ = "share of the steps in which the learning rate rises (default: 0.03)"
    sft.add_argument("--warmup", type=share, metavar="SHARE", help=help_)
    sft.add_argument("--weight-decay", type=share, metavar="N", help="decay of the weights (default: 0)")
    help_ = "train adapters of this rank, and merge them, instead of all weights"
    sft.add_argument("--lora", type=count, default=0, metavar="RANK", help=help_)
    help_ = "share of the items to hold out for the evaluation (default: 0.1)"
    sft.add_argument("--held-out", type=share, metavar="SHARE", help=help_)
    sft.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the split, the order and the adapters (default: 0)"
    )
    sft.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="device (default: a GPU if there is one)"
    )
    sft.add_argument("--export", metavar="NAME", help="with a spec: use this export")
    sft.add_argument("--run", metavar="RUN", help="with a spec: use this run (default: the last run)")
    help_ = "with a spec: search this folder for data files too"
    sft.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_deny(sft)
    add_store_options(sft)
    sft.add_argument("--json", action="store_true", help="print the report as JSON")
