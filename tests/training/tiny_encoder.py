"""An encoder of some thousand weights, made in a moment, that is trained like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

needs_extra = [pytest.importorskip(name) for name in ("torch", "transformers", "sklearn")]

WORDS = ("good", "bad", "why", "so", "try", "again", "what", "is", "that", "you", "think", "no", "yes", "?", ".")


def make_encoder(folder: Path) -> Path:
    """Write a model of BERT's shape that knows some words, with weights drawn at random."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocabulary = {token: number for number, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    BertModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
