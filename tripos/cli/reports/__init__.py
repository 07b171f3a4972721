"""Verbs that show results: report, list, compare, leaderboard, show, why, sql."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
