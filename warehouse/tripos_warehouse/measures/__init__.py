"""Measures: figures of a plan, compiled to SQL, evaluated with intervals."""
