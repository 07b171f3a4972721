"""What was produced elsewhere, brought into a store: scores by people or other judges, and replies of models."""
