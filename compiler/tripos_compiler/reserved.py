"""Names that results need for something else, so that no benchmark and no axis can have them."""

BENCHMARKS = frozenset({"main", "temp", "system", "information_schema", "pg_catalog"})
"""The results of a benchmark are a schema of its name in the database, which has these already."""

AXES = frozenset(
    """
    attempts comparison_id conversation_id conversation_number cost_usd created_at dataset df dimension ended
    ended_by enlarged epoch error evaluator fields fingerprint finish_reason first_model first_sample_id given high
    identity item_id items judged_by judgement_id latency_s least left_out low m mean messages metric model model_served
    models n number pair parsed parts pull reason rejections reply role round run_id sample_id sample_number scenario
    score_id scorer second_model second_sample_id shown_run slot_id source standard_error status step text tokens_in
    tokens_out tokens_reasoning total total_tokens transcript turn_id turns value written_by
    """.split()  # noqa: SIM905 - sixty lines of one word each say no more
)
"""Axes are columns beside these, in views and in the SQL of measures."""
