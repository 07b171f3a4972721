"""Language models to train: loaded from the Hub, a folder or a GGUF file, and written as a folder of transformers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripos.failure import Failure

PLAIN = (
    "{% for message in messages %}{{ message['role'] }}:\n{{ message['content'] | trim }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:\n{% endif %}"
)
"""How a chat is written for a model that has no template of its own, as base models do not."""


@dataclass(frozen=True)
class LanguageModel:
    """A causal model of transformers and its tokenizer. `plain` says that it had no template and got `PLAIN`."""

    model: Any
    tokenizer: Any
    plain: bool


def load_language_model(name: str, *, half: bool = False) -> LanguageModel:
    """The model of a Hub's name, a folder, or a `.gguf` file, on the CPU, in 32 bits or, with `half`, in bfloat16.

    Weights of a GGUF file are unpacked, so that they can be trained. Raises `Failure` W0814 where there is no such
    model or it cannot be read.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = Path(name).expanduser()
    local = path.exists()
    if not local and (name.endswith(".gguf") or name.startswith((".", "/", "~"))):
        raise Failure("W0814", f"there is no model `{name}`", "give a folder, a .gguf file, or a name of the Hub")
    options: dict[str, Any] = {"local_files_only": local}
    where = str(path) if local else name
    if local and path.is_file():
        where, options["gguf_file"] = str(path.parent), path.name
    try:
        tokenizer = AutoTokenizer.from_pretrained(where, **options)
        model = AutoModelForCausalLM.from_pretrained(where, dtype=torch.bfloat16 if half else torch.float32, **options)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        told = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hint = "a causal model in the form of transformers: a folder, a .gguf file, or a name of the Hub"
        raise Failure("W0814", f"cannot load `{name}`: {told}", hint) from error
    _unpacked(model)
    if tokenizer.eos_token_id is None:
        raise Failure("W0814", f"the tokenizer of `{name}` has no token that ends a text", "take another model")
    plain = not tokenizer.chat_template
    if plain:
        tokenizer.chat_template = PLAIN
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    return LanguageModel(model, tokenizer, plain)


def _unpacked(model: Any) -> None:
    """Takes from a model that came from a GGUF file what says that it is quantised: its weights are not any more."""
    if getattr(model, "hf_quantizer", None) is None:
        return
    dense = all(parameter.is_floating_point() for parameter in model.parameters())
    if not dense:
        raise Failure("W0814", "the weights are quantised and stay so", "take the model before it was quantised")
    model.hf_quantizer = None
    model.is_quantized = False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config


def save_language_model(loaded: LanguageModel, folder: Path) -> None:
    """Writes weights, configuration, tokenizer and template. Raises `Failure` W0817 where the disk refuses."""
    try:
        loaded.model.save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)
        for file in folder.glob("*.safetensors"):  # which are written for their owner only
            file.chmod(0o644)
    except OSError as error:
        raise Failure("W0817", f"cannot write `{folder}`: {error.strerror or error}", "write it elsewhere") from error
