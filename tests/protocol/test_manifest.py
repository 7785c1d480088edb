"""What a run's manifest refuses beyond its fields' types (tests/vectors holds those)."""

import pytest

from protocol.errors import ParseError
from protocol.manifest import RulesSpec


@pytest.mark.parametrize("pass_alive", [False, True])
@pytest.mark.parametrize("settled_end", [False, True])
def test_settled_games_are_counted_by_areas(pass_alive: bool, settled_end: bool) -> None:
    """A White stone that lies dead in Black's area when the last point settles must not count."""
    fields = ("positional", True, pass_alive, settled_end, 3)
    if settled_end and not pass_alive:
        with pytest.raises(ParseError, match="`settled_end` needs `pass_alive`"):
            RulesSpec(*fields)
    else:
        assert RulesSpec(*fields).settled_end == settled_end
