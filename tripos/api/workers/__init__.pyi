from .pool import (
    worker_pool as worker_pool,
)
from .worker import (
    main as main,
)
