from .collection import (
    Collection as Collection,
    IndexStore as IndexStore,
)
from .encoding import (
    TABLE as TABLE,
    Encoder as Encoder,
    NoVector as NoVector,
    vector_id as vector_id,
    vectors_of_others as vectors_of_others,
)
from .indexes import (
    Values as Values,
    VectorIndex as VectorIndex,
    index_of as index_of,
)
from .measures import (
    SimilarityCall as SimilarityCall,
)
from .selection import (
    Chooser as Chooser,
)
