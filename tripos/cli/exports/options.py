"""Options of the verbs that export results and train models: export, train."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import above_zero, add_deny, add_store_options, amount, count, positive, share
from tripos.cli.parser import Parser
from tripos.training.recipe import RECIPES


def add_export(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos export`."""
    help_ = "distillation, preferences, eee, csv, parquet, xlsx, or the name of an `export` of the spec"
    parser.add_argument("what", metavar="KIND", help=help_)
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or the beginning of its name (default: the last)")
    parser.add_argument("-o", "--output", metavar="PATH", required=True, help="the file, or the folder, to write")
    help_ = "of this spec, not of a run: pairs that an `export` makes of data"
    parser.add_argument("--spec", metavar="PATH", help=help_)
    help_ = "with --spec: look for data here too"
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    parser.add_argument("--by", metavar="NAME", help="the measure or score that says what is better")
    help_ = "the model that is best in each of these: scenario, metric, an axis, an arm"
    parser.add_argument("--per", metavar="DIM[,DIM]", action="append", default=[], help=help_)
    help_ = "all replies of a model that is best in any of these, and not those there alone"
    parser.add_argument("--every", action="store_true", help=help_)
    help_ = "replies of these runs, graded or not; RUN says which models are best"
    parser.add_argument("--replies-of", metavar="RUN[,RUN]", action="append", default=[], help=help_)
    parser.add_argument("--margin", type=amount, metavar="N", help="leave out pairs that are less apart (default: 0)")
    help_ = "the asks whose replies are exported (default: those that are scored)"
    parser.add_argument("--rows", metavar="STEP[,STEP]", action="append", default=[], help=help_)
    parser.add_argument("--format", choices=("chat", "completion"), help="how a line is written (default: chat)")
    help_ = "replies of these models only (default: all that are compared)"
    parser.add_argument("--models", metavar="A[,B]", action="append", default=[], help=help_)
    help_ = "replies in this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    help_ = "replies whose axis or arm has this value only; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "leave out the items of these subsets (default: all of the spec's)"
    parser.add_argument("--hold-out", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "leave out the items of these runs, which may be of other benchmarks"
    parser.add_argument("--apart-from", metavar="RUN[,RUN]", action="append", default=[], help=help_)
    help_ = "these tables only: items, samples, scores, measures"
    parser.add_argument("--table", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "write texts as they are, also those that a spreadsheet would take for formulas"
    parser.add_argument("--raw", action="store_true", help=help_)
    parser.add_argument("--organization", metavar="NAME", help="who ran the benchmark, as it is said in eee")
    help_ = "write also what the spec marks as secret, and what other roles were told"
    parser.add_argument("--secrets", action="store_true", help=help_)
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def add_train(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos train`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    _add_sft(actions)
    _add_reward(actions)


def _add_reward(actions: argparse._SubParsersAction[Parser]) -> None:
    """Options of `tripos train reward`."""
    reward = actions.add_parser("reward", help="a reward model: learns which of two replies is better")
    help_ = "pairs as JSON Lines, or a spec: the pairs that its exports make of data"
    reward.add_argument("source", metavar="FILE", help=help_)
    help_ = "of a spec: learn these exports (default: those for training, or all that are not tested)"
    reward.add_argument("--export", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "test on these pairs: a file, or exports of the spec (default: those for test, or a fifth of the topics)"
    reward.add_argument("--test", metavar="WHAT", action="append", default=[], help=help_)
    help_ = "learn no pair with a reply by these, whom `by` names"
    reward.add_argument("--without", metavar="WHO[,WHO]", action="append", default=[], help=help_)
    reward.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder of the model that is made")
    help_ = "base model: a name of the Hub or a folder (default: all-MiniLM-L6-v2, which comes with the extra)"
    reward.add_argument("--model", metavar="NAME", default="all-MiniLM-L6-v2", help=help_)
    help_ = "learn a head on a base that stays as it is, classifiers of criteria, or all weights (default: head)"
    reward.add_argument("--tune", choices=("head", "criteria", "all"), default="head", help=help_)
    help_ = "with --tune all: times through the data (default: 1)"
    reward.add_argument("--epochs", type=positive, default=1, metavar="N", help=help_)
    help_ = "with --tune all: highest learning rate (default: 1e-5)"
    reward.add_argument("--learning-rate", type=above_zero, default=1e-5, metavar="N", help=help_)
    help_ = "with --tune all: pairs in a step (default: 16)"
    reward.add_argument("--batch", type=positive, default=16, metavar="N", help=help_)
    reward.add_argument("--at-once", type=positive, metavar="N", help="replies that are read together (default: 32)")
    help_ = "tokens before a reply that are read with it (default: as many as the base reads, up to 512)"
    reward.add_argument("--context", type=count, metavar="N", help=help_)
    reward.add_argument("--max-tokens", type=positive, default=256, metavar="N", help="of a reply (default: 256)")
    help_ = "what stands before the reply in a text that is scored (default: Teacher:)"
    reward.add_argument("--marker", metavar="TEXT", default="Teacher:", help=help_)
    reward.add_argument("--no-margin", action="store_true", help="do not count by how much a reply is better")
    help_ = "share of the topics by which the recipe is chosen (default: 0.1)"
    reward.add_argument("--held-out", type=share, default=0.1, metavar="SHARE", help=help_)
    help_ = "trainings of each variant in the audit (default: 5)"
    reward.add_argument("--seeds", type=positive, default=5, metavar="N", help=help_)
    help_ = "trainings on shuffled labels in the audit (default: 20)"
    reward.add_argument("--shuffled", type=count, default=20, metavar="N", help=help_)
    reward.add_argument("--seed", type=int, default=0, metavar="N", help="of the model that is kept (default: 0)")
    help_ = "where (default: a GPU if any)"
    reward.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help=help_)
    help_ = "of a spec: look for data files here too"
    reward.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_deny(reward)
    reward.add_argument("--json", action="store_true", help="print the report as JSON")


def _add_sft(actions: argparse._SubParsersAction[Parser]) -> None:
    """Options of `tripos train sft`."""
    sft = actions.add_parser("sft", help="supervised fine-tuning: a model learns the replies of chats")
    help_ = "chats as JSON Lines, or a spec: the export that it declares, of its last run"
    sft.add_argument("source", metavar="FILE", help=help_)
    sft.add_argument("--model", metavar="NAME", required=True, help="a name of the Hub, a folder or a .gguf file")
    sft.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder of the model that is made")
    help_ = "train as this paper did, but for what other options say"
    sft.add_argument("--recipe", choices=tuple(RECIPES), help=help_)
    sft.add_argument("--epochs", type=above_zero, metavar="N", help="times through the data (default: 1)")
    sft.add_argument("--max-steps", type=positive, metavar="N", help="end after so many steps")
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
    help_ = "share of the items that is held out, to see what was learned (default: 0.1)"
    sft.add_argument("--held-out", type=share, metavar="SHARE", help=help_)
    sft.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the split, the order and adapters (default: 0)"
    )
    sft.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where (default: a GPU if any)")
    sft.add_argument("--export", metavar="NAME", help="of a spec: this export")
    sft.add_argument("--run", metavar="RUN", help="of a spec: this run (default: the last)")
    help_ = "of a spec: look for data files here too"
    sft.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_deny(sft)
    add_store_options(sft)
    sft.add_argument("--json", action="store_true", help="print the report as JSON")
