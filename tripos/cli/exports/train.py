"""`tripos train`: a model is trained on what was exported."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tripos.training import BESIDE, DATA, NAME, Recipe, require_extra, settings_of, silence_libraries
from tripos.ui import GOOD, Failure, print_json, print_stderr, show_message
from tripos_compiler.diagnostics import duration
from tripos_warehouse.errors import StoreError


def summary_lines(report: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield the outcome of a training in lines for a terminal.

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
    yield f"named {report['model_sha256'][:12]}; {folder / NAME} says what it was trained on"


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
"""The options that a recipe may say too."""


def main(options: Namespace) -> int:
    """Train a model, and say what came of it. Raises `Failure`."""
    if options.action == "reward":
        from tripos.cli.exports.train_reward import train

        return train(options)
    recipe = _recipe(options)
    require_extra()
    silence_libraries()
    folder = Path(options.output)
    if (folder.exists() and not folder.is_dir()) or (
        folder.is_dir() and any(each.name not in BESIDE - {NAME} for each in folder.iterdir())
    ):
        raise Failure("S0818", f"there is something in `{folder}`", "give a new folder with `-o DIR`")
    from tripos.training import choose_device, fine_tune, read_chats

    device = choose_device(options.device)
    try:
        given = Path(options.source)
        is_spec = given.is_dir() or given.suffix in ("", ".tripos")
        path = _exported(options, folder / DATA) if is_spec else given
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what libraries say to those who build on them
            report = fine_tune(read_chats(path), recipe, device, folder, print_stderr)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if options.json:
        print_json(report)
    else:
        for line in summary_lines(report, folder):
            show_message(line)
    return GOOD


def _recipe(options: Namespace) -> Recipe:
    """Return the recipe: what an option says, or else the named recipe, or else the default."""
    said = {name: value for name in SETTINGS if (value := getattr(options, name)) is not None}
    summary_lines = {"lora": options.lora, **settings_of(options.recipe, options.lora), **said}
    return Recipe(model=options.model, seed=options.seed, name=options.recipe, **summary_lines)


def _exported(options: Namespace, path: Path) -> Path:
    """Write the export of a spec, of a run in the store, and say where."""
    from tripos.cli.exports.training_data import export_training
    from tripos.cli.inputs import compile_given, open_store
    from tripos.settings import chosen_settings
    from tripos_warehouse.views import connect_run

    spec = Namespace(**{**vars(options), "path": options.source})
    plan = compile_given(spec, chosen_settings(options).config)[0].plan
    if plan is None:
        raise Failure("S0813", f"`{options.source}` has mistakes, so nothing is exported of it", "mend those above")
    names = [each.name for each in plan.exports if each.kind == "best"]
    name = options.export or (names[0] if len(names) == 1 else None)
    if name is None or name not in names:
        some = ", ".join(f"`{each}`" for each in names) or "none"
        what = f"the spec has no export `{name}` of the best replies" if name else "nothing says which export to learn"
        hint = f"`--export NAME`; there is {some}" if names else "declare one: `export NAME { best of … }`"
        raise Failure("S0601", what, hint)
    connection, run = connect_run(open_store(options), options.run, plan)
    nothing: dict[str, list[str]] = {
        each: [] for each in ("per", "rows", "models", "scenario", "only", "hold_out", "apart_from", "replies_of")
    }
    said = {"what": name, "output": str(path), "by": None, "margin": None, "format": None, "json": False}
    wanted = Namespace(**said, every=False, **nothing)
    with connection:
        export_training(connection, plan, run, wanted, "distillation")
    return path
