"""Vectors as the runtime passes them on: a reply of an embedding model is a vector as text, which a store can keep."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]


def to_text(vector: Sequence[float] | npt.NDArray[np.floating]) -> str:
    """A vector as text: base64 of 32-bit numbers, the least significant byte first.

    >>> to_text([1.0, -0.5])
    'AACAPwAAAL8='
    """
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode("ascii")


def from_text(text: str) -> Vector:
    """The vector that a text stands for. Raises `ValueError` where it stands for none, or for one that is empty or has
    no finite length.

    >>> from_text("AACAPwAAAL8=").tolist()
    [1.0, -0.5]
    """
    try:
        vector = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(np.float32)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError("this is no vector") from error
    if not len(vector) or not bool(np.isfinite(vector).all()):
        raise ValueError("this is no vector of finite numbers")
    return vector
