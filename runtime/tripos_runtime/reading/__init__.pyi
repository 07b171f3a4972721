from .json_text import (
    find_json as find_json,
)
from .judgement_text import (
    MetricRead as MetricRead,
    MetricReads as MetricReads,
    read_metrics as read_metrics,
)
from .lengths import (
    LONG as LONG,
)
from .schema import (
    format_note as format_note,
    metrics_schema as metrics_schema,
    schema_of as schema_of,
)
from .values import (
    ReadReply as ReadReply,
    read as read,
)
