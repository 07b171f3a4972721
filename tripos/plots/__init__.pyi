from .choices import (
    FontWarning as FontWarning,
    PlotChoices as PlotChoices,
    PlotKind as PlotKind,
    plot as plot,
)
from .drawing import (
    Drawing as Drawing,
    draw as draw,
)
from .figures import (
    KINDS as KINDS,
    make_picture as make_picture,
)
from .output import (
    FORMATS as FORMATS,
    why_no_font as why_no_font,
    write_drawing as write_drawing,
)
from .picture import (
    Picture as Picture,
)
from .sources import (
    PlotOptions as PlotOptions,
)
from .theme import (
    SIZES as SIZES,
    Style as Style,
    length_pt as length_pt,
)
