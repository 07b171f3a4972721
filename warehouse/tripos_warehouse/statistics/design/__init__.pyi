from .components import (
    VarianceComponents as VarianceComponents,
    variance_components as variance_components,
)
from .differences import (
    CORRELATION as CORRELATION,
    FEWEST_ITEMS as FEWEST_ITEMS,
    DifferenceComponents as DifferenceComponents,
    Unknown as Unknown,
    difference_components as difference_components,
)
from .generalizability import (
    Generalizability as Generalizability,
    PanelDesign as PanelDesign,
    PanelStudy as PanelStudy,
    generalizability as generalizability,
    panel_study as panel_study,
)
from .learned_power import (
    least_difference as least_difference,
    power_with as power_with,
)
from .least_shown import (
    least_shown_mean as least_shown_mean,
    least_shown_share as least_shown_share,
)
from .power import (
    design_effect as design_effect,
    detectable_difference as detectable_difference,
    items_needed as items_needed,
    paired_variance as paired_variance,
    power_of as power_of,
)
from .search import (
    MOST_ITEMS as MOST_ITEMS,
    Design as Design,
    LabelComponents as LabelComponents,
    Levers as Levers,
    Prices as Prices,
    Space as Space,
    cheapest as cheapest,
    corrected_variance as corrected_variance,
    sharpest as sharpest,
)
from .sequences import (
    AsymptoticSequence as AsymptoticSequence,
    BettingSequence as BettingSequence,
    ConfidenceSequence as ConfidenceSequence,
    mean_sequence as mean_sequence,
)
from .uneven import (
    MeanDesign as MeanDesign,
    mean_design as mean_design,
)
