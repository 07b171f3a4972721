"""Proof that no secret reaches the compared role: taint analysis of data sets and of the steps of scenarios."""
