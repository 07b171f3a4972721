"""Models that need no network: mocks and trivial baselines."""
