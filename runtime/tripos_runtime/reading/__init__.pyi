from .exact_json import (
    parts_around_json as parts_around_json,
)
from .judgement_text import (
    MetricRead as MetricRead,
    MetricReads as MetricReads,
    read_metrics as read_metrics,
)
from .plain_text import (
    LONG_REPLY as LONG_REPLY,
)
from .schema import (
    described_tool as described_tool,
    format_note as format_note,
    metrics_schema as metrics_schema,
    schema_of as schema_of,
)
from .values import (
    ReadReply as ReadReply,
    read as read,
)
