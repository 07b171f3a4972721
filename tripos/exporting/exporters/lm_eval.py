"""Results and samples of the LM Evaluation Harness."""

from __future__ import annotations

from argparse import Namespace

from tripos.exporting import LOG_OPTIONS, Exporter, OpenRun, Written


def write(run: OpenRun, options: Namespace) -> Written:
    """Write the results of each compared model. Raises the errors of `write_lm_eval`."""
    from tripos.exporting.tables import written_logs
    from tripos_warehouse.exports.lm_eval import write_lm_eval

    return written_logs(run, options, "lm-eval", write_lm_eval)


EXPORTER = Exporter("results of lm-eval", write, LOG_OPTIONS)
