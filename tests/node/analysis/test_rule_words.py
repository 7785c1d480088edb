"""Rules in KataGo's words: its names, its long form, its objects, and what is played of them."""

from typing import Any

import pytest

from native.rules import Ko, Scoring
from node.analysis.errors import QueryError
from node.analysis.rule_words import bonus_points, komi_half_of, parse_rules
from tests.node.analysis.talk import the_error, warnings_of


@pytest.mark.parametrize(
    ("name", "written", "komi_half"),
    [
        ("tromp-taylor", "koPOSITIONALscoreAREAtaxNONEsui1", 15),
        ("Tromp Taylor", "koPOSITIONALscoreAREAtaxNONEsui1", 15),
        ("Chinese", "koSIMPLEscoreAREAtaxNONEsui0whbN", 15),
        ("chinese-ogs", "koPOSITIONALscoreAREAtaxNONEsui0whbN", 15),
        ("chinese_kgs", "koPOSITIONALscoreAREAtaxNONEsui0whbN", 15),
        ("japanese", "koSIMPLEscoreTERRITORYtaxSEKIsui0", 13),
        ("korean", "koSIMPLEscoreTERRITORYtaxSEKIsui0", 13),
        ("aga", "koSITUATIONALscoreAREAtaxNONEsui0whbN-1", 15),
        ("AGA-button", "koSITUATIONALscoreAREAtaxNONEsui0button1whbN-1", 14),
        ("new zealand", "koSITUATIONALscoreAREAtaxNONEsui1", 14),
        ("stone_scoring", "koSIMPLEscoreAREAtaxALLsui0", 15),
        ("ancient-territory", "koSIMPLEscoreTERRITORYtaxALLsui0", 13),
        ("koSIMPLEscoreTERRITORYtaxNONEsui1", "koSIMPLEscoreTERRITORYtaxNONEsui1", 13),
        ("koSPIGHTscoreAREAtaxNONEsui0button1whbNfpok1komi5.5", "koSPIGHTscoreAREAtaxNONEsui0button1whbN", 11),
        ({}, "koPOSITIONALscoreAREAtaxNONEsui1", 15),
        (
            {"scoring": "TERRITORY", "suicide": False, "friendlyPassOk": True},
            "koPOSITIONALscoreTERRITORYtaxSEKIsui0",
            13,
        ),
        ({"ko": "SIMPLE", "score": "AREA", "tax": "ALL", "komi": -3}, "koSIMPLEscoreAREAtaxALLsui1", -6),
        ('{"hasButton":true,"whiteHandicapBonus":"N-1"}', "koPOSITIONALscoreAREAtaxNONEsui1button1whbN-1", 14),
    ],
)
def test_what_is_known(name: Any, written: str, komi_half: int) -> None:
    asked = parse_rules(name)
    assert (str(asked), asked.komi_half) == (written, komi_half)


@pytest.mark.parametrize(
    "name",
    [
        *("", "go", "koSIMPLE", "koSIMPLEscoreAREAtaxNONEsui2", "koSIMPLEscoreAREAkomi0.3", "{", "{}x", "[]", "é"),
        *({"ko": "simple"}, {"ko": 1}, {"suicide": "yes"}, {"other": 1}, {"komi": 401}, {"komi": "x"}, {"komi": [1]}),
        *({"tax": None}, {"ko": []}, {"whiteHandicapBonus": "2"}, {"friendlyPassOk": 3}, {"komi": 10**400}),
        *(None, 3, [], True),
    ],
)
def test_what_is_not_known(name: Any) -> None:
    with pytest.raises(QueryError) as refused:
        parse_rules(name)
    assert refused.value.field == "rules"


def test_the_nearest_are_played() -> None:
    asked = parse_rules({"ko": "SPIGHT", "scoring": "TERRITORY", "tax": "ALL", "hasButton": True})
    assert (asked.named.ko, asked.named.scoring, asked.named.suicide) == (Ko.SITUATIONAL, Scoring.TERRITORY, True)
    assert asked.nearest.warning() is None
    assert warnings_of(rules="stone_scoring") == {
        "rules": "Rules koSIMPLEscoreAREAtaxALLsui0 not supported here, using koSIMPLEscoreAREAtaxNONEsui0 instead"
    }
    assert warnings_of(rules="japanese") == {}


def test_komi_and_bonus() -> None:
    assert [komi_half_of(each) for each in (7.5, 7, -400, 0.25, 400.5, True, "7", None)] == [
        *(15, 14, -800),
        *[None] * 5,
    ]
    assert [bonus_points(bonus, 3) for bonus in ("0", "N", "N-1")] == [0, 3, 2]
    assert the_error(komi=10**400) == ("komi", "Must be a integer or half-integer from -400.0 to 400.0")
    assert the_error(whiteHandicapBonus="x") == ("whiteHandicapBonus", "Must be 0, N or N-1")
    assert the_error(whiteHandicapBonus=1) == ("whiteHandicapBonus", "Must be a string")
    assert the_error(rules=None)[0] == "rules"
