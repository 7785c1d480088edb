"""Charsets of SGF files, and the limits checked before parsing."""

import pytest

from node.exchange import sgf_text
from node.exchange.errors import SgfError
from node.exchange.sgf_reader import parse_record
from node.exchange.sgf_text import decode_sgf, verify_limits


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("UTF-8", "utf-8"),
        ("utf8", "utf-8"),
        ("US-ASCII", "utf-8"),
        ("ISO-8859-2", "iso8859-2"),
        ("windows-1251", "cp1251"),
        ("GBK", "gbk"),
        ("GB2312", "gbk"),
        ("gb18030", "gb18030"),
        ("Big5", "big5"),
        ("Shift_JIS", "cp932"),
        ("EUC-KR", "cp949"),
        ("KOI8-R", "koi8-r"),
    ],
)
def test_names_in_the_file_s_charset(charset: str, encoding: str) -> None:
    name = {"iso8859-2": "Žluť", "cp1251": "Игра", "koi8-r": "Игра", "cp949": "바둑"}.get(encoding, "棋")
    assert parse_record(f"(;CA[{charset}]PB[{name}])".encode(encoding)).black == name


@pytest.mark.parametrize(
    ("charset", "encoding", "name"),
    [("Big5", "big5", "功許"), ("Shift_JIS", "cp932", "ソ表十"), ("GBK", "gbk", "乗峕")],
)
def test_characters_that_end_in_a_backslash_or_a_bracket(charset: str, encoding: str, name: str) -> None:
    data = f"(;CA[{charset}]PB[{name}];B[aa])".encode(encoding)
    assert any(sign in name.encode(encoding) for sign in b"\\]")
    assert parse_record(data).black == name
    assert len(parse_record(data).moves) == 1


def test_without_a_charset() -> None:
    assert parse_record("(;PB[José])".encode()).black == "José"
    assert parse_record("(;PB[José])".encode("latin-1")).black == "José"
    assert parse_record("\ufeff(;PB[José])".encode()).black == "José"
    assert parse_record("(;ChArset[]PB[José])".encode()).black == "José"


def test_broken_characters_are_replaced() -> None:
    assert parse_record(b"(;CA[UTF-8]PB[a\xe6\xa3])").black == "a\ufffd"


def test_long_names_of_old_files_name_the_charset_too() -> None:
    assert parse_record("(;GaMe[1]ChArset[KOI8-R]PlayerBlack[Игра])".encode("koi8-r")).black == "Игра"


def test_charsets_that_are_refused() -> None:
    for name in (
        "utf-7",
        "utf-16",
        "hex",
        "bz2",
        "rot13",
        "punycode",
        "idna",
        "undefined",
        "cp037",
        "x" * 40,
        "a..b",
        "-",
    ):
        with pytest.raises(SgfError, match="charset"):
            decode_sgf(f"(;CA[{name}])".encode())
    with pytest.raises(SgfError, match="UTF-16"):
        decode_sgf("(;PB[a])".encode("utf-16"))


def test_each_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sgf_text, "MAX_NODES", 5)
    monkeypatch.setattr(sgf_text, "MAX_DEPTH", 3)
    monkeypatch.setattr(sgf_text, "MAX_TOKENS", 16)
    monkeypatch.setattr(sgf_text, "MAX_VALUE_BYTES", 10)
    fit = [
        b"(;;;;;)",
        b"(;(;(;)))",
        b"(;B[aa]W[aa]C[][][][][][][][])",
        b"(;C[12345678])",
        b"(;C[[;(;(;(])",
        b"(;C             [])",
    ]
    for data in fit:
        verify_limits(data)
    over = [b"(;;;;;;)", b"(;(;(;(;))))", b"(;B[aa]W[aa]C[][][][][][][][][])", b"(;C[123456789])", b"(;;;)(;;;)"]
    for data in over:
        with pytest.raises(SgfError):
            verify_limits(data)
    monkeypatch.setattr(sgf_text, "MAX_BYTES", 3)
    assert decode_sgf(b"(;)") == "(;)"
    with pytest.raises(SgfError, match="has 4 bytes; 3 are the most"):
        decode_sgf(b"(;) ")
