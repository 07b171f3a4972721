from .configs import (
    TaskFile as TaskFile,
    read_folder as read_folder,
    read_task as read_task,
    tagged as tagged,
)
from .forms import (
    PythonName as PythonName,
)
from .groups import (
    TaskGroup as TaskGroup,
    group_of as group_of,
)
from .rows import (
    write_rows as write_rows,
)
from .sources import (
    WrittenRows as WrittenRows,
)
from .specs import (
    spec_of as spec_of,
    spec_of_group as spec_of_group,
)
