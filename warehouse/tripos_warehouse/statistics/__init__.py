"""Statistics that DuckDB lacks, as pure functions of numbers.

Most functions return an `Estimate` or several: a value with its error, or the reason why there is none. Import a
function from its module, so that a report does not load the others; scipy is imported on first use.

| module | subject |
| --- | --- |
| `estimate` | the result of a statistic: a value with its ends, or the reason why there is none |
| `arrays` | values, ratings and clusters as arrays, and quantiles of the normal and of Student's distribution |
| `intervals` | shares, means, medians and any statistic, also of clustered rows |
| `agreement` | Kendall's W, α, κ, AC1, ICC, rank correlations |
| `multiple_tests` | two runs or many models on the same items |
| `metrics` | metrics of a set of items: BLEU, Brier score, AUROC, pass@k |
| `preferences` | Bradley–Terry, win rates, position bias, severity, self-preference |
| `validity` | judges compared with people, and with themselves |
| `prediction_powered` | judges corrected by people |
| `variance` | variance components and generalizability |
| `power` | the power of a design, and the cheapest design |
| `sequences` | confidence sequences |
| `user_functions` | aggregates that users write in Python |
"""
