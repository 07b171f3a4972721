"""Secrecy: the proof that no secret of an item reaches the role under test while it is asked about that item.

It is an analysis of the whole plan, after everything else was checked: what every value tells (`labels.py`,
`flows.py`), what data sets tell (`tables.py`, `copies/`), in which rows (`regions.py`), and what steps tell whom
(`scenarios.py`). `proof.py` runs it; `docs/language/secrecy.md` has the rules.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
