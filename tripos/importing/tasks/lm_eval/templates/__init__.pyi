from .columns import (
    ColumnShape as ColumnShape,
    TaskColumns as TaskColumns,
)
from .fields import (
    DIGITS as DIGITS,
    TaskFields as TaskFields,
    edge as edge,
)
from .values import (
    TemplateValue as TemplateValue,
    item_at as item_at,
)
