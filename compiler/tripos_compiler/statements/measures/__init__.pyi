from .dimensions import (
    Parted as Parted,
    check_own_line as check_own_line,
    dimension_text as dimension_text,
    read_dimension as read_dimension,
    read_dimensions as read_dimensions,
)
from .expectations import (
    check_settling as check_settling,
    lower_expectations as lower_expectations,
    lower_headline as lower_headline,
)
from .figure_syntax import (
    has_unknown_aggregate as has_unknown_aggregate,
)
from .measures import (
    check_directions as check_directions,
    collect_columns as collect_columns,
    lower_measures as lower_measures,
    read_measures as read_measures,
)
from .operands import (
    find_measure as find_measure,
    find_operand as find_operand,
)
from .scored_values import (
    Operand as Operand,
)
from .typed_figures import (
    FigureContext as FigureContext,
    LoweredMeasure as LoweredMeasure,
)
