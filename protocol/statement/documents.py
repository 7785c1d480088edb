"""The documents of a release: made, signed and verified as one set.

Spec: `docs/spec/statement.md`. Invariant: log and statement entry decide every byte, so coordinator, mirrors and auditors
write the same files. `SHA256SUMS` covers all others, so that one signature of the coordinator's speaks for the folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from protocol import ed25519
from protocol.ed25519 import SecretKey
from protocol.layout import blob_path
from protocol.seeds import log_origin
from protocol.statement.dsse import dsse_envelope, dsse_message, key_id
from protocol.statement.model_signature import model_bundle, model_statement
from protocol.statement.p256 import ModelKey, public_pem, verify_p256
from protocol.statement.provenance import provenance
from protocol.statement.record import ReleaseStatement
from protocol.statement.sshsig import allowed_signers, ssh_message, ssh_signature
from protocol.statement.stated import Stated
from protocol.statement.text import encode_json

PROVENANCE: Final = "provenance.dsse.json"
MODEL_SIGNATURE: Final = "model.sig"
MODEL_KEY: Final = "model.pub"
PATHS: Final = "PATHS"
SUMS: Final = "SHA256SUMS"
SUMS_SIGNATURE: Final = "SHA256SUMS.sig"
SIGNERS: Final = "allowed_signers"
NAMES: Final = (PATHS, SUMS, SUMS_SIGNATURE, SIGNERS, MODEL_KEY, MODEL_SIGNATURE, PROVENANCE)


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents about a release whose coordinator has `key`; the weights' file has this SHA-256."""

    about: Stated
    weights_sha256: bytes
    key: bytes

    def sign(self, secret: SecretKey) -> ReleaseStatement:
        """The statement of whoever holds the secret of `key`."""
        model_key = ModelKey(secret)
        record = ReleaseStatement(
            run=self.about.release.run,
            release=self.about.index,
            weights_sha256=self.weights_sha256,
            provenance_signature=secret.sign(self._provenance_message),
            sums_signature=bytes(ed25519.SIGNATURE_BYTES),
            model_key=model_key.public,
            model_signature=model_key.sign(self._model_message),
        )
        return replace(record, sums_signature=secret.sign(ssh_message(self._sums(self._covered(record)))))

    def verify(self, record: ReleaseStatement) -> None:
        """Raises BadSignature or BadKey unless the record's signatures are those under these documents."""
        verify_p256(record.model_key, self._model_message, record.model_signature)
        ed25519.verify(self.key, self._provenance_message, record.provenance_signature)
        ed25519.verify(self.key, ssh_message(self._sums(self._covered(record))), record.sums_signature)

    def files(self, record: ReleaseStatement) -> dict[str, bytes]:
        """The documents' bytes by their names, with the signatures of a verified record."""
        covered = self._covered(record)
        return {
            **covered,
            SUMS: self._sums(covered),
            SUMS_SIGNATURE: ssh_signature(self.key, record.sums_signature),
            SIGNERS: allowed_signers(log_origin(self.about.release.run), self.key),
        }

    @property
    def _provenance(self) -> bytes:
        return provenance(self.about, self.weights_sha256, self.key)

    @property
    def _provenance_message(self) -> bytes:
        return dsse_message(self._provenance)

    @property
    def _model(self) -> bytes:
        return model_statement(self.about.release.name, self._described, NAMES)

    @property
    def _model_message(self) -> bytes:
        return dsse_message(self._model)

    @property
    def _described(self) -> dict[str, bytes]:
        """SHA-256 of the files that the documents describe."""
        return {self.about.network_name: self.about.release.network, self.about.weights_name: self.weights_sha256}

    def _covered(self, record: ReleaseStatement) -> dict[str, bytes]:
        """The documents that `SHA256SUMS` lists."""
        envelope = dsse_envelope(self._provenance, key_id(self.key), record.provenance_signature)
        release = self.about.release
        paths = {self.about.network_name: release.network_blob, self.about.weights_name: release.weights_blob}
        return {
            PROVENANCE: encode_json(envelope) + b"\n",
            MODEL_SIGNATURE: model_bundle(self._model, record.model_key, record.model_signature),
            MODEL_KEY: public_pem(record.model_key),
            PATHS: "".join(f"{blob_path(digest)} {name}\n" for name, digest in paths.items()).encode(),
        }

    def _sums(self, covered: Mapping[str, bytes]) -> bytes:
        """Lines that `sha256sum --check` reads, in order of names."""
        digests = {**self._described, **{name: sha256(data).digest() for name, data in covered.items()}}
        return "".join(f"{digests[name].hex()}  {name}\n" for name in sorted(digests)).encode()
