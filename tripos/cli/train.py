"""`tripos train`: trains a model or a reward model on exported data."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tripos.cli.context import Context, InvalidSpec, Outcome
from tripos.cli.exports import compiled_pairs
from tripos.settings.option import listed_names
from tripos.settings.options import ROLE, TrainRewardParameters
from tripos.terminal import message, print_stderr, show_diagnostic
from tripos.training.environment import DATA, NOT_MODEL_FILES, REPORT_FILE, require_extra, silence_libraries
from tripos.training.recipe import Recipe, settings_of
from tripos.training.reward_learners import RewardRecipe
from tripos.training.reward_pairs import named_pairings, pairings_of
from tripos_compiler.diagnostics.text_format import counted, duration
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Pairing, Plan
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.text import table_lines


def summary_lines(report: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield the result of a training for a terminal.

    >>> loss = {"held_out_before": 2.5, "held_out_after": 2.0, "learned": []}
    >>> data = {"held_out": {"lines": 3, "groups": 2}, "grouped_by": "prompt"}
    >>> report = {"loss": loss, "data": data, "steps": 4, "model_sha256": "ab" * 32}
    >>> print("\\n".join(summary_lines({**report, "seconds": {"training": 9.0, "all": 12.0}}, Path("out"))))
    trained for 4 steps in 9 s, written to out
    loss on what was held out: 2.500 before, 2.000 after (3 chats of 2 prompts)
    the data have no provenance: chats were kept together by their prompts
    named abababababab; out/training.json says what it was trained on
    """
    loss, data = report["loss"], report["data"]
    yield f"trained for {report['steps']:,} steps in {duration(report['seconds']['training'])}, written to {folder}"
    if loss["held_out_after"] is not None:
        held = data["held_out"]
        over = f"{held['lines']:,} chats of {held['groups']:,} {data['grouped_by']}s"
        before, after = loss["held_out_before"], loss["held_out_after"]
        yield f"loss on what was held out: {before:.3f} before, {after:.3f} after ({over})"
        if after >= before:
            yield "the model says what was held out no better than before: it learned nothing that carries over"
    else:
        yield "nothing was held out: whether it learned anything that carries over is not known"
    if data["grouped_by"] == "prompt":
        yield "the data have no provenance: chats were kept together by their prompts"
    yield f"named {report['model_sha256'][:12]}; {folder / REPORT_FILE} says what it was trained on"


SETTINGS = (
    "epochs",
    "max_steps",
    "learning_rate",
    "batch",
    "at_once",
    "max_tokens",
    "held_out",
    "warmup",
    "weight_decay",
)
"""Options that a recipe may also set."""


def main(context: Context) -> Outcome:
    """Train a model and return the result. Raises `TriposError`."""
    options = context.options
    if options.action == "reward":
        return train_reward_model(context)
    recipe = _recipe(options)
    require_extra()
    silence_libraries()
    folder = Path(options.output)
    if (folder.exists() and not folder.is_dir()) or (
        folder.is_dir() and any(each.name not in NOT_MODEL_FILES - {REPORT_FILE} for each in folder.iterdir())
    ):
        raise TriposError("S0818", f"there is something in `{folder}`", "give a new folder with `-o DIR`")
    from tripos.training.chats import read_chats
    from tripos.training.environment import choose_device
    from tripos.training.sft import fine_tune

    device = choose_device(options.device)
    given = Path(options.source)
    is_spec = given.is_dir() or given.suffix in ("", ".tripos")
    path = _exported(context, folder / DATA) if is_spec else given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings for developers of libraries
        report = fine_tune(read_chats(path), recipe, device, folder, print_stderr)
    return Outcome(lambda: report, map(message, summary_lines(report, folder)))


def _recipe(options: Namespace) -> Recipe:
    """Return the recipe: options take precedence over the named recipe, and that over the default."""
    said = {name: value for name in SETTINGS if (value := getattr(options, name)) is not None}
    values = {"lora": options.lora, **settings_of(options.recipe, options.lora), **said}
    return Recipe(model=options.model, seed=options.seed, name=options.recipe, **values)


