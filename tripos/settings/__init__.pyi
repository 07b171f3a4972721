from .api_keys import (
    key_values as key_values,
    table_without_keys as table_without_keys,
    without_keys as without_keys,
)
from .config import (
    SETTINGS_FILE as SETTINGS_FILE,
    ClusterConfig as ClusterConfig,
    Config as Config,
)
from .denied_warnings import (
    chosen_denials as chosen_denials,
    denied_codes as denied_codes,
)
from .division import (
    check_divisible as check_divisible,
    divided as divided,
    divided_budget as divided_budget,
)
from .env_file import (
    UNKNOWN_VARIABLE as UNKNOWN_VARIABLE,
    env_files as env_files,
    load_env as load_env,
    split_env as split_env,
)
from .environment import (
    check_language as check_language,
    set_variables as set_variables,
)
from .load import (
    ChosenSettings as ChosenSettings,
    chosen_settings as chosen_settings,
    load_config as load_config,
    load_settings as load_settings,
    project_settings as project_settings,
    value_fault as value_fault,
    with_options as with_options,
)
from .programs import (
    programs_of as programs_of,
    with_programs as with_programs,
)
from .source_files import (
    BROKEN_ZIP as BROKEN_ZIP,
    LEAVE as LEAVE,
    SourceArchive as SourceArchive,
    SourceFile as SourceFile,
    SourceFolder as SourceFolder,
    collisions as collisions,
    is_inside as is_inside,
    member_faults as member_faults,
    read_exact_json as read_exact_json,
    read_json as read_json,
)
from .toml_lines import (
    read_toml as read_toml,
)
from .trust import (
    check_given as check_given,
    time_limit as time_limit,
    trust_in as trust_in,
    trust_of as trust_of,
)
from .untrusted_files import (
    MOST_BYTES as MOST_BYTES,
    MOST_DATA_BYTES as MOST_DATA_BYTES,
    opened_regular as opened_regular,
    read_untrusted as read_untrusted,
    read_untrusted_json as read_untrusted_json,
    read_untrusted_lines as read_untrusted_lines,
    read_untrusted_raw_lines as read_untrusted_raw_lines,
)
from .wiring import (
    LOCAL_PREFIXES as LOCAL_PREFIXES,
    endpoints_of as endpoints_of,
    limits_of as limits_of,
    prices_of as prices_of,
    with_identities as with_identities,
)
