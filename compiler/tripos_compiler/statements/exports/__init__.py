"""Exports: training data from replies or from the rows of data sets."""
