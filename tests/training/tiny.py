"""A language model of some thousand weights, made in a moment, that is trained like any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tripos.training.environment import LIBRARIES, silence_libraries

needs_extra = [pytest.importorskip(name) for name in LIBRARIES]


def make_tiny(folder: Path) -> Path:
    """Write a model of Llama's shape that knows bytes, with weights drawn at random."""
    silence_libraries()
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(["<eos>", "<pad>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", pad_token="<pad>")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
        eos_token_id=0,
        pad_token_id=1,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def write_chats(path: Path, count: int = 20, reply: str = "yes yes yes") -> Path:
    """Write chats of `count` questions, two lines each."""
    lines = [
        {"messages": [{"role": "user", "content": f"Question {n // 2}?"}, {"role": "assistant", "content": reply}]}
        for n in range(2 * count)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path
