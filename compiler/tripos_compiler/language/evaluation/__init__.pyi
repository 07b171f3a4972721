from .absence import (
    Divided as Divided,
    EvaluationStopped as EvaluationStopped,
    Fault as Fault,
    Missing as Missing,
    NoValue as NoValue,
    Unavailable as Unavailable,
)
from .expressions import (
    DATA as DATA,
    LAZY as LAZY,
    PLACE as PLACE,
    TREES as TREES,
    element_value as element_value,
    elements as elements,
    evaluate as evaluate,
)
from .statuses import (
    REPLIES as REPLIES,
    decided_by as decided_by,
)
from .stopping import (
    LongEvaluations as LongEvaluations,
)
from .voting import (
    DIVIDED as DIVIDED,
    votes_in as votes_in,
)
