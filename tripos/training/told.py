"""What a person is told of a model that was trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tripos.training.report import NAME


def told(report: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """The outcome of a training in lines for a terminal.

    >>> loss = {"held_out_before": 2.5, "held_out_after": 2.0, "learned": []}
    >>> data = {"held_out": {"lines": 3, "groups": 2}, "grouped_by": "prompt"}
    >>> report = {"loss": loss, "data": data, "steps": 4, "model_sha256": "ab" * 32}
    >>> print("\\n".join(told({**report, "seconds": {"training": 9.0, "all": 12.0}}, Path("out"))))
    trained for 4 steps in 9 s, written to out
    loss on what was held out: 2.500 before, 2.000 after (3 chats of 2 prompts)
    the data have no provenance: chats were kept together by their prompts
    named abababababab; out/training.json says what it was trained on
    """
    loss, data = report["loss"], report["data"]
    yield f"trained for {report['steps']:,} steps in {report['seconds']['training']:,.0f} s, written to {folder}"
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