def _exported(context: Context, path: Path) -> Path:
    """Export the training data of a spec or a run, and return the path."""
    from tripos.exporting import OpenRun
    from tripos.exporting.training_data import ReplyOptions, export_replies
    from tripos_warehouse.views.connect import connect_run

    options = context.options
    try:
        plan = context.compiled(options.source).plan
    except InvalidSpec as error:
        fault = f"`{options.source}` has mistakes, so nothing is exported of it"
        raise TriposError("S0813", fault, "fix those above") from error
    names = [export.name for export in plan.exports if export.kind == "best"]
    name = options.export or (names[0] if len(names) == 1 else None)
    if name is None or name not in names:
        some = ", ".join(f"`{each}`" for each in names) or "none"
        what = f"the spec has no export `{name}` of the best replies" if name else "nothing says which export to learn"
        hint = (
            f"`{TrainRewardParameters.export} NAME`; there is {some}"
            if names
            else "declare one: `export NAME { best of … }`"
        )
        raise TriposError("S0601", what, hint)
    store = context.store()
    connection, run = connect_run(store, options.run, plan)
    with connection:
        written = export_replies(OpenRun(store, connection, plan, run), ReplyOptions(name, str(path)), "best")
    Outcome(lines=map(message, written.lines)).show(context.form)  # before the training, which takes long
    return path


WIDTH = 80


