"""A server for one model file, run as a process of its own: `python -m tripos_runtime.models.local_server`.

It never outlives its parent. The parent holds the other end of its standard input, which the system closes however the
parent ends; the server exits when it reads the end of its input."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading

REPEAT_PENALTY = 1.1
"""Keeps a small model out of loops: without it SmolLM2 at temperature 0 rarely finishes a JSON reply."""


def main() -> None:
    """Load the model, print its address as one line of JSON, and serve until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--context", type=int, required=True, help="tokens a slot")
    options = parser.parse_args()
    # Ctrl-C reaches every process of the terminal; the parent decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent_gone = threading.Thread(target=_leave_with_parent, daemon=True)
    parent_gone.start()

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.n_parallel = options.slots
    params.n_ctx = options.slots * options.context
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = 1
    params.warmup = False
    params.cache_ram_mib = 0
    # A reused prompt is computed in different batches, which changes the last bits of its logits.
    params.cache_prompt = options.slots > 1
    params.sampling.penalty_repeat = REPEAT_PENALTY
    try:
        server = xllamacpp.Server(params)
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print(json.dumps({"address": server.listening_address}), flush=True)
    parent_gone.join()


def _leave_with_parent() -> None:
    # `sys.stdin` has a lock: if the main thread ends while this thread holds it, the interpreter aborts.
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
