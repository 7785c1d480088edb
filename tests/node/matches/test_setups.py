"""How pairs begin: the run's draws, sizes and komi that the user says, and openings of files."""

from dataclasses import replace
from pathlib import Path

import pytest

from native.handicap import HandicapError
from node.matches.match import pair_seed
from node.matches.setups import OpeningError, Setups, make_setups
from protocol.manifest import BoardWeight, KomiWeight, Manifest
from tests.verification.manifests import small_manifest
from verification.setup import gate_setup


def setups(openings: str = "run", size: int | None = None, komi_half: int | None = None) -> Setups:
    return make_setups(small_manifest(), 0, size, komi_half, openings)


def drawn(found: Setups, pairs: int = 40) -> list[tuple[int, int, tuple[int, ...]]]:
    begun = [found(pair, pair_seed(pair)) for pair in range(pairs)]
    return [(rules.rows, rules.komi_half, tuple(moves)) for rules, moves in begun]


def two_sizes() -> Manifest:
    """7x7 at komi 9, and 9x9 at komi 7."""
    manifest = small_manifest()
    boards = (BoardWeight(7, 1, (KomiWeight(18, 1),)), BoardWeight(9, 1, (KomiWeight(14, 1),)))
    return replace(manifest, stages=(replace(manifest.stages[0], boards=boards),))


def test_the_runs_own() -> None:
    manifest = small_manifest()
    for pair in range(20):
        rules, moves = setups()(pair, pair_seed(pair))
        expected = gate_setup(manifest, 0, pair_seed(pair))
        assert (rules, moves) == (expected.rules, expected.opening_moves)


def test_komi_and_size() -> None:
    assert {komi for _, komi, _ in drawn(setups(komi_half=-3))} == {-3}
    plain, other = drawn(setups()), drawn(setups(size=13))
    assert {(size, moves) for size, _, moves in other} == {(13, ())}, "the run has no openings for 13x13"
    assert [komi for _, komi, _ in other] == [komi for _, komi, _ in plain]


def test_a_size_of_several_has_its_own_komi() -> None:
    both = {(size, komi) for size, komi, _ in drawn(make_setups(two_sizes(), 0, None, None, "empty"))}
    assert both == {(7, 18), (9, 14)}
    assert {(size, komi) for size, komi, _ in drawn(make_setups(two_sizes(), 0, 9, None, "empty"))} == {(9, 14)}


def test_the_empty_board() -> None:
    assert {moves for _, _, moves in drawn(setups("empty"))} == {()}


