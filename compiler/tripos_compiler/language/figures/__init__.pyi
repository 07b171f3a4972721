from .aggregates import (
    AGGREGATES as AGGREGATES,
    AggregateFunction as AggregateFunction,
    AggregateParameter as AggregateParameter,
    Bounds as Bounds,
)
from .scored_steps import (
    Scored as Scored,
    Values as Values,
    graded as graded,
    most_tries as most_tries,
    scored_by as scored_by,
    talks_before as talks_before,
    values_of as values_of,
    why_no_headline as why_no_headline,
)
from .value_ranges import (
    Range as Range,
    Ranges as Ranges,
    hull as hull,
    ranges_of as ranges_of,
    spans_of as spans_of,
)
