from .called import (
    tools_sent as tools_sent,
)
from .completions import (
    ContinuingModel as ContinuingModel,
    transcribed as transcribed,
    trimmed as trimmed,
)
from .connections import (
    SHORTEST_KEY as SHORTEST_KEY,
    HttpAnswer as HttpAnswer,
    ModelConnection as ModelConnection,
    headers_of as headers_of,
)
from .direct import (
    DirectModel as DirectModel,
    base_url_of as base_url_of,
    completion as completion,
    format_of as format_of,
    key_of as key_of,
    lacking as lacking,
    openai_headers as openai_headers,
    samples_given as samples_given,
)
from .messages import (
    RequestCache as RequestCache,
    as_objects as as_objects,
    without_system as without_system,
)
from .replicas import (
    ReplicatedModel as ReplicatedModel,
)
from .replies import (
    THOUGHTS as THOUGHTS,
    parsed as parsed,
    read_reply as read_reply,
    whole as whole,
)
from .reply_memory import (
    MB as MB,
    REPLY_SHARE as REPLY_SHARE,
    USUAL_MB as USUAL_MB,
    ReplyMemory as ReplyMemory,
    ReplyShare as ReplyShare,
    reply_share as reply_share,
)
