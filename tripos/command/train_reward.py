"""`tripos train reward`: a reward model is trained on pairs, audited, and written for a scorer's role."""

from __future__ import annotations

import json
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from tripos.failure import GOOD, Failure
from tripos.training.extra import need, quieten
from tripos.training.report import BESIDE, DATA, NAME
from tripos.training.reward.recipe import RewardRecipe
from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import Pairing, Plan
from tripos_runtime.datasets.cases import CaseSource
from tripos_warehouse.errors import StoreError

TEST = "data.test.jsonl"


def train(options: Namespace) -> int:
    """Trains a reward model, and says what came of it. Raises `Failure`."""
    need(("torch", "transformers", "sklearn"))
    folder = Path(options.output)
    own = {*BESIDE, TEST, f"{TEST}.provenance.json"} - {NAME}
    if (folder.exists() and not folder.is_dir()) or (
        folder.is_dir() and any(each.name not in own for each in folder.iterdir())
    ):
        raise Failure("W0818", f"there is something in `{folder}`", "give a new folder with `-o DIR`")
    from tripos.training.devices import choose_device
    from tripos.training.reward.audit import WARNING
    from tripos.training.reward.making import Wanted, train_reward
    from tripos.training.reward.pairs import read_pairs
    from tripos.training.reward.sides import without

    device = choose_device(options.device)
    try:
        learned, tested = _files(options, folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what libraries say to those who build on them
            quieten()
            report = train_reward(
                without(read_pairs(learned), _names(options.without)),
                None if tested is None else read_pairs(tested),
                _recipe(options),
                Wanted(options.seeds, options.shuffled),
                device,
                folder,
                _tell,
            )
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if options.json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        from tripos.training.reward.told import told

        print("\n".join(told(report, folder)))
    for each in report["audit"]["warnings"]:
        print(f"warning[{WARNING}]: {each}", file=sys.stderr)
    return GOOD


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _recipe(options: Namespace) -> RewardRecipe:
    return RewardRecipe(
        model=options.model,
        tune=options.tune,
        seed=options.seed,
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        batch=options.batch,
        at_once=options.at_once,
        context=options.context,
        max_tokens=options.max_tokens,
        marker=options.marker,
        margins=not options.no_margin,
        held_out=options.held_out,
    )


def _files(options: Namespace, folder: Path) -> tuple[Path, Path | None]:
    """The files of what is learned and what is tested; those of a spec's exports are written into the folder."""
    given = Path(options.source)
    tests = _names(options.test)
    if not (given.is_dir() or given.suffix in ("", ".tripos")):
        if options.export:
            raise Failure("R0202", "`--export` has no meaning for a file", "it is an option of specs")
        if len(tests) > 1:
            raise Failure("R0202", "one file is tested", "put the pairs into one file")
        return given, Path(tests[0]) if tests else None
    plan, source = compiled_pairs(options, options.source)
    of_files = [name for name in tests if name.endswith(".jsonl")]
    named = _names(options.export)
    for_test = [each.name for each in pairings_of(plan) if each.use == "test" and each.name not in named]
    tested = found_pairings(plan, [name for name in tests if name not in of_files] if tests else for_test)
    learned = found_pairings(plan, named or _for_training(plan, tested))
    if not learned:
        hint = "declare one: `export NAME { pairs from DATASET … }`, or test fewer"
        raise Failure("W0601", "the spec has no pairs to learn", hint)
    if both := [each.name for each in learned if each in tested]:
        raise Failure("R0202", f"`{both[0]}` is learned and tested", "name another with `--test` or `--export`")
    from tripos.training.reward.pairing import write_pairs

    write_pairs(plan, learned, source, folder / DATA)
    if tested:
        write_pairs(plan, tested, source, folder / TEST)
        return folder / DATA, folder / TEST
    return folder / DATA, Path(of_files[0]) if of_files else None


def _for_training(plan: Plan, tested: Sequence[Pairing]) -> list[str]:
    """The exports that are learned where none is named: those that are for training, or all that are for no test."""
    rest = [each for each in pairings_of(plan) if each not in tested and each.use != "test"]
    return [each.name for each in rest if each.use == "training"] or [each.name for each in rest]


def compiled_pairs(options: Namespace, path: str) -> tuple[Plan, CaseSource]:
    """The plan of a spec, and where its rows come from. Raises `Failure` W0821 where it has mistakes."""
    from tripos.command.check import compile_given
    from tripos.settings import load_config

    spec = Namespace(**{**vars(options), "path": path})
    compilation, folders = compile_given(spec, load_config(Path.cwd()))
    if compilation.plan is None:
        raise Failure("W0821", f"`{path}` has mistakes, so nothing is made of it", "mend those above")
    return compilation.plan, CaseSource(compilation.plan, folders, tuple(each.path for each in compilation.sources))


def pairings_of(plan: Plan) -> list[Pairing]:
    """The exports that make pairs of data."""
    return [each for each in plan.exports if isinstance(each, Pairing) and each.kind == "paired"]


def found_pairings(plan: Plan, names: Sequence[str]) -> list[Pairing]:
    """The exports of these names. Raises `Failure` W0601 for another."""
    known = {each.name: each for each in pairings_of(plan)}
    for name in names:
        if name not in known:
            close = nearest(name, known)
            some = ", ".join(f"`{each}`" for each in known) or "none"
            hint = f"did you mean `{close}`?" if close else f"there is {some}"
            raise Failure("W0601", f"the spec makes no pairs called `{name}`", hint)
    return [known[name] for name in names]


def _names(given: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.strip() for each in given for name in each.split(",") if name.strip()))
