"""Contamination: texts that are nearly word for word the same, among rows and between data sets."""
