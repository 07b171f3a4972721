"""Views of runs: the report, the comparison of two, and the leaderboard."""
