"""The forecast of a run: what it would reuse, ask and cost, computed without asking anybody."""
