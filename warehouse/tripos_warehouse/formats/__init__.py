"""Tables for people to read elsewhere: one form, written as Markdown, LaTeX or HTML."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
