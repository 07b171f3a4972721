"""Messages in the reader's language: a finished English message is matched against the templates of a catalogue."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
