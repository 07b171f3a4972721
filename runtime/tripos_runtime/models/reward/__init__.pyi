from .mock_reward import (
    open_mock_reward as open_mock_reward,
)
from .reward_artefact import (
    PINNED as PINNED,
    SHORT as SHORT,
    check_reward as check_reward,
    open_reward as open_reward,
    pinned_name as pinned_name,
    read_manifest as read_manifest,
)
from .reward_network import (
    RewardNetwork as RewardNetwork,
    Shape as Shape,
    load_base as load_base,
    packed as packed,
    write_network as write_network,
)
from .rewards import (
    BatchedReward as BatchedReward,
    RewardModel as RewardModel,
    is_reward as is_reward,
)
from .served_reward import (
    ServedReward as ServedReward,
)
from .trained_reward import (
    KIND as KIND,
    OUTSIDE as OUTSIDE,
    TrainedReward as TrainedReward,
    digest_of as digest_of,
    model_files as model_files,
)
