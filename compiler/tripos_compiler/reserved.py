"""Names that results need for something else, so that no benchmark and no axis can have them."""

BENCHMARKS = frozenset({"main", "temp", "system", "information_schema", "pg_catalog"})
"""The results of a benchmark are a schema of its name in the database, which has these already."""

AXES = frozenset(
    """
    attempts comparison_id cost_usd created_at dataset df dimension enlarged epoch error evaluator fields
    fingerprint finish_reason first_model first_sample_id given high item_id items judgement_id latency_s least low
    m mean messages metric model model_served n number pair parsed parts pull reason rejections reply role round
    run_id sample_id sample_number scenario score_id scorer second_model second_sample_id slot_id source
    standard_error status step tokens_in tokens_out tokens_reasoning total total_tokens value written_by
    """.split()  # noqa: SIM905 - forty lines of one word each say no more
)
"""Axes are columns beside these, in views and in the SQL of measures."""