def test_lines_of_moves(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("# the centre\nD4\n\n  d4 E5   pass # and a pass\nA1 G7\n")
    found = drawn(setups(str(path)), 6)
    assert [moves for _, _, moves in found] == [(24,), (24, 18, 49), (42, 6)] * 2
    assert {size for size, _, _ in found} == {7}


def test_a_folder_of_games_and_a_file_of_games(tmp_path: Path) -> None:
    one, two = "(;SZ[9]KM[3];B[ee];W[cc])", "(;SZ[9];B[aa](;W[bb])(;W[cc];B[dd]))"
    (tmp_path / "a.sgf").write_text(one)
    (tmp_path / "b.SGF").write_text(two)
    (tmp_path / "notes.txt").write_text("not an opening")
    (tmp_path / "all").mkdir()
    both = tmp_path / "all" / "c.sgf"
    both.write_text(one + two)
    for path in (tmp_path, both):
        found = drawn(setups(str(path)), 4)
        assert [(size, moves) for size, _, moves in found] == [(9, (40, 20)), (9, (0, 10))] * 2


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.txt", "", "no opening"),
        ("a.txt", "D4 Z9", r"a\.txt, line 1: The move 'Z9' is not on a board of 7 by 7"),
        ("a.txt", "D4\nD4 I5", r"line 2: The move 'I5' is not"),
        ("a.txt", "D4 D4", r"line 1: move 2 \(D4\) is illegal: occupied"),
        ("a.txt", "D4 pass pass", "is over"),
        ("a.txt", "\x00\ufffd", "is not on a board"),
        ("a.sgf", "nonsense", "no game in this text"),
        ("a.sgf", "(;SZ[9];B[aa];B[bb])", "by turns"),
        ("a.sgf", "(;SZ[9];W[aa])", "by turns"),
        ("a.sgf", "(;SZ[9]AB[aa];W[bb])", "puts stones"),
        ("a.sgf", "(;SZ[9];B[bb];AE[bb])", "puts stones"),
        ("a.sgf", "(;SZ[5];B[bb])", "square"),
        ("a.sgf", "(;SZ[9:7];B[bb])", "square"),
        ("a.sgf", "(;SZ[9];B[bb])(;SZ[7];B[bb])", "game 2: the board has size 7, not 9"),
        ("a.sgf", "(;SZ[9];B[aa];W[aa])", r"move 2 \(A9\) is illegal"),
    ],
)
def test_files_that_are_refused(name: str, text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(OpeningError, match=sentence):
        setups(str(path))


def test_sizes_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.sgf"
    path.write_text("(;SZ[9];B[aa])")
    with pytest.raises(OpeningError, match="size 9, not 7"):
        setups(str(path), size=7)
    lines = tmp_path / "a.txt"
    lines.write_text("J9")
    with pytest.raises(OpeningError, match="need --size"):
        make_setups(two_sizes(), 0, None, None, str(lines))
    assert drawn(make_setups(two_sizes(), 0, 9, None, str(lines)), 1)[0][2] == (8,)
    with pytest.raises(OpeningError, match="no such file"):
        setups(str(tmp_path / "none"))
    (tmp_path / "nothing").mkdir()
    with pytest.raises(OpeningError, match="no opening"):
        setups(str(tmp_path / "nothing"))


def test_setups_that_differ_have_other_digests(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    digests = [setups().digest(), setups("empty").digest(), setups(size=7).digest(), setups(komi_half=3).digest()]
    for text in ("D4", "D4\nE5", "E5\nD4"):
        path.write_text(text)
        digests.append(setups(str(path)).digest())
    digests.append(make_setups(two_sizes(), 0, None, None, "run").digest())
    assert len(set(digests)) == len(digests)
    assert setups("empty").digest() == digests[1]


def test_a_handicap_has_no_opening_and_half_a_point_of_komi(tmp_path: Path) -> None:
    setups = make_setups(small_manifest(), 0, 9, None, "run", handicap=4)
    rules, opening = setups(0, bytes(32))
    assert (rules.rows, rules.komi_half, opening) == (9, 1, ())
    assert make_setups(small_manifest(), 0, 9, 13, "empty", handicap=4)(3, bytes(32))[0].komi_half == 13
    path = tmp_path / "openings"
    path.write_text("D4 E5\n")
    with pytest.raises(OpeningError, match="a handicap is an opening of its own"):
        make_setups(small_manifest(), 0, 9, None, str(path), handicap=4)
    with pytest.raises(HandicapError, match="takes 2 to 4 fixed handicap stones, not 5"):
        make_setups(small_manifest(), 0, 8, None, "run", handicap=5)


def test_a_limit_of_moves(tmp_path: Path) -> None:
    limited = make_setups(small_manifest(), 0, 9, None, "empty", move_limit=30)
    free = make_setups(small_manifest(), 0, 9, None, "empty")
    assert limited(0, bytes(32))[0].move_cap == 30
    assert free(0, bytes(32))[0].move_cap > 30
    assert limited.digest() != free.digest()
    short = make_setups(small_manifest(), 0, None, None, "run", move_limit=1)
    assert {len(short(pair, pair_seed(pair))[1]) for pair in range(40)} == {0, 1}, "a run's opening is cut there"
    path = tmp_path / "openings"
    path.write_text(" ".join(["D4 E5 C3 F6 G7 C7 G3 E4 D5 E6"]) + "\n")
    with pytest.raises(OpeningError, match="the game is over after these moves"):
        make_setups(small_manifest(), 0, 9, None, str(path), move_limit=10)
