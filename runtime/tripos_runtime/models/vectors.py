"""Vectors as text: the reply of an embedding model, in a form that a store can keep."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tripos_runtime.models.base import FREE, Price, Reply

Vector = npt.NDArray[np.float32]
TEXTS_AT_ONCE = 64
"""The largest number of texts in a request."""


def to_text(vector: Sequence[float] | npt.NDArray[np.floating]) -> str:
    """Return a vector as text: base64 of 32-bit little-endian numbers.

    >>> to_text([1.0, -0.5])
    'AACAPwAAAL8='
    """
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode("ascii")


def from_text(text: str) -> Vector:
    """Return the vector of a text. Raises `ValueError` if the text is not a vector, or the vector is empty or has no
    finite length.

    >>> from_text("AACAPwAAAL8=").tolist()
    [1.0, -0.5]
    """
    try:
        vector = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(np.float32)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError("not a vector") from error
    if not len(vector) or not bool(np.isfinite(vector).all()):
        raise ValueError("not a vector of finite numbers")
    return vector


def replies_of(
    vectors: Sequence[Any], texts: Sequence[str], model_served: str, tokens_in: int | None, price: Price | None
) -> Reply:
    """Return one reply for all texts, each with a share of the tokens by its length; the shares sum to the whole."""
    sizes = np.cumsum([max(1, len(text)) for text in texts])
    replies: list[Reply] = []
    before = 0
    for vector, size in zip(vectors, sizes.tolist(), strict=True):
        share = None if tokens_in is None else int(tokens_in * size // int(sizes[-1])) - before
        before += share or 0
        cost = None if price is None or share is None else price.cost_usd(share, 0)
        free = 0.0 if price == FREE else cost
        replies.append(Reply(to_text(vector), model_served, "stop", share, 0 if share is not None else None, free))
    first, *others = replies
    return Reply(
        first.text,
        model_served,
        "stop",
        first.tokens_in,
        first.tokens_out,
        first.cost_usd,
        further_choices=tuple(others),
    )
