"""Facts from a model's name, without opening the model: its identity, its settings, whether it can be reached."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
