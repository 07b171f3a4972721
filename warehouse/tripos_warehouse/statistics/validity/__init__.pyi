from .calibration import (
    Calibration as Calibration,
    CalibrationBin as CalibrationBin,
    calibrate as calibrate,
)
from .correction import (
    FEWEST_GRADED as FEWEST_GRADED,
    Corrected as Corrected,
    Pulled as Pulled,
    corrected_figure as corrected_figure,
    corrected_mean as corrected_mean,
    expected_reach as expected_reach,
)
from .escalation import (
    LearnedThreshold as LearnedThreshold,
    TestedThreshold as TestedThreshold,
    learned_threshold as learned_threshold,
    least_share as least_share,
)
from .forecasts import (
    RankedTruths as RankedTruths,
    bin_of as bin_of,
    brier as brier,
    calibration_error as calibration_error,
    calibration_noise as calibration_noise,
    log_loss as log_loss,
)
from .items import (
    item_discrimination as item_discrimination,
    tested_correlation as tested_correlation,
    wrongly_keyed as wrongly_keyed,
)
from .length_control import (
    LengthControlled as LengthControlled,
)
from .prevalence import (
    CorrectedPrevalence as CorrectedPrevalence,
    JudgeRates as JudgeRates,
    corrected_prevalence as corrected_prevalence,
    rated_prevalence as rated_prevalence,
)
from .repeats import (
    JudgeDrift as JudgeDrift,
    JudgeNoise as JudgeNoise,
    JudgeStability as JudgeStability,
    RepeatedVerdict as RepeatedVerdict,
    judge_drift as judge_drift,
    judge_noise as judge_noise,
    judge_stability as judge_stability,
)
