"""Statistics that DuckDB lacks, as pure functions of numbers.

Every function returns an `Estimate` (or a few): a value with its error, or the reason why there is none. Import
from the module that is needed, so that a report does not load the others; scipy is imported on first use.

| module | subject |
| --- | --- |
| `estimate` | the result of a statistic: a value with its ends, or the reason why there is none |
| `result` | quantiles, and values, ratings and clusters as arrays |
| `intervals` | shares, means, medians and any statistic, also of clustered rows |
| `agreement` | Kendall's W, α, κ, AC1, ICC, rank correlations |
| `multiple_tests` | two runs or many models on the same items |
| `metrics` | metrics of a whole set: BLEU, Brier, AUROC, pass@k |
| `preferences` | Bradley–Terry, win rates, position bias, severity, self-preference |
| `validity` | judges compared with people, and with themselves |
| `prediction_powered` | judges corrected by people |
| `variance` | variance components and generalizability |
| `power` | the power of a design, and the cheapest design |
| `sequences` | confidence sequences |
| `user_functions` | aggregates in Python |
"""
