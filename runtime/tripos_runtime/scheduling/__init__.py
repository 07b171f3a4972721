"""Scheduling: budgets, rate limits, circuits and retries between a run and its endpoints."""
