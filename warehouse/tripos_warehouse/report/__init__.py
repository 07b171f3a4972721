"""Reports of runs, comparisons of two runs, leaderboards and histories, as data, as text and as tables."""
