from .litellm_client import (
    LitellmModel as LitellmModel,
    dropped as dropped,
    provider_of as provider_of,
)
from .litellm_embeddings import (
    LitellmEmbedding as LitellmEmbedding,
)
from .translated import (
    TranslatedModel as TranslatedModel,
    dropped_by as dropped_by,
)
from .translations import (
    FORMS as FORMS,
)
