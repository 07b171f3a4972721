"""Scheduling: budgets, rate limits, circuits and retries between a run and its endpoints."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