def reward_summary_lines(report: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield the result of training a reward model for a terminal."""
    audit, tested = report["audit"], report["data"]["tested"]
    yield f"trained in {duration(report['seconds']['training'])}, audited in {duration(report['seconds']['audit'])}"
    yield f"tested on {counted(tested['pairs'], 'pair')} of {counted(tested['topics'], 'topic')} that were not learned"
    left = tested["left_out"]
    if left["pairs"]:
        some = f"{counted(left['pairs'], 'pair')} of {counted(left['topics'], 'topic')}"
        yield f"not tested, for their topics were learned: {some}"
    yield ""
    null = audit["shuffled_labels"]
    yield from table_lines(_audit_table(audit), WIDTH)
    yield ""
    if null["p"] is not None:
        yield f"p = {null['p']:.3f}: so often shuffled labels reach as much"
    seeds = len(audit["variants"][0]["model"]["values"])
    if seeds > 1:
        yield f"the intervals come of {seeds} seeds, each of which holds out other topics"
    yield f"the better reply is ahead by {report['average_margin']:.2f} on average"
    if report["by_criterion"] is not None:
        alone = " ".join(f"{value:.2f}" for value in report["by_criterion"])
        yield f"right by each criterion alone: {alone}"
    error = audit["standard_error_of_topics"]
    if error is not None:
        yield f"which topics are tested moves the figure by {error:.3f} (standard error)"
    yield f"written to {folder}, named {report['model_sha256'][:12]}"
    yield f"all figures: {folder / REPORT_FILE}"
    yield f"a scorer's role takes it: {ROLE} ROLE=reward/{folder}"


def _audit_table(audit: Mapping[str, Any]) -> Table:
    """Return how often each variant of the model prefers the better reply, beside simple rules and shuffled labels."""
    variants, rules, null = audit["variants"], audit["rules"], audit["shuffled_labels"]
    shuffled = [f"shuffled labels, {len(null['values'])} times"] if null["values"] else []
    more = [None] * (len(rules) + len(shuffled))
    right = [
        *(_estimate(variant["model"]["mean"], variant["model"]["interval"]) for variant in variants),
        *(Estimate(value, "a rule") for value in rules.values()),
        *(Estimate(null["mean"], "shuffled labels") for _ in shuffled),
    ]
    columns = (
        Column("learned", (*map(_variant, variants), *rules, *shuffled)),
        Column("pairs", (*(variant["pairs"] for variant in variants), *more), "count"),
        Column("right", tuple(right), "number", decimals=3),
        Column(
            "SD", (*[None] * (len(variants) + len(rules)), *(null["deviation"] for _ in shuffled)), "number", decimals=3
        ),
        Column(
            "bag of words", (*(variant["bag_of_words"]["mean"] for variant in variants), *more), "number", decimals=3
        ),
        Column("criteria", (*(_mean(variant["criteria"]) for variant in variants), *more), "number", decimals=3),
    )
    optional = ("SD", "criteria")
    return Table(
        tuple(column for column in columns if column.key not in optional or any(c is not None for c in column.cells))
    )


def _estimate(mean: float, interval: Sequence[float] | None) -> Estimate:
    return Estimate(mean, "one seed") if interval is None else Estimate(mean, low=interval[0], high=interval[1])


def _mean(figures: Mapping[str, float] | None) -> float | None:
    return None if figures is None else figures["mean"]


def _variant(each: Mapping[str, Any]) -> str:
    source = each["source"]
    return "all" if source is None else f"without {source}" if each["learned"] == "without" else f"{source} alone"


TEST = "data.test.jsonl"


# Reward models
def train_reward_model(context: Context) -> Outcome:
    """Train a reward model and return the result. Raises `TriposError`."""
    options = context.options
    recipe = _reward_recipe(options)
    require_extra(("torch", "transformers", "sklearn"))
    folder = Path(options.output)
    own = {*NOT_MODEL_FILES, TEST, f"{TEST}.provenance.json"} - {REPORT_FILE}
    if (folder.exists() and not folder.is_dir()) or (
        folder.is_dir() and any(path.name not in own for path in folder.iterdir())
    ):
        raise TriposError("S0818", f"there is something in `{folder}`", "give a new folder with `-o DIR`")
    from tripos.training.environment import choose_device
    from tripos.training.reward import AuditSize, train_reward
    from tripos.training.reward_audit import WARNING
    from tripos.training.reward_pairs import exclude_authors, read_pairs

    device = choose_device(options.device)
    learned, tested = _files(context, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings for developers of libraries
        silence_libraries()
        report = train_reward(
            exclude_authors(read_pairs(learned), listed_names(options.without)),
            None if tested is None else read_pairs(tested),
            recipe,
            AuditSize(options.seeds, options.shuffled),
            device,
            folder,
            print_stderr,
        )
    for each in report["audit"]["warnings"]:
        show_diagnostic("warning", WARNING, each)
    return Outcome(lambda: report, map(message, reward_summary_lines(report, folder)))


def _reward_recipe(options: Namespace) -> RewardRecipe:
    given = {
        name: value for name in ("epochs", "learning_rate", "batch") if (value := getattr(options, name)) is not None
    }
    if given and options.tune != "all":
        option = getattr(TrainRewardParameters, next(iter(given)))
        raise TriposError(
            "R0202",
            f"`{option}` has no meaning with `{TrainRewardParameters.tune} {options.tune}`",
            f"add `{TrainRewardParameters.tune} all`, or leave it out",
        )
    return RewardRecipe(
        model=options.model,
        tune=options.tune,
        seed=options.seed,
        **given,
        at_once=options.at_once,
        context=options.context,
        max_tokens=options.max_tokens,
        marker=options.marker,
        margins=not options.no_margin,
        held_out=options.held_out,
    )


def _files(context: Context, folder: Path) -> tuple[Path, Path | None]:
    """Return the files to train and to test on. Exports of a spec are written to the folder."""
    options = context.options
    path = Path(options.source)
    tests = listed_names(options.test)
    if not (path.is_dir() or path.suffix in ("", ".tripos")):
        if options.export:
            raise TriposError(
                "R0202", f"`{TrainRewardParameters.export}` has no meaning for a file", "it is an option of specs"
            )
        if len(tests) > 1:
            raise TriposError("R0202", "one file is tested", "put the pairs into one file")
        return path, Path(tests[0]) if tests else None
    plan, source = compiled_pairs(context, options.source)
    of_files = [name for name in tests if name.endswith(".jsonl")]
    named = listed_names(options.export)
    for_test = [pairing.name for pairing in pairings_of(plan) if pairing.use == "test" and pairing.name not in named]
    tested = named_pairings(plan, [name for name in tests if name not in of_files] if tests else for_test)
    learned = named_pairings(plan, named or _for_training(plan, tested))
    if not learned:
        hint = "declare one: `export NAME { pairs from DATASET … }`, or test fewer"
        raise TriposError("S0601", "the spec has no pairs to learn", hint)
    if both := [pairing.name for pairing in learned if pairing in tested]:
        raise TriposError(
            "R0202",
            f"`{both[0]}` is learned and tested",
            f"name another with `{TrainRewardParameters.test}` or `{TrainRewardParameters.export}`",
        )
    from tripos.training.reward_pairs import write_pairs

    write_pairs(plan, learned, source, folder / DATA)
    if tested:
        write_pairs(plan, tested, source, folder / TEST)
        return folder / DATA, folder / TEST
    return folder / DATA, Path(of_files[0]) if of_files else None


def _for_training(plan: Plan, tested: Sequence[Pairing]) -> list[str]:
    """Return the exports to train on if none is named: those for training, or else all that are not for testing."""
    pairings = [pairing for pairing in pairings_of(plan) if pairing not in tested and pairing.use != "test"]
    return [pairing.name for pairing in pairings if pairing.use == "training"] or [pairing.name for pairing in pairings]
