"""The changes between two plans of a benchmark, and the version that they demand."""
