"""The SQL of measures: aggregates, figures, and the errors that they carry."""
