from .base import (
    CALLED as CALLED,
    FREE as FREE,
    OPTION as OPTION,
    PLAIN as PLAIN,
    RESULT as RESULT,
    TOOL as TOOL,
    CodedError as CodedError,
    Contents as Contents,
    DialogueTurn as DialogueTurn,
    Endpoint as Endpoint,
    Message as Message,
    Model as Model,
    ModelError as ModelError,
    Price as Price,
    Reply as Reply,
    Request as Request,
    Warming as Warming,
    texts_read as texts_read,
)
from .embeddings import (
    LOCAL as LOCAL,
    MOCK as MOCK,
    embeds as embeds,
    encoder_id as encoder_id,
    open_embedding as open_embedding,
    writes as writes,
)
from .opening import (
    open_model as open_model,
)
from .vectors import (
    Vector as Vector,
    from_text as from_text,
)
