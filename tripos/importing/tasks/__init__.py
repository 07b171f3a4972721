"""Translation of other programs' tasks to specs: lm-eval, Inspect and promptfoo."""
