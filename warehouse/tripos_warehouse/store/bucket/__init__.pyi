from .addresses import (
    address_of as address_of,
    copy_of as copy_of,
)
from .bucket import (
    Bucket as Bucket,
)
from .catalog import (
    OvertakenError as OvertakenError,
)
from .collection import (
    collect_objects as collect_objects,
)
from .exclusion import (
    only_one as only_one,
)
from .leases import (
    Leases as Leases,
)
from .panics import (
    panics_as_errors as panics_as_errors,
)
from .recovery import (
    LATE as LATE,
    recover_segment as recover_segment,
)
from .session import (
    Session as Session,
)
