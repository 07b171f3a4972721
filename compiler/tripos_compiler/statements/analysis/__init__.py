"""Analysis of steps: what they use, when they take place, what determines them, and how often they call a model."""
