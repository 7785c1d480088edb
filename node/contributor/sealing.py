"""A batch of finished games as it leaves this node: its blob in the store, its header signed.

Spec: `docs/spec/batch.md`, `docs/spec/batch-header.md`.
"""

from collections.abc import Sequence

from node.member import Member
from protocol.batch import batch_root, encode_batch, parse_batch
from protocol.compress import compress
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.header import BatchHeader
from verification.admission import total_visits
from verification.releases import ReleaseInfo
from verification.setup import config_digest


def seal_batch(
    member: Member,
    secret: SecretKey,
    kernel: str,
    release: ReleaseInfo,
    first_counter: int,
    blocks: Sequence[bytes],
    final: bool,
    fill_for: bytes = b"",
) -> Envelope:
    """The signed header of these games, in order from `first_counter` on; their blob is on disk when this returns.

    `secret`'s key is registered. `fill_for`: whose seeds they have, where they fill in games of a series.
    """
    state = member.state
    raw = encode_batch(list(blocks))
    batch = parse_batch(raw)
    blob = compress(raw)
    registration = state.registry.find(secret.public)
    assert registration is not None
    manifest = state.release_manifest(release)
    return BatchHeader(
        run=state.run,
        manifest=release.manifest,
        config=config_digest(manifest.selfplay),
        semantics=manifest.selfplay.semantics,
        release=release.id,
        peer=secret.public,
        registration=registration.index,
        first_counter=first_counter,
        games=len(blocks),
        plies=batch.plies,
        visits=total_visits(batch, manifest.selfplay_at(release.steps)),
        batch_root=batch_root(batch),
        blob_digest=member.blob_store.put(blob),
        blob_len=len(blob),
        raw_len=len(raw),
        final=final,
        fill_for=fill_for,
        build=member.build,
        kernel=kernel,
        cpu=member.cpu,
    ).seal(secret)
