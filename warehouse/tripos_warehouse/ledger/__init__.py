"""The ledger: the results that runs keep, found again by name and by what was sent."""
