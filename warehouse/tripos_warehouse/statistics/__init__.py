"""Statistics that DuckDB lacks, as pure functions of numbers: agreement, sampling, intervals, comparisons, preferences.

Each of the modules is a subject; import what is needed from it, as a report should not load what it does not use:

- `agreement`: what raters have in common (Kendall's W, α, κ, ICC, correlations of ranks)
- `sampling`: pass@k and pass^k; `design`: the difference that a design can detect, and sequences that may be looked at
- `intervals`: shares, means and any statistic, also where rows are clustered
- `comparing`: two runs or many models on the same items
- `validity`: judges held against people
- `user_functions`: aggregates in Python, which measures may execute where their user ran them
- `preferences`: Bradley–Terry, win rates, position bias; `severity`: judges that are strict, or fond of themselves

Every function returns a `StatisticResult` (or a few): a value, or the reason why there is none. scipy is imported where
it is needed first.
"""
