from .common_cells import (
    shared_cells as shared_cells,
)
from .confusion import (
    FigureTable as FigureTable,
    figure_tables as figure_tables,
    tables_json as tables_json,
    tables_text as tables_text,
)
from .corrected import (
    find_corrected as find_corrected,
)
from .differences.components import (
    MeasureComponents as MeasureComponents,
    call_costs as call_costs,
    lower_scores as lower_scores,
    measure_components as measure_components,
    scored_step as scored_step,
)
from .differences.corrected_pairs import (
    corrected_difference as corrected_difference,
    three_by_cell as three_by_cell,
)
from .differences.floors import (
    BASELINE as BASELINE,
    Matched as Matched,
    Placed as Placed,
    is_baseline as is_baseline,
    matched as matched,
    not_clear as not_clear,
)
from .differences.jackknife import (
    Half as Half,
    remeasure as remeasure,
    remeasure_cells as remeasure_cells,
    remeasure_pairs as remeasure_pairs,
)
from .differences.labels import (
    GradedItems as GradedItems,
    label_components as label_components,
)
from .differences.more_labels import (
    MoreLabels as MoreLabels,
    find_more_labels as find_more_labels,
)
from .differences.score_pairs import (
    SumOfMeans as SumOfMeans,
    fields_of_pairs as fields_of_pairs,
    items_beside_numbers as items_beside_numbers,
    mean_of as mean_of,
    paired_cells_of as paired_cells_of,
    paired_mean_of as paired_mean_of,
    paired_means as paired_means,
    paired_sum_of as paired_sum_of,
    with_fields as with_fields,
)
from .differences.sharpening import (
    Sharpening as Sharpening,
    find_sharpening as find_sharpening,
)
from .evaluation import (
    evaluate as evaluate,
    evaluate_or_tell as evaluate_or_tell,
    has_people_apart as has_people_apart,
)
from .expectations import (
    CheckedExpectation as CheckedExpectation,
    ExpectationOutcome as ExpectationOutcome,
    as_measure as as_measure,
    expected as expected,
)
from .figure_walk import (
    aggregates as aggregates,
)
from .gaps import (
    MissingResults as MissingResults,
    find_gaps as find_gaps,
    find_unworked as find_unworked,
    is_called as is_called,
    looked_at as looked_at,
)
from .items.analysed_items import (
    KEPT as KEPT,
    AnalysedItem as AnalysedItem,
    analysed_items as analysed_items,
    items_json as items_json,
    items_text as items_text,
    near_items as near_items,
)
from .items.item_remarks import (
    FEWEST as FEWEST,
    LEAST_MODELS as LEAST_MODELS,
    told_of_items as told_of_items,
)
from .items.shown_keys import (
    unbalanced_keys as unbalanced_keys,
)
from .measure_rows import (
    OF_CORRECTED as OF_CORRECTED,
    OF_UNREAD as OF_UNREAD,
    MeasureRow as MeasureRow,
    MeasureTable as MeasureTable,
    UnreadScores as UnreadScores,
    as_told as as_told,
)
from .sql.figures import (
    pairs_sql as pairs_sql,
    sql_of as sql_of,
)
from .stopped import (
    INTERRUPTED as INTERRUPTED,
    OF_TWO_RUNS as OF_TWO_RUNS,
    SEQUENCE as SEQUENCE,
    STOPPED_EARLY as STOPPED_EARLY,
    TOO_FAR_APART as TOO_FAR_APART,
    UNFOLLOWED as UNFOLLOWED,
    followed_difference as followed_difference,
    mean_of_run as mean_of_run,
    text_of as text_of,
)
from .unread import (
    with_unread as with_unread,
)
