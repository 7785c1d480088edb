"""The rules that a query asks for, in KataGo's words, and the nearest that are played here: `parse_rules`, `AskedRules`.

What KataGo's rules have and ours do not (Spight's ko, taxes on groups, the button) is not refused: as its own engine does
for rules that a network never learned, the nearest ones are played, and the query gets a warning. A bonus for handicap
stones is followed; by the points, it is komi.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from native.rules import Ko, Scoring
from node.analysis.errors import QueryError
from node.analysis.values import shown
from node.exchange.rule_names import NamedRules

FIELD: Final = "rules"
MISSING: Final = (
    'Must specify rules string, such as "chinese" or "tromp-taylor", or a JSON object with detailed rules parameters.'
)
BONUSES: Final = ("0", "N", "N-1")


@dataclass(frozen=True, slots=True)
class AskedRules:
    """Rules as KataGo tells them apart; `komi_half` is what counts where a query names no komi."""

    ko: str = "POSITIONAL"
    scoring: str = "AREA"
    tax: str = "NONE"
    suicide: bool = True
    button: bool = False
    bonus: str = "0"
    komi_half: int = 15

    def __str__(self) -> str:
        """As KataGo writes them, without komi."""
        more = ("button1" if self.button else "") + ("" if self.bonus == "0" else f"whb{self.bonus}")
        return f"ko{self.ko}score{self.scoring}tax{self.tax}sui{int(self.suicide)}{more}"

    @property
    def nearest(self) -> "AskedRules":
        """What of them can be played here."""
        ko = "SITUATIONAL" if self.ko == "SPIGHT" else self.ko
        return replace(self, ko=ko, tax=_TAX[self.scoring], button=False)

    @property
    def named(self) -> NamedRules:
        """The nearest, as the rest of the program has them."""
        return NamedRules(Ko[self.nearest.ko], self.suicide, Scoring[self.scoring])

    def warning(self) -> str | None:
        """What is said where others are played."""
        nearest = self.nearest
        return None if nearest == self else f"Rules {self} not supported here, using {nearest} instead"


_TAX: Final = {"AREA": "NONE", "TERRITORY": "SEKI"}
_CHOICES: Final = {
    "ko": ("SIMPLE", "POSITIONAL", "SITUATIONAL", "SPIGHT"),
    "scoring": ("AREA", "TERRITORY"),
    "tax": ("NONE", "SEKI", "ALL"),
    "bonus": BONUSES,
}
_KEYS: Final = {
    "ko": "ko",
    "score": "scoring",
    "scoring": "scoring",
    "tax": "tax",
    "suicide": "suicide",
    "hasButton": "button",
    "whiteHandicapBonus": "bonus",
}
_JAPANESE: Final = AskedRules("SIMPLE", "TERRITORY", "SEKI", False, komi_half=13)
_CHINESE: Final = AskedRules("SIMPLE", suicide=False, bonus="N")
_AGA: Final = AskedRules("SITUATIONAL", suicide=False, bonus="N-1")
_NAMES: Final = {
    "japanese": _JAPANESE,
    "korean": _JAPANESE,
    "chinese": _CHINESE,
    "chineseogs": replace(_CHINESE, ko="POSITIONAL"),
    "chinesekgs": replace(_CHINESE, ko="POSITIONAL"),
    "ancientarea": AskedRules("SIMPLE", tax="ALL", suicide=False),
    "stonescoring": AskedRules("SIMPLE", tax="ALL", suicide=False),
    "ancientterritory": replace(_JAPANESE, tax="ALL"),
    "agabutton": replace(_AGA, button=True, komi_half=14),
    "aga": _AGA,
    "bga": _AGA,
    "french": _AGA,
    "nz": AskedRules("SITUATIONAL", komi_half=14),
    "newzealand": AskedRules("SITUATIONAL", komi_half=14),
    "tromptaylor": AskedRules(),
    "goe": AskedRules(),
    "ing": AskedRules(),
}
_LONG: Final = re.compile(
    r"ko(?P<ko>SIMPLE|POSITIONAL|SITUATIONAL|SPIGHT)scor(?:e|ing)(?P<scoring>AREA|TERRITORY)"
    r"(?:tax(?P<tax>NONE|SEKI|ALL))?(?:sui(?P<suicide>[01]))?(?:button(?P<button>[01]))?"
    r"(?:whb(?P<bonus>0|N-1|N))?(?:fpok[01])?(?:komi(?P<komi>[0-9.-]{1,8}))?"
)


def parse_rules(value: Any) -> AskedRules:
    """A name, KataGo's long form, or an object; raises QueryError."""
    if isinstance(value, dict):
        return _of_object(value)
    if not isinstance(value, str):
        raise QueryError(FIELD, MISSING)
    named = _NAMES.get(re.sub("[-_ ]", "", value.strip().lower()))
    if named is not None:
        return named
    long = _LONG.fullmatch(value.strip())
    if long is not None:
        found: dict[str, Any] = {key: text for key, text in long.groupdict().items() if text is not None}
        for key in ("suicide", "button"):
            if key in found:
                found[key] = found[key] == "1"
        return _of_parts(found, value)
    if value.startswith("{"):
        try:
            table = json.loads(value)
        except (ValueError, RecursionError):
            table = None
        if isinstance(table, dict):
            return _of_object(table)
    raise _unreadable(value)


def bonus_points(bonus: str, stones: int) -> int:
    """White's points for so many handicap stones, by one of BONUSES."""
    return {"0": 0, "N": stones, "N-1": max(0, stones - 1)}[bonus]


def komi_half_of(value: Any) -> int | None:
    """Half points of a komi that KataGo takes, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -400 <= value <= 400:
        return None
    return int(2 * value) if float(2 * value).is_integer() else None


def _of_object(table: dict[str, Any]) -> AskedRules:
    text = json.dumps(table)
    found = {}
    for key, value in table.items():
        if key == "friendlyPassOk" and isinstance(value, bool):
            continue  # about who passes first at the end, which no search here takes account of
        name = "komi" if key == "komi" else _KEYS.get(key)
        if name is None or (name in ("suicide", "button") and not isinstance(value, bool)):
            raise _unreadable(text)
        found[name] = value
    return _of_parts(found, text)


def _of_parts(parts: dict[str, Any], text: str) -> AskedRules:
    for key, choices in _CHOICES.items():
        if key in parts and parts[key] not in choices:
            raise _unreadable(text)
    komi = parts.pop("komi", None)
    parts.setdefault("tax", _TAX[parts.get("scoring", "AREA")])
    asked = AskedRules(**parts)
    if komi is None:
        return replace(asked, komi_half=13 if asked.scoring == "TERRITORY" else 14 if asked.button else 15)
    try:
        half = komi_half_of(float(komi) if isinstance(komi, str) else komi)
    except ValueError:
        half = None
    if half is None:
        raise _unreadable(text)
    return replace(asked, komi_half=half)


def _unreadable(text: str) -> QueryError:
    return QueryError(FIELD, f"Could not parse rules: {shown(text)}")
