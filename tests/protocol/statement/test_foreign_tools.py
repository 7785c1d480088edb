"""Other people's tools check a release's documents: ssh-keygen, securesystemslib, in-toto-attestation, model-signing.

Each runs as a process of its own, as whoever downloaded a network would run it; `tests/test_verify_a_release.py` runs what
the documentation says.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from protocol.seeds import log_origin
from protocol.statement.dsse import key_id
from protocol.statement.p256 import ModelKey, public_pem
from protocol.statement.sshsig import fingerprint
from tests.protocol.statement.folder import described, downloaded
from tests.vectors.record_examples import COORDINATOR, STRANGER

IDENTITY = log_origin(described().about.release.run)

needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not here: openssh-client")

READ_PROVENANCE = """
import json, sys
from google.protobuf.json_format import Parse, ParseDict, MessageToDict
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement, statement_pb2
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

def key_of(text):
    return SSlibKey.from_crypto(Ed25519PublicKey.from_public_bytes(bytes.fromhex(text)))

def holds(data, key):
    try:
        return list(Envelope.from_dict(json.loads(data)).verify([key], 1)) == [key.keyid]
    except VerificationError:
        return False

file, mine, other = sys.argv[1:]
data = open(file).read()
changed = json.loads(data)
changed["payload"] = changed["payload"][:40] + ("A" if changed["payload"][40] != "A" else "B") + changed["payload"][41:]
envelope = Envelope.from_dict(json.loads(data))
found = statement.Statement.copy_from_pb(Parse(envelope.payload, statement_pb2.Statement()))
found.validate()
predicate = ParseDict(MessageToDict(found.pb.predicate), provenance_pb2.Provenance())
for item in (*predicate.build_definition.resolved_dependencies, *predicate.run_details.byproducts):
    ResourceDescriptor.copy_from_pb(item).validate()
record = next(item for item in predicate.run_details.byproducts if item.name == "release").annotations["release"]
print(json.dumps({
    "key_id": key_of(mine).keyid,
    "holds": holds(data, key_of(mine)),
    "of another key": holds(data, key_of(other)),
    "changed": holds(json.dumps(changed), key_of(mine)),
    "type": found.pb.predicate_type,
    "subjects": {item.name: item.digest["sha256"] for item in found.pb.subject},
    "builder": predicate.run_details.builder.id,
    "samples": record["samples"],
}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return downloaded(tmp_path)


def run(folder: Path, *command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=folder, input=given, capture_output=True, timeout=60)


def ssh_verify(folder: Path, data: bytes, identity: str = IDENTITY, namespace: str = "file") -> bool:
    options = ("-f", "allowed_signers", "-I", identity, "-n", namespace, "-s", "SHA256SUMS.sig")
    return run(folder, "ssh-keygen", "-Y", "verify", *options, given=data).returncode == 0


@needs_ssh
def test_ssh_keygen_verifies_the_sums(folder: Path) -> None:
    sums = (folder / "SHA256SUMS").read_bytes()
    assert ssh_verify(folder, sums)
    assert not ssh_verify(folder, sums.replace(b"model", b"Model", 1))
    assert not ssh_verify(folder, sums, identity=IDENTITY[:-1])
    assert not ssh_verify(folder, sums, namespace="email")
    assert run(folder, "sha256sum", "--check", "--strict", "SHA256SUMS").returncode == 0


@needs_ssh
def test_the_signature_is_what_ssh_keygen_would_write(folder: Path) -> None:
    written = (folder / "SHA256SUMS.sig").read_bytes()
    (folder / "SHA256SUMS.sig").unlink()
    key = Ed25519PrivateKey.from_private_bytes(COORDINATOR.seed)
    file = folder / "key"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    file.chmod(0o600)
    assert run(folder, "ssh-keygen", "-Y", "sign", "-f", "key", "-n", "file", "SHA256SUMS").returncode == 0
    assert (folder / "SHA256SUMS.sig").read_bytes() == written
    assert fingerprint(COORDINATOR.public) in run(folder, "ssh-keygen", "-l", "-f", "key").stdout.decode()


def test_in_toto_tools_read_the_provenance(folder: Path) -> None:
    keys = COORDINATOR.public.hex(), STRANGER.public.hex()
    done = run(folder, sys.executable, "-c", READ_PROVENANCE, "provenance.dsse.json", *keys)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    about = described().about
    assert found.pop("subjects") == {
        about.network_name: about.release.network.hex(),
        about.weights_name: described().weights_sha256.hex(),
    }
    assert found == {
        "key_id": key_id(COORDINATOR.public),
        "holds": True,
        "of another key": False,
        "changed": False,
        "type": "https://slsa.dev/provenance/v1",
        "builder": f"gonode:{about.release.run.hex()}/coordinator/{COORDINATOR.public.hex()}",
        "samples": str(2**64 - 1),  # as a number it would be 18446744073709551616
    }


def model_verify(folder: Path) -> bytes:
    """What model-signing says of a folder; empty when it holds."""
    options = ("verify", "key", ".", "--signature", "model.sig", "--public_key", "model.pub")
    done = run(folder, sys.executable, "-m", "model_signing", *options)
    return b"" if done.returncode == 0 else done.stderr


def test_model_signing_verifies_the_folder(folder: Path) -> None:
    assert model_verify(folder) == b""


def test_model_signing_refuses_other_weights(folder: Path) -> None:
    (folder / described().about.weights_name).write_bytes(b"other weights")
    assert b"Hash mismatch" in model_verify(folder)


def test_model_signing_refuses_another_key(folder: Path) -> None:
    (folder / "model.pub").write_bytes(public_pem(ModelKey(STRANGER).public))
    assert b"Key mismatch" in model_verify(folder)


def test_model_signing_refuses_a_changed_bundle(folder: Path) -> None:
    bundle = json.loads((folder / "model.sig").read_bytes())
    payload = bundle["dsseEnvelope"]["payload"]
    bundle["dsseEnvelope"]["payload"] = ("A" if payload[0] != "A" else "B") + payload[1:]
    (folder / "model.sig").write_text(json.dumps(bundle))
    assert model_verify(folder)
