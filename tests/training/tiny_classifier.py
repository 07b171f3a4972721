"""A sequence classifier of some thousand weights with a chat template: the shape of a published reward model, a causal
model with one label that reads a chat under the system prompt of a judge."""

from __future__ import annotations

from pathlib import Path

import pytest

needs_extra = [pytest.importorskip(name) for name in ("torch", "transformers")]

TEMPLATE = "{% for m in messages %}<start>{{ m['role'] }} {{ m['content'] }}<end>{% endfor %}"
WITHOUT_SYSTEM = (
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system message') }}{% endif %}"
    "<start>{{ m['role'] }} {{ m['content'] }}<end>{% endfor %}"
)


def make_classifier(folder: Path, *, template: str | None = TEMPLATE, labels: int = 1) -> Path:
    """Write a model of Qwen's shape that reads bytes, with weights drawn at random."""
    import torch
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import Qwen2Config, Qwen2ForSequenceClassification, Qwen2Tokenizer

    special = ["<pad>", "<unk>", "<start>", "<end>"]
    vocabulary = {token: number for number, token in enumerate([*special, *sorted(ByteLevel.alphabet())])}
    tokenizer = Qwen2Tokenizer(
        vocab=vocabulary,
        merges=[],
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<end>",
        extra_special_tokens=["<start>"],
    )
    tokenizer.chat_template = template
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=400,
        num_labels=labels,
        pad_token_id=0,
    )
    model = Qwen2ForSequenceClassification(config)
    with torch.no_grad():  # rewards that differ in the first digits
        model.score.weight.mul_(50)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
