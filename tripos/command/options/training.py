"""Options of the verb that trains models."""

from __future__ import annotations

import argparse

from tripos.command.options.common import add_deny, add_store
from tripos.command.options.kinds import above_zero, count, positive, share
from tripos.command.parser import Parser


def add_train(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos train`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    sft = actions.add_parser("sft", help="supervised fine-tuning: a model learns the replies of chats")
    help_ = "chats as JSON Lines, or a spec: the export that it declares, of its last run"
    sft.add_argument("source", metavar="FILE", help=help_)
    sft.add_argument("--model", metavar="NAME", required=True, help="a name of the Hub, a folder or a .gguf file")
    sft.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder of the model that is made")
    sft.add_argument("--epochs", type=above_zero, default=1.0, metavar="N", help="times through the data (default: 1)")
    sft.add_argument("--max-steps", type=positive, metavar="N", help="end after so many steps")
    help_ = "highest learning rate (default: 2e-5, with --lora 2e-4)"
    sft.add_argument("--learning-rate", type=above_zero, metavar="N", help=help_)
    sft.add_argument("--batch", type=positive, default=16, metavar="N", help="chats in a step (default: 16)")
    help_ = "chats that go through the model together (default: 8 on a GPU, 1 on a CPU)"
    sft.add_argument("--at-once", type=positive, metavar="N", help=help_)
    help_ = "leave out chats of more tokens (default: 2048)"
    sft.add_argument("--max-tokens", type=positive, default=2048, metavar="N", help=help_)
    help_ = "train adapters of this rank, and merge them, instead of all weights"
    sft.add_argument("--lora", type=count, default=0, metavar="RANK", help=help_)
    help_ = "share of the items that is held out, to see what was learned (default: 0.1)"
    sft.add_argument("--held-out", type=share, default=0.1, metavar="SHARE", help=help_)
    sft.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the split, the order and adapters (default: 0)"
    )
    sft.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where (default: a GPU if any)")
    sft.add_argument("--export", metavar="NAME", help="of a spec: this export")
    sft.add_argument("--run", metavar="RUN", help="of a spec: this run (default: the last)")
    help_ = "of a spec: look for data files here too"
    sft.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_deny(sft)
    add_store(sft)
    sft.add_argument("--json", action="store_true", help="print the report as JSON")
