"""Verbs that show results: report, list, compare, leaderboard, show, why, sql."""
