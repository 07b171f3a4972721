"""The forecast: what a run would reuse, ask and cost, before anything is asked."""
