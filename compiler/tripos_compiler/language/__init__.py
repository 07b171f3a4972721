"""The meaning of a plan: pure functions that evaluate its expressions, templates, rows and contexts.

The compiler uses them to count and to check, the runtime to run; so both agree.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
