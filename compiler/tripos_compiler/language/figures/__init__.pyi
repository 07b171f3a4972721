from .aggregate_signatures import (
    AggregateFunction as AggregateFunction,
    AggregateParameter as AggregateParameter,
    Bounds as Bounds,
    between as between,
)
from .aggregates import (
    AGGREGATES as AGGREGATES,
)
from .figure_ranges import (
    ends_of_formula as ends_of_formula,
    figure_range as figure_range,
)
from .interval_ends import (
    INTERVAL_ENDS as INTERVAL_ENDS,
    end_signature as end_signature,
)
from .scored_steps import (
    Giving as Giving,
    ScoredStep as ScoredStep,
    ScoredValues as ScoredValues,
    aggregates_of as aggregates_of,
    conversations_before as conversations_before,
    element_name as element_name,
    element_scores as element_scores,
    judged_steps as judged_steps,
    lists_of as lists_of,
    mean_in as mean_in,
    most_tries as most_tries,
    scored_by as scored_by,
    scored_values_of as scored_values_of,
    why_no_headline as why_no_headline,
)
from .settled import (
    DECIDED as DECIDED,
    SettlingFigure as SettlingFigure,
    SettlingMean as SettlingMean,
    says_until as says_until,
    settling_figure as settling_figure,
)
from .value_ranges import (
    CURVES as CURVES,
    Range as Range,
    Ranges as Ranges,
    computed_range as computed_range,
    curve as curve,
    curved_range as curved_range,
    enclosing_range as enclosing_range,
    ranges_of as ranges_of,
    score_spans as score_spans,
)
