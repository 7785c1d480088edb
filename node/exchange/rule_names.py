"""Names of rule sets in game records, as people and KataGo write them.

Known names give their usual ko rule, suicide and scoring; for all else KataGo's own form is read and written, such as
`koPOSITIONALscoreAREAtaxNONEsui1`. Read are those of its rules that can be played here: without Spight's ko rule, without a
tax on groups, without button and bonus for handicap. Territory scoring here gives no points in seki, its `taxSEKI`.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from native.rules import Ko, Rules, Scoring


@dataclass(frozen=True, slots=True)
class NamedRules:
    """What a name says about rules; komi and size are not part of it."""

    ko: Ko
    suicide: bool
    scoring: Scoring


TROMP_TAYLOR: Final = NamedRules(Ko.POSITIONAL, True, Scoring.AREA)

_WRITTEN: Final = {
    "Tromp-Taylor": TROMP_TAYLOR,
    "NZ": NamedRules(Ko.SITUATIONAL, True, Scoring.AREA),
    "AGA": NamedRules(Ko.SITUATIONAL, False, Scoring.AREA),
    "Chinese": NamedRules(Ko.SIMPLE, False, Scoring.AREA),
    "Japanese": NamedRules(Ko.SIMPLE, False, Scoring.TERRITORY),
}
_READ: Final = {
    **{name.lower(): rules for name, rules in _WRITTEN.items()},
    "new zealand": _WRITTEN["NZ"],
    "bga": _WRITTEN["AGA"],
    "french": _WRITTEN["AGA"],
    "korean": _WRITTEN["Japanese"],
    "ing": TROMP_TAYLOR,
    "goe": TROMP_TAYLOR,
}
_KATAGO = re.compile(
    r"ko(SIMPLE|POSITIONAL|SITUATIONAL)score(AREA(?=taxNONE)|TERRITORY)tax(?:NONE|SEKI)sui([01])(?:button0)?(?:whb0)?(?:fpok[01])?"
)
_TAX: Final = {Scoring.AREA: "NONE", Scoring.TERRITORY: "SEKI"}


def parse_rules(name: str) -> NamedRules | None:
    """What `name` stands for, None when it is not known."""
    if found := _KATAGO.fullmatch(name):
        return NamedRules(Ko[found[1]], found[3] == "1", Scoring[found[2]])
    return _READ.get(name.lower())


def name_rules(rules: Rules) -> str:
    """The name under which other programs know these rules."""
    named = NamedRules(rules.ko, rules.suicide, rules.scoring)
    for name, known in _WRITTEN.items():
        if known == named:
            return name
    return katago_form(named)


def katago_form(rules: NamedRules) -> str:
    """The rules as KataGo's own records have them."""
    return f"ko{rules.ko.name}score{rules.scoring.name}tax{_TAX[rules.scoring]}sui{int(rules.suicide)}"


def by_name(rules: Rules, named: NamedRules, house: Rules) -> Rules:
    """`rules` with the named ko rule, suicide and scoring; what only area scoring knows is as in `house`."""
    is_area = named.scoring == Scoring.AREA
    return replace(
        rules,
        ko=named.ko,
        suicide=named.suicide,
        scoring=named.scoring,
        pass_alive=is_area and house.pass_alive,
        settled_end=is_area and house.settled_end,
    )
