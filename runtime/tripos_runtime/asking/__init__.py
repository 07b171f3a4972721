"""Questions to models: prompts, reading of replies, judging, and the interface of the ledger that keeps results."""
