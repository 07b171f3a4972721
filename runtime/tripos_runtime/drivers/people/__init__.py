"""People in a run: one who grades what others replied, and one who takes part in conversations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
