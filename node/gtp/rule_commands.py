"""Commands about rules, in KataGo's words and KGS's: what of them is known here (docs/spec/rules.md)."""

import json
from typing import Any, Final

from native.rules import Ko, Rules, Scoring
from node.exchange.rule_names import NamedRules, parse_rules
from node.gtp.command import Command
from node.gtp.errors import Failure
from node.gtp.line import Request
from node.gtp.session import Session
from node.gtp.values import argument, shown

_KGS: Final = {"japanese": "Japanese", "chinese": "Chinese", "aga": "AGA", "new_zealand": "NZ"}
_CHINESE_SUPERKO: Final = NamedRules(Ko.POSITIONAL, False, Scoring.AREA)
_KATAGO: Final = {
    "chinese-ogs": _CHINESE_SUPERKO,
    "chinese-kgs": _CHINESE_SUPERKO,
    "new-zealand": NamedRules(Ko.SITUATIONAL, True, Scoring.AREA),
}
_FIXED: Final = {"tax": "NONE", "hasButton": False, "whiteHandicapBonus": "0", "friendlyPassOk": False}
"""What KataGo's rules have and ours do not: only these values are taken."""


def get_rules(session: Session, request: Request) -> str:
    """`kata-get-rules`: one JSON object."""
    return json.dumps(_table(session.table.rules), sort_keys=True)


def set_rules(session: Session, request: Request) -> str:
    """`kata-set-rules NAME` or a JSON object as `kata-get-rules` gives."""
    argument(request.arguments, 0, "the name of rules")
    text = request.text.strip()
    _change(session, _of_json(session, text) if text.startswith("{") else _named(text))
    return ""


def set_rule(session: Session, request: Request) -> str:
    """`kata-set-rule KEY VALUE`."""
    key, value = (argument(request.arguments, at, "a key and a value") for at in (0, 1))
    known: Any = {"true": True, "false": False}.get(value.lower(), value)
    _change(session, _of_table(session, {key: known}))
    return ""


def kgs_rules(session: Session, request: Request) -> str:
    """`kgs-rules japanese|chinese|aga|new_zealand`."""
    name = argument(request.arguments, 0, "the name of rules").lower()
    if name not in _KGS:
        raise Failure(f"KGS has the rules {', '.join(_KGS)}, and none called {shown(name)}.")
    _change(session, _named(_KGS[name]))
    return ""


def rules_called(name: str) -> NamedRules | None:
    """What a name of rules stands for, in KataGo's spelling too; None when it is not known."""
    return _KATAGO.get(name.lower()) or parse_rules(name)


def _named(name: str) -> NamedRules:
    named = rules_called(name)
    if named is None:
        raise Failure(f"No rules are known here as {shown(name)}.")
    return named


def _of_json(session: Session, text: str) -> NamedRules:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        raise Failure("The rules are no JSON object.") from None
    if not isinstance(table, dict):
        raise Failure("The rules are no JSON object.")
    return _of_table(session, table)


def _of_table(session: Session, changes: dict[str, Any]) -> NamedRules:
    table = _table(session.table.rules) | changes
    for key in changes:
        if key in _FIXED and changes[key] not in (_FIXED[key], str(_FIXED[key]).lower()):
            raise Failure(f"The rule {key} is always {json.dumps(_FIXED[key])} here.")
    unknown = sorted(set(table) - {"ko", "scoring", "suicide", *_FIXED})
    if unknown:
        raise Failure(f"There is no rule {shown(unknown[0])} here.")
    ko, scoring, suicide = table["ko"], table["scoring"], table["suicide"]
    if ko not in list(Ko.__members__) or scoring not in list(Scoring.__members__) or not isinstance(suicide, bool):
        raise Failure(
            "The rule ko is SIMPLE, POSITIONAL or SITUATIONAL, scoring is AREA or TERRITORY, suicide is true or false."
        )
    return NamedRules(Ko[ko], suicide, Scoring[scoring])


def _table(rules: Rules) -> dict[str, Any]:
    return {"ko": rules.ko.name, "scoring": rules.scoring.name, "suicide": rules.suicide, **_FIXED}


def _change(session: Session, named: NamedRules) -> None:
    session.table.change_rules(session.named(named))


COMMANDS: Final[dict[str, Command]] = {
    "kata-get-rules": get_rules,
    "kata-set-rules": set_rules,
    "kata-set-rule": set_rule,
    "kgs-rules": kgs_rules,
}
