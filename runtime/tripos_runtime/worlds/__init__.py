"""The trial of secrecy: pairs of worlds that differ in secrets alone, in which every message to the compared role must
be the same. It knows nothing of the compiler's proof, so that each can find what is wrong with the other."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
