"""A run in several processes: workers take cases and make the calls; the main process counts, reports and ends the
run."""
