"""Options of the commands that run a benchmark: plan, run, teach."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import (
    above_zero,
    add_junit,
    add_programs,
    add_roles,
    add_spec,
    add_store_options,
    count,
    minutes_long,
    positive,
    seconds,
    wait,
)


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos plan`."""
    add_spec(parser, several="planned")
    add_roles(parser)
    _add_shard(parser)
    _add_batch(parser)
    _add_until(parser)
    add_store_options(parser)
    _add_reuse(parser)
    help_ = "print the prompts of the first N items of each scenario, whole (default: 1), and nothing else"
    parser.add_argument("--prompts", type=positive, nargs="?", const=1, metavar="N", help=help_)
    help_ = "print the plan itself; with --prompts the prompts"
    parser.add_argument("--json", action="store_true", help=help_)
    help_ = "find the cheapest design that detects this difference of two models, in the unit of the measure"
    parser.add_argument("--detect", type=above_zero, metavar="DIFFERENCE", help=help_)
    help_ = "find the design that detects the least difference for this amount: 20usd or 1000calls"
    parser.add_argument("--spend", metavar="AMOUNT", help=help_)
    help_ = "with --detect or --spend: the measure (default: the first of the headline)"
    parser.add_argument("--measure", metavar="NAME", help=help_)
    help_ = "with --detect or --spend: the items of a pilot, where the store says nothing yet (default: 20)"
    parser.add_argument("--pilot", type=positive, metavar="N", help=help_)
    help_ = (
        "with --detect or --spend: the price in USD of a reply that a person grades, so that designs may have labels"
    )
    parser.add_argument("--label-price", type=above_zero, metavar="USD", help=help_)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos run`."""
    add_spec(parser, several="run")
    help_ = "fetch the releases that the spec extends from where it says, as `tripos fetch` does"
    parser.add_argument("--fetch", action="store_true", help=help_)
    help_ = "make the calls in N processes, which share the limits and the budget (default: 1)"
    parser.add_argument("--workers", type=positive, metavar="N", default=1, help=help_)
    _add_cluster(parser)
    _add_until(parser)
    _add_batch(parser)
    help_ = "with --batch: submit the batches and leave; the same command again collects them (exit code 75)"
    parser.add_argument("--detach", action="store_true", help=help_)
    _add_running(parser)


def _add_shard(parser: argparse.ArgumentParser) -> None:
    """Add the options for a shard of the items."""
    help_ = "use only the I-th of N parts of the items, which a hash decides: for several machines"
    parser.add_argument("--shard", metavar="I/N", help=help_)
    help_ = "with --shard: take the N-th part of the limits and the budget too"
    parser.add_argument("--divide", action="store_true", help=help_)


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the options for a run on a cluster."""
    help_ = "run shards on a cluster: print an array of Slurm or a Job of Kubernetes, or run tasks of Ray"
    parser.add_argument("--on", choices=("slurm", "k8s", "ray"), help=help_)
    parser.add_argument("--submit", action="store_true", help="with --on: hand the script to sbatch or kubectl")
    parser.add_argument("--write", metavar="FILE", help="with --on: write the script to a file")
    parser.add_argument("--shards", type=positive, metavar="N", help="with --on: the number of shards (default: 8)")
    help_ = "with --on: the longest time of a shard (slurm, default: 4h), or of the Job (k8s)"
    parser.add_argument("--time-limit", type=minutes_long, metavar="TIME", help=help_)
    parser.add_argument(
        "--image", metavar="IMAGE", help="with --on k8s: a container image with Tripos and the benchmark"
    )


def _add_until(parser: argparse.ArgumentParser) -> None:
    """Add the options for early stopping."""
    help_ = (
        "settled: take items in random order, and stop when every comparison of models and every `expect` is settled;"
        " end: go on to the last item (default: as the spec says)"
    )
    parser.add_argument("--until", choices=("settled", "end"), help=help_)
    help_ = "with --until: stop when every measure is this close to what all items would show, such as 0.02"
    parser.add_argument("--margin", type=above_zero, metavar="M", help=help_)


def _add_reuse(parser: argparse.ArgumentParser) -> None:
    """Add the option for other stores whose replies are reused."""
    help_ = "take over the replies that this other store has, and only read it; may be repeated"
    parser.add_argument("--reuse", metavar="STORE", action="append", default=[], help=help_)


def _add_batch(parser: argparse.ArgumentParser) -> None:
    """Add the option for batches."""
    help_ = "ask models in batches of their providers: half the price, and replies within a day"
    parser.add_argument("--batch", action="store_true", help=help_)


def _add_running(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that runs a benchmark."""
    add_roles(parser)
    _add_shard(parser)
    add_store_options(parser)
    _add_reuse(parser)
    help_ = "largest number of concurrent calls to an endpoint (default: 16)"
    parser.add_argument("--max-connections", type=positive, metavar="N", help=help_)
    help_ = "retries for transient errors (default: 5)"
    parser.add_argument("--max-retries", type=count, metavar="N", help=help_)
    help_ = "spend at most this amount: 5usd, 200000tokens or 1000calls; may be repeated for other units"
    parser.add_argument("--budget", metavar="AMOUNT", action="append", default=[], help=help_)
    help_ = "timeout of a call with its retries, in seconds (default: 600)"
    parser.add_argument("--timeout", type=seconds, metavar="S", help=help_)
    help_ = "time that an endpoint may be silent before its calls fail, in seconds (default: 900)"
    parser.add_argument("--patience", type=wait, metavar="S", help=help_)
    help_ = "refuse to run with data, models, prices or functions that differ from the lock file (default: tripos.lock)"
    parser.add_argument("--locked", metavar="FILE", nargs="?", const="tripos.lock", help=help_)
    add_programs(parser)
    parser.add_argument("--dry-run", action="store_true", help="forecast calls, reuse and cost; make no call")
    help_ = "write the progress of the run as JSON Lines to a file, or to standard output for `-`"
    parser.add_argument("--events", metavar="FILE", help=help_)
    add_junit(parser)
    help_ = "show every endpoint too: running calls, waiting calls and retries"
    parser.add_argument("-v", "--verbose", action="store_true", help=help_)
    parser.add_argument("--sql", action="store_true", help="print the SQL of the headline too")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON instead of the headline")


def add_teach(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos teach`: those of `tripos run`, and the name of the person."""
    parser.add_argument(
        "--name", metavar="NAME", required=True, help="your name; the model of your turns is human/NAME"
    )
    add_spec(parser)
    parser.set_defaults(workers=1, batch=False, detach=False)  # the person is at this process
    _add_running(parser)
