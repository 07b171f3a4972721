"""Supervised fine-tuning of a model on the replies of chats with TRL, and its recipe.

The recipe has all settings that decide the result, besides the data and the model.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripos.settings.options import TrainSftParameters
from tripos.training.chats import Chats, Tokens, as_tokens, indices_within, loss_of
from tripos.training.environment import Device, GroupSplit, digest_of, diverged, split_by_group, versions, write_report
from tripos.training.recipe import Recipe
from tripos_compiler.errors import ExitCode, TriposError

# The model
PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}:\n{{ message['content'] | trim }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:\n{% endif %}"
)
"""The chat template of models without one, such as base models."""


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model of transformers with its tokenizer. `plain` says that it had no template and uses
    `PLAIN_TEMPLATE`."""

    model: Any
    tokenizer: Any
    plain: bool


def load_language_model(name: str, *, half: bool = False) -> LanguageModel:
    """Return the model of a Hub name, a folder or a `.gguf` file, on the CPU, in 32 bits or, with `half`, in bfloat16.

    Weights of a GGUF file are unpacked, so that they can be trained. Raises `TriposError` S0814 if the model is missing
    or cannot be read.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = Path(name).expanduser()
    local = path.exists()
    if not local and (name.endswith(".gguf") or name.startswith((".", "/", "~"))):
        raise TriposError("S0814", f"there is no model `{name}`", "give a folder, a .gguf file, or a name of the Hub")
    options: dict[str, Any] = {"local_files_only": local}
    where = str(path) if local else name
    if local and path.is_file():
        where, options["gguf_file"] = str(path.parent), path.name
    try:
        tokenizer = AutoTokenizer.from_pretrained(where, **options)
        model = AutoModelForCausalLM.from_pretrained(where, dtype=torch.bfloat16 if half else torch.float32, **options)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hint = "a causal model in the form of transformers: a folder, a .gguf file, or a name of the Hub"
        raise TriposError("S0814", f"cannot load `{name}`: {text}", hint) from error
    _unpacked(model)
    if tokenizer.eos_token_id is None:
        raise TriposError("S0814", f"the tokenizer of `{name}` has no token that ends a text", "take another model")
    plain = not tokenizer.chat_template
    if plain:
        tokenizer.chat_template = PLAIN_TEMPLATE
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    return LanguageModel(model, tokenizer, plain)


def _unpacked(model: Any) -> None:
    """Remove the marks of quantization from a model of a GGUF file, whose weights were unpacked. Raises `TriposError`
    S0814 if they were not."""
    if getattr(model, "hf_quantizer", None) is None:
        return
    dense = all(parameter.is_floating_point() for parameter in model.parameters())
    if not dense:
        raise TriposError("S0814", "the weights are quantised and stay so", "take the model before it was quantised")
    model.hf_quantizer = None
    model.is_quantized = False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config


def save_language_model(loaded: LanguageModel, folder: Path) -> None:
    """Write weights, configuration, tokenizer and template. Raises `TriposError` S0817 if they cannot be written."""
    try:
        loaded.model.save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)
        for file in folder.glob("*.safetensors"):  # safetensors creates them readable only by the owner
            file.chmod(0o644)
    except OSError as error:
        raise TriposError(
            "S0817", f"cannot write `{folder}`: {error.strerror or error}", "write it elsewhere"
        ) from error


# Training
FORMAT = "tripos.model/1"

Tell = Callable[[str], None]
"""Receives a line on the progress of training."""


@dataclass(frozen=True)
class Prepared:
    """The data as tokens, learned and held out, and the number of chats that were too long."""

    split: GroupSplit
    learned: tuple[Tokens, ...]
    held_out: tuple[Tokens, ...]
    too_long: int


def prepare(data: Chats, tokenizer: Any, recipe: Recipe) -> Prepared:
    """Split the data by item and drop chats of more than `recipe.max_tokens` tokens: a truncated reply would teach the
    model to stop anywhere. Raises `TriposError` S0815 if nothing is left to learn."""
    split = split_by_group([chat.group for chat in data.chats], recipe.held_out, recipe.seed)
    tokens = [as_tokens(tokenizer, chat) for chat in data.chats]
    fitting = set(indices_within(tokens, recipe.max_tokens))
    learned = tuple(tokens[place] for place in split.learned if place in fitting)
    held_out = tuple(tokens[place] for place in split.held_out if place in fitting)
    if not learned:
        shortest = min(len(token.ids) for token in tokens)
        hint = f"allow more with `{TrainSftParameters.max_tokens}`: the shortest has {shortest:,}"
        raise TriposError("S0815", f"every chat has more than {recipe.max_tokens:,} tokens", hint)
    return Prepared(split, learned, held_out, len(tokens) - len(fitting))


def fine_tune(
    data: Chats, recipe: Recipe, device: Device, folder: Path, tell: Tell, clock: Callable[[], float] = time.monotonic
) -> dict[str, Any]:
    """Train the model of `recipe` on `data`, write it to `folder` with its report, and return the report.

    The loss covers only the tokens of replies. Adapters are merged into the written weights, so that the folder is an
    ordinary model. Raises `TriposError` S0813 to S0817.
    """
    import transformers

    transformers.set_seed(recipe.seed)
    started = clock()
    loaded = load_language_model(recipe.model, half=bool(recipe.lora) and device.bf16)
    prepared = prepare(data, loaded.tokenizer, recipe)
    at_once = _largest_divisor(recipe.batch, recipe.at_once or device.at_once)
    steps = _steps(len(prepared.learned), recipe)
    tell(_size_line(data, prepared, steps, device))
    pad = int(loaded.tokenizer.pad_token_id)
    if device.kind == "cuda":
        loaded.model.to("cuda")
    with tempfile.TemporaryDirectory() as scratch:
        trainer = _trainer(
            loaded, prepared.learned, recipe, device, at_once, Path(scratch), _ProgressReporter(steps, tell)
        )
        before = loss_of(trainer.model, prepared.held_out, at_once, pad)
        began = clock()
        _train(trainer)
        trained_s = clock() - began
        after = loss_of(trainer.model, prepared.held_out, at_once, pad)
        curve = [
            {"step": int(each["step"]), "loss": float(each["loss"])}
            for each in trainer.state.log_history
            if "loss" in each
        ]
        done = int(trainer.state.global_step)
    if not all(math.isfinite(each["loss"]) for each in curve) or (after is not None and not math.isfinite(after)):
        raise diverged(TrainSftParameters.learning_rate)
    model = trainer.model.merge_and_unload() if recipe.lora else trainer.model
    save_language_model(LanguageModel(model, loaded.tokenizer, loaded.plain), folder)
    report = {
        "format": FORMAT,
        "kind": "sft",
        "model_sha256": digest_of(folder),
        "base": _base(recipe.model, loaded),
        "data": describe_data(data, prepared),
        "recipe": recipe.to_json(),
        "steps": done,
        "loss": {"held_out_before": before, "held_out_after": after, "learned": curve},
        "device": {"kind": device.kind, "name": device.name, "bf16": device.bf16, "at_once": at_once},
        "seconds": {"training": round(trained_s, 1), "all": round(clock() - started, 1)},
        "tokens_a_second": round(_tokens_seen(prepared, done, recipe) / trained_s, 1) if trained_s else None,
        "versions": versions(),
    }
    write_report(folder, report)
    return report


def _largest_divisor(batch: int, most: int) -> int:
    """Return the largest divisor of the batch size that is at most `most`."""
    return max(size for size in range(1, min(batch, most) + 1) if batch % size == 0)


def _steps(lines: int, recipe: Recipe) -> int:
    whole = math.ceil(math.ceil(lines / recipe.batch) * recipe.epochs)
    return min(whole, recipe.max_steps) if recipe.max_steps is not None else whole


def _trainer(
    loaded: LanguageModel,
    learned: Sequence[Tokens],
    recipe: Recipe,
    device: Device,
    at_once: int,
    scratch: Path,
    teller: _ProgressReporter,
) -> Any:
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    steps = _steps(len(learned), recipe)
    settings = SFTConfig(
        output_dir=str(scratch),
        seed=recipe.seed,
        data_seed=recipe.seed,
        max_steps=steps,
        learning_rate=recipe.rate,
        lr_scheduler_type="cosine",
        warmup_steps=math.ceil(recipe.warmup * steps) if steps > 1 else 0,
        weight_decay=recipe.weight_decay,
        max_grad_norm=recipe.max_norm,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=math.ceil(recipe.batch / at_once),
        max_length=None,
        packing=False,
        bf16=device.bf16,
        use_cpu=device.kind == "cpu",
        dataloader_pin_memory=device.kind == "cuda",
        logging_steps=max(1, steps // 20),
        logging_first_step=True,
        save_strategy="no",
        eval_strategy="no",
        report_to="none",
        disable_tqdm=True,
        **({"gradient_checkpointing": True} if device.kind == "cuda" else {}),
    )
    adapters = None
    if recipe.lora:
        from peft import LoraConfig

        adapters = LoraConfig(
            r=recipe.lora, lora_alpha=2 * recipe.lora, target_modules="all-linear", task_type="CAUSAL_LM"
        )
    rows = Dataset.from_dict(
        {"input_ids": [list(tokens.ids) for tokens in learned], "labels": [list(tokens.labels) for tokens in learned]}
    )
    from transformers.trainer_callback import PrinterCallback

    trainer = SFTTrainer(
        model=loaded.model,
        args=settings,
        train_dataset=rows,
        processing_class=loaded.tokenizer,
        peft_config=adapters,
        callbacks=[teller.callback()],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _train(trainer: Any) -> None:
    import torch

    try:
        trainer.train()
    except torch.OutOfMemoryError as error:
        hint = (
            f"fewer lines `{TrainSftParameters.at_once}`, fewer `{TrainSftParameters.max_tokens}`, or "
            f"adapters: `{TrainSftParameters.lora} 16`"
        )
        raise TriposError("S0817", "the device has no memory left", hint, ExitCode.SOME_FAILED) from error


class _ProgressReporter:
    """Reports the progress of training."""

    def __init__(self, steps: int, tell: Tell) -> None:
        self.steps = steps
        self.tell = tell

    def callback(self) -> Any:
        """Return it as a callback of transformers."""
        from transformers import TrainerCallback

        teller = self

        class Callback(TrainerCallback):  # type: ignore[misc]
            def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
                if logs and "loss" in logs:
                    teller.tell(f"step {state.global_step:,} of {teller.steps:,}: loss {float(logs['loss']):.3f}")

        return Callback()


def _size_line(data: Chats, prepared: Prepared, steps: int, device: Device) -> str:
    split, noun = prepared.split, f"{data.grouped_by}s"
    held = f", {len(prepared.held_out):,} of {split.groups_held_out:,} {noun} held out" if prepared.held_out else ""
    long = f", {prepared.too_long:,} too long" if prepared.too_long else ""
    chats = f"{len(prepared.learned):,} chats of {split.groups_learned:,} {noun}"
    return f"{chats}{held}{long}; {steps:,} steps on {device.kind} ({device.name})"


def _base(name: str, loaded: LanguageModel) -> dict[str, Any]:
    path = Path(name).expanduser()
    return {
        "name": path.name if path.exists() else name,
        "sha256": digest_of(path) if path.exists() else None,
        "commit": getattr(loaded.model.config, "_commit_hash", None),
        "parameters": sum(parameter.numel() for parameter in loaded.model.parameters()),
        "own_template": not loaded.plain,
    }


def describe_data(data: Chats, prepared: Prepared) -> dict[str, Any]:
    """Return the report's entry on the data: the file, what was learned and held out, and where it comes from."""
    told = data.provenance or {}
    return {
        "file": data.path.name,
        "sha256": data.sha256,
        "lines": len(data.chats),
        "grouped_by": data.grouped_by,
        "learned": {"lines": len(prepared.learned), "groups": prepared.split.groups_learned},
        "held_out": {"lines": len(prepared.held_out), "groups": prepared.split.groups_held_out},
        "too_long": prepared.too_long,
        **{name: told.get(name) for name in ("run_id", "benchmark", "version", "plan_digest", "export", "licence")},
        **({"exports": told["exports"]} if "exports" in told else {}),
    }


def _tokens_seen(prepared: Prepared, steps: int, recipe: Recipe) -> float:
    each = sum(len(tokens.ids) for tokens in prepared.learned) / len(prepared.learned)
    return each * min(steps * recipe.batch, len(prepared.learned) * recipe.epochs)
