"""Lines of the protocol: whatever the bytes are, a request, nothing or a failure; answers that hold their form."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from node.gtp.errors import Failure
from node.gtp.line import MAX_BYTES, MAX_ID, Request, clean, encode_answer, parse_line
from tests.node.gtp.dialogue import verify_form


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        (b"name\n", Request(None, "name", (), "")),
        (b"  \t 12\tplay  b\td4 # remark\r\n", Request(12, "play", ("b", "d4"), "b d4")),
        (b"0007 name", Request(7, "name", (), "")),
        (b"1name", Request(1, "name", (), "")),
        (b"na\x01\x7fme\x00", Request(None, "name", (), "")),
        (b"5", Request(5, "", (), "")),
        (b"2147483647 x", Request(MAX_ID, "x", (), "")),
        (b"0" * 10_000 + b"1 x", Request(1, "x", (), "")),
        (b"# 1 name", None),
        (b" \t\r\n", None),
    ],
)
def test_known_lines(line: bytes, request_: Request | None) -> None:
    assert parse_line(line) == request_


@pytest.mark.parametrize("line", [b"2147483648 x", b"9" * 6000 + b" x", b"x" * (MAX_BYTES + 1)])
def test_what_is_refused(line: bytes) -> None:
    with pytest.raises(Failure, match=r"\.$"):
        parse_line(line)


@given(st.binary(max_size=300))
@example(b"\xff\xfe\x85 \xe2\x80\xa8")
def test_any_bytes(line: bytes) -> None:
    try:
        request = parse_line(line)
    except Failure as failure:
        verify_form(encode_answer(False, None, str(failure))[:-2])
        return
    if request is not None:
        assert "#" not in request.text
        assert request.id is None or 0 <= request.id <= MAX_ID
        assert not any(character < " " for argument in request.arguments for character in argument)


@given(
    number=st.none() | st.integers(0, MAX_ID),
    name=st.from_regex(r"[a-z][a-z_-]{0,20}", fullmatch=True),
    arguments=st.lists(st.from_regex(r"[!-\"$-~]{1,10}", fullmatch=True), max_size=5),
    gap=st.sampled_from([" ", "  ", "\t", " \t "]),
    end=st.sampled_from(["", "\n", "\r\n", " # remark\n"]),
)
def test_what_is_said_is_read(number: int | None, name: str, arguments: list[str], gap: str, end: str) -> None:
    words = ([] if number is None else [str(number)]) + [name, *arguments]
    request = parse_line((gap.join(words) + end).encode())
    assert request is not None
    assert (request.id, request.name, list(request.arguments)) == (number, name, arguments)


@given(st.text(), st.none() | st.integers(0, MAX_ID))
def test_answers_hold_their_form(text: str, number: int | None) -> None:
    answer = encode_answer(True, number, text)
    assert answer.endswith("\n\n")
    assert "\n\n" not in answer[:-2]
    verify_form(answer[:-2])
    assert clean(clean(text)) == clean(text)
    answer.encode("utf-8")
