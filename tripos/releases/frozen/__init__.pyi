from .items import (
    FrozenItems as FrozenItems,
    canary_of as canary_of,
    frozen_items as frozen_items,
    held_back_in as held_back_in,
    withheld_note as withheld_note,
    withheld_of as withheld_of,
    write_drawn as write_drawn,
    write_items as write_items,
    write_public as write_public,
)
from .reward_models import (
    Artefact as Artefact,
    artefact_checks as artefact_checks,
    artefact_folders as artefact_folders,
    artefacts_of as artefacts_of,
    inherited_models as inherited_models,
    open_artefact as open_artefact,
    open_roles as open_roles,
    with_artefacts as with_artefacts,
    with_inherited as with_inherited,
)
from .snapshots import (
    MADE as MADE,
    copy_frozen_rows as copy_frozen_rows,
    gather_rows as gather_rows,
    restore as restore,
    restore_extended as restore_extended,
    restore_given as restore_given,
    snapshot_rows as snapshot_rows,
)
