from .power import (
    design_effect as design_effect,
    detectable_difference as detectable_difference,
    items_needed as items_needed,
    paired_variance as paired_variance,
    power_of as power_of,
)
from .sequences import (
    AsymptoticSequence as AsymptoticSequence,
    BettingSequence as BettingSequence,
    ConfidenceSequence as ConfidenceSequence,
    mean_sequence as mean_sequence,
)
