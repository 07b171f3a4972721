"""Lets the tests of the fuzzer import what the tests of the compiler share by its bare name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler"))
