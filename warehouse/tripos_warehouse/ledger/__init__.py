"""The ledger: the results that runs store, found again by name and by request."""
