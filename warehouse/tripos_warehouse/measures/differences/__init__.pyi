from .components import (
    MeasureComponents as MeasureComponents,
    call_costs as call_costs,
    lower_scores as lower_scores,
    measure_components as measure_components,
    scored_step as scored_step,
)
from .floors import (
    BASELINE as BASELINE,
    Matched as Matched,
    Placed as Placed,
    is_baseline as is_baseline,
    matched as matched,
    not_clear as not_clear,
)
from .jackknife import (
    Half as Half,
    remeasure as remeasure,
    remeasure_cells as remeasure_cells,
    remeasure_pairs as remeasure_pairs,
)
from .labels import (
    GradedItems as GradedItems,
    label_components as label_components,
)
from .more_labels import (
    MORE_LABELS as MORE_LABELS,
    MoreLabels as MoreLabels,
    find_more_labels as find_more_labels,
    worth_of_a_label as worth_of_a_label,
)
from .score_pairs import (
    SumOfMeans as SumOfMeans,
    fields_of_pairs as fields_of_pairs,
    mean_of as mean_of,
    paired_cells_of as paired_cells_of,
    paired_mean_of as paired_mean_of,
    paired_means as paired_means,
    paired_sum_of as paired_sum_of,
    with_fields as with_fields,
)
from .sharpening import (
    Sharpening as Sharpening,
    find_sharpening as find_sharpening,
)
