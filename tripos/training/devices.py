"""Where training runs, and in which numbers."""

from __future__ import annotations

from dataclasses import dataclass

from tripos.failure import Failure

KINDS = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Device:
    """A device: `kind` is `cpu` or `cuda`, `name` what it is called, and `bf16` whether it multiplies in bfloat16, with
    the weights and their updates in 32 bits."""

    kind: str
    name: str
    bf16: bool

    @property
    def at_once(self) -> int:
        """Lines that go through the model together where nobody says it."""
        return 8 if self.kind == "cuda" else 1


def choose_device(wanted: str = "auto") -> Device:
    """The device of that kind; `auto` is a GPU where there is one. Raises `Failure` W0816 for one that is not
    there."""
    import torch

    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise Failure("W0816", "there is no GPU that torch can use", "`--device cpu`, or a build of torch for the GPU")
    if wanted != "cpu" and there:
        return Device("cuda", str(torch.cuda.get_device_name()), bool(torch.cuda.is_bf16_supported()))
    return Device("cpu", f"{torch.get_num_threads()} threads", False)
