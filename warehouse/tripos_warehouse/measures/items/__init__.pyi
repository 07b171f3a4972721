from .analysed_items import (
    KEPT as KEPT,
    AnalysedItem as AnalysedItem,
    analysed_items as analysed_items,
    items_json as items_json,
    items_text as items_text,
    near_items as near_items,
)
from .item_remarks import (
    FEWEST as FEWEST,
    LEAST_MODELS as LEAST_MODELS,
    told_of_items as told_of_items,
)
from .shown_keys import (
    unbalanced_keys as unbalanced_keys,
)
