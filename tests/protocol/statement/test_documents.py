"""The documents of a release: what they cover, what they say, and that nothing else is signed by the same statement."""

import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from protocol.envelope import pae
from protocol.errors import BadKey, BadSignature
from protocol.layout import blob_path
from protocol.statement import documents as names
from protocol.statement.p256 import ModelKey, public_pem, verify_p256
from protocol.types import ZERO
from tests.protocol.statement.folder import signed
from tests.vectors.record_examples import COORDINATOR, STRANGER, digest_of


def leaves(value: Any) -> Iterator[Any]:
    """Everything in JSON that is neither object nor list."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


def statement_in(envelope: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(b64decode(json.loads(envelope)["payload"]))
    return found


def test_the_sums_cover_every_other_document_and_both_files() -> None:
    documents, record = signed()
    files = documents.files(record)
    assert set(files) == set(names.NAMES)
    lines = files[names.SUMS].decode().splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    assert lines == sorted(lines, key=lambda line: line.partition("  ")[2])
    covered = {name: sha256(data).hexdigest() for name, data in files.items() if name in listed}
    about = documents.about
    assert listed == {
        **covered,
        about.network_name: about.release.network.hex(),
        about.weights_name: documents.weights_sha256.hex(),
    }
    assert set(files) - set(covered) == {names.SUMS, names.SUMS_SIGNATURE, names.SIGNERS}


def test_paths_lead_to_the_blobs() -> None:
    documents, record = signed()
    about = documents.about
    found = dict(line.split(" ") for line in documents.files(record)[names.PATHS].decode().splitlines())
    assert found == {
        blob_path(about.release.network_blob): about.network_name,
        blob_path(about.release.weights_blob): about.weights_name,
    }


def test_json_has_one_encoding_and_no_numbers() -> None:
    documents, record = signed()
    for name in (names.PROVENANCE, names.MODEL_SIGNATURE):
        text = documents.files(record)[name].decode()
        value = json.loads(text)
        assert json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n" == text
        payload = b64decode((value if name == names.PROVENANCE else value["dsseEnvelope"])["payload"]).decode()
        assert json.dumps(json.loads(payload), sort_keys=True, separators=(",", ":")) == payload
        for statement in (value, json.loads(payload)):
            assert {type(leaf) for leaf in leaves(statement)} <= {str, bool}


def test_the_provenance_binds_where_the_release_came_from() -> None:
    documents, record = signed()
    about, train = documents.about, documents.about.train
    said = statement_in(documents.files(record)[names.PROVENANCE])
    definition, details = said["predicate"]["buildDefinition"], said["predicate"]["runDetails"]
    digests = {item["name"]: item.get("digest", {}) for item in definition["resolvedDependencies"]}
    made = {item["name"]: item["digest"] for item in details["byproducts"]}
    assert digests["parent-release"] == {"sha256": about.release.parent.hex()}
    assert digests["window"] == {"sha256": about.window.digest().hex()}
    assert digests["manifest"] == {"sha256": about.manifest.digest().hex()}
    assert made["gate-record"] == {"sha256": about.gate.digest().hex()}
    assert made["release"] == {"sha256": about.release.digest().hex()}
    assert made["train-state-1500"] == {"gonodeBlob": train.state.hex()}
    assert definition["externalParameters"]["seed"] == train.seed.hex()
    assert definition["externalParameters"]["training"]["minibatch"] == "128"
    assert {"name": "torch", "uri": "pkg:pypi/torch@2.13.0%2Bcpu"} in definition["resolvedDependencies"]
    samples = next(item for item in details["byproducts"] if item["name"] == "release")["annotations"]["release"][
        "samples"
    ]
    assert samples == "18446744073709551615"
    assert said["subject"][0]["digest"]["sha256"] == about.release.network.hex()


def test_a_cycle_that_went_on_from_a_state_names_it() -> None:
    documents, _ = signed()
    assert documents.about.train.parent_state == ZERO
    train = replace(documents.about.train, parent_state=digest_of("parent state"))
    later = replace(documents, about=replace(documents.about, train=train))
    said = statement_in(later.files(later.sign(COORDINATOR))[names.PROVENANCE])
    needed = said["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert {"name": "parent-train-state", "digest": {"gonodeBlob": train.parent_state.hex()}} in needed


def test_signing_again_gives_the_same_bytes() -> None:
    documents, record = signed()
    documents.verify(record)
    assert documents.sign(COORDINATOR) == record
    assert ModelKey(COORDINATOR).public != ModelKey(STRANGER).public


@pytest.mark.parametrize("part", ["release", "train", "window", "gate", "manifest"])
def test_a_statement_signs_no_other_records(part: str) -> None:
    documents, record = signed()
    changes = {"release": "rows", "train": "cycle", "window": "games", "gate": "llr_micro", "manifest": "training"}
    old = getattr(documents.about, part)
    if part == "manifest":
        new = replace(old, training=replace(old.training, minibatch=64))
    else:
        new = replace(old, **{changes[part]: getattr(old, changes[part]) + 1})
    with pytest.raises(BadSignature):
        replace(documents, about=replace(documents.about, **{part: new})).verify(record)


def test_a_statement_is_of_one_key_and_one_entry() -> None:
    documents, record = signed()
    with pytest.raises(BadSignature):
        replace(documents, key=STRANGER.public).verify(record)
    with pytest.raises(BadSignature):
        replace(documents, about=replace(documents.about, index=documents.about.index + 1)).verify(record)
    with pytest.raises(BadSignature):
        documents.verify(documents.sign(STRANGER))


def test_every_signature_counts() -> None:
    documents, record = signed()
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name.endswith("signature") or field.name == "weights_sha256":
            for at in (0, len(value) - 1):
                changed = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
                with pytest.raises(BadSignature):
                    documents_of(documents, field.name, changed).verify(replace(record, **{field.name: changed}))


def documents_of(documents: names.Documents, field: str, value: bytes) -> names.Documents:
    return replace(documents, weights_sha256=value) if field == "weights_sha256" else documents


def test_p256_refuses_what_is_no_key_or_no_signature() -> None:
    key = ModelKey(COORDINATOR)
    signature = key.sign(b"message")
    verify_p256(key.public, b"message", signature)
    assert isinstance(load_pem_public_key(public_pem(key.public)), ec.EllipticCurvePublicKey)
    for wrong in (bytes(64), b"\xff" * 64, signature[32:] + signature[:32]):
        with pytest.raises(BadSignature):
            verify_p256(key.public, b"message", wrong)
    for no_key in (bytes(33), b"\x04" + bytes(32), b"\x02" + b"\xff" * 32, b"\x05" + key.public[1:]):
        with pytest.raises(BadKey):
            verify_p256(no_key, b"message", signature)


def test_no_signature_passes_for_one_of_a_record() -> None:
    """Types of statements are none of the run's, and SSH signatures begin otherwise."""
    documents, record = signed()
    envelope = json.loads(documents.files(record)[names.PROVENANCE])
    assert not envelope["payloadType"].startswith("application/vnd.gonode.")
    payload = b64decode(envelope["payload"])
    assert b64decode(envelope["signatures"][0]["sig"]) == COORDINATOR.sign(pae(envelope["payloadType"], payload))
