"""The state of the run in a node's directory, without the node."""

from node.disk.home import Home
from node.disk.store import Store
from node.following.stored_log import replay_log
from verification.state import LogState


def load_state(home: Home) -> LogState:
    """What the log in a directory gives, empty when there is none yet; raises HomeError, StoreError or LogRefused."""
    state = LogState(home.load_ticket().run)
    if home.database.exists():
        with Store(home.database) as store:
            replay_log(state, store)
    return state
