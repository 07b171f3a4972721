from .distillation import (
    Replied as Replied,
    Training as Training,
    distil as distil,
    metric_weights as metric_weights,
    score_names as score_names,
)
from .files import (
    appearing as appearing,
    beside as beside,
    write_lines as write_lines,
)
from .origins import (
    counts as counts,
    provenance as provenance,
)
from .preferences import (
    pairs as pairs,
)
from .recordings import (
    VECTORS as VECTORS,
    Recorded as Recorded,
    RecordedCall as RecordedCall,
    RecordedReply as RecordedReply,
    RecordingFile as RecordingFile,
    recorded_calls as recorded_calls,
    settings_key as settings_key,
)
from .replies import (
    Keep as Keep,
    ReplyQuery as ReplyQuery,
    asked_steps as asked_steps,
)
from .tables import (
    TABLES as TABLES,
    WrittenTable as WrittenTable,
    open_fields as open_fields,
    sources as sources,
    to_data as to_data,
    write_csv as write_csv,
    write_parquet as write_parquet,
)
from .workbook import (
    longest_texts as longest_texts,
    put_text as put_text,
    write_workbook as write_workbook,
)
