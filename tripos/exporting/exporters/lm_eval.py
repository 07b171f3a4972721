"""Results and samples of the LM Evaluation Harness."""

from __future__ import annotations

from tripos.exporting import Exporter
from tripos.exporting.tables import LOG_OPTIONS, written_logs
from tripos_warehouse.exports.lm_eval import write_lm_eval

EXPORTER = Exporter(
    "results of lm-eval", lambda run, options: written_logs(run, options, "lm-eval", write_lm_eval), LOG_OPTIONS
)
