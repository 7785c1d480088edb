"""Root versions: which one judges what, and which may follow another."""

from dataclasses import replace

import pytest

from protocol.ed25519 import SecretKey
from protocol.entries import parse_entry
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.types import ZERO
from tests.verification.manifests import digest_of
from verification.faults import LogFault
from verification.root_versions import RootVersions, require_next_root, verify_next_root

RUN = digest_of("run")
A, B, C, STRANGER, PEN, WITNESS = (SecretKey(digest_of(name)) for name in ("a", "b", "c", "stranger", "pen", "witness"))
FIRST = Root(ZERO, 1, 2, (A.public, B.public, C.public), (Role(COORDINATOR, PEN.public, "pen"),), 1)
SECOND = replace(FIRST, run=RUN, version=2, roles=(*FIRST.roles, Role(VERIFIER, WITNESS.public, "witness", 12)))


def test_an_entry_is_judged_by_the_newest_version_before_it() -> None:
    versions = RootVersions(((0, FIRST),)).followed_by(7, SECOND)
    assert [versions.at(index).version for index in (0, 1, 7, 8, 100)] == [1, 1, 1, 2, 2]
    assert versions.newest == SECOND
    assert [versions.role(WITNESS.public, index) is not None for index in (7, 8, 11, 12)] == [False, True, True, False]
    assert versions.role(STRANGER.public, 8) is None


def test_a_log_that_has_not_begun_has_none() -> None:
    for ask in (lambda: RootVersions().newest, lambda: RootVersions().at(3), lambda: RootVersions().role(A.public, 3)):
        with pytest.raises(LogFault, match="no root yet"):
            ask()


def test_the_next_version_is_signed_by_both_thresholds() -> None:
    other = replace(SECOND, keys=(C.public, STRANGER.public), threshold=2)
    assert verify_next_root(SECOND.seal(A, C).encode(), FIRST, RUN) == SECOND
    assert verify_next_root(other.seal(A, C, STRANGER).encode(), FIRST, RUN) == other
    for signers in ((A,), (A, C), (C, STRANGER), (A, STRANGER)):
        with pytest.raises(LogFault, match="1 of the root's keys signed the root; 2 have to"):
            verify_next_root(other.seal(*signers).encode(), FIRST, RUN)
    with pytest.raises(LogFault, match="not the root's signed"):
        verify_next_root(SECOND.seal(A, B, STRANGER).encode(), FIRST, RUN)


def test_versions_are_never_left_out_nor_of_another_run() -> None:
    for version in (3, 4):
        with pytest.raises(LogFault, match=f"Root version {version} does not follow version 1"):
            verify_next_root(replace(SECOND, version=version).seal(A, B).encode(), FIRST, RUN)
    with pytest.raises(LogFault, match="does not follow version 2"):
        verify_next_root(SECOND.seal(A, B).encode(), SECOND, RUN)
    for data in (replace(SECOND, run=digest_of("other")).seal(A, B), FIRST.seal(A, B)):
        with pytest.raises(LogFault, match="not the run's root version 2"):
            verify_next_root(data.encode(), FIRST, RUN)


def test_an_entry_is_held_against_the_same_rule() -> None:
    entry = parse_entry(SECOND.seal(A, B).encode())
    require_next_root(entry, SECOND, FIRST)
    with pytest.raises(LogFault, match="does not follow"):
        require_next_root(entry, SECOND, SECOND)


def test_how_many_signatures_are_missing() -> None:
    assert [FIRST.missing(keys) for keys in ((), (A.public,), (A.public, A.public), (A.public, C.public))] == [
        2,
        1,
        1,
        0,
    ]
    assert FIRST.missing((A.public, B.public, C.public, STRANGER.public)) == 0
    assert FIRST.missing((STRANGER.public, WITNESS.public)) == 2
