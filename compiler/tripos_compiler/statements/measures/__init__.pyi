from .dimensions import (
    own_line as own_line,
    read_dimension as read_dimension,
    text_of as text_of,
)
from .expectations import (
    lower_expectations as lower_expectations,
    lower_headline as lower_headline,
)
from .figure_syntax import (
    takes_unknown as takes_unknown,
)
from .measures import (
    collect_columns as collect_columns,
    lower_measures as lower_measures,
    read_measures as read_measures,
)
from .operands import (
    find_measure as find_measure,
    find_operand as find_operand,
)
from .scored_values import (
    Scored as Scored,
)
from .subsets import (
    lower_subsets as lower_subsets,
)
from .typed_figures import (
    Known as Known,
    Reading as Reading,
)
