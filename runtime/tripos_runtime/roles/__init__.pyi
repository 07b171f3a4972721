from .binding import (
    BindingError as BindingError,
    NoEmbedding as NoEmbedding,
    RoleBinding as RoleBinding,
    bind as bind,
    check_embedding as check_embedding,
    embedding_roles as embedding_roles,
    reward_roles as reward_roles,
)
from .length_bounds import (
    ReplyLength as ReplyLength,
    reply_lengths as reply_lengths,
)
from .majority import (
    with_majority as with_majority,
)
from .model_families import (
    Kinship as Kinship,
    kin as kin,
)
from .provenance import (
    made_by as made_by,
    makers_of as makers_of,
    making_binding as making_binding,
)
from .shown_media import (
    TakesMedium as TakesMedium,
    UnknownSight as UnknownSight,
    check_sight as check_sight,
    unknown_sight as unknown_sight,
)
from .unsupported_settings import (
    Untaken as Untaken,
    untaken as untaken,
)
