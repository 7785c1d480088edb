"""A public implementation of C2SP signed notes and RFC 6962 proofs, `metamorphic-log`, believes a checkpoint of ours.

It knows Ed25519 signatures (algorithm 1) and skips lines by keys that it is not given, such as cosignatures.
"""

import json
import subprocess
import sys
from typing import Any

from protocol.checkpoint import ED25519, Checkpoint, cosign, verifier_key
from protocol.ed25519 import SecretKey
from protocol.merkle import Tree, leaf_hash
from tests.vectors.record_examples import COORDINATOR, STRANGER, VERIFIER, log_entries

ORIGIN = "gonode/example"

READ = """
import json, sys
import metamorphic_log as tool

def told(call, *args):
    try:
        found = call(*args)
    except tool.VerifyError as error:
        return str(error)
    return [found.origin, found.size, found.root.hex()] if hasattr(found, "origin") else found

given = json.load(sys.stdin)
keys, other = given["keys"], given["other"]
leaf, inclusion, consistency = (
    bytes.fromhex(given["leaf"]), [bytes.fromhex(x) for x in given["inclusion"]],
    [bytes.fromhex(x) for x in given["consistency"]],
)
print(json.dumps({
    "head": told(tool.checkpoint_verify, given["note"], keys),
    "lines": told(tool.verify_signed_note, given["note"], keys),
    "changed": told(tool.checkpoint_verify, given["changed"], keys),
    "of another key": told(tool.checkpoint_verify, given["note"], other),
    "inclusion": told(tool.checkpoint_verify_inclusion, given["note"], keys, given["index"], leaf, inclusion),
    "another leaf": told(tool.checkpoint_verify_inclusion, given["note"], keys, given["index"] + 1, leaf, inclusion),
    "consistency": told(tool.checkpoint_verify_consistency, given["older"], given["note"], keys, consistency),
    "backwards": told(tool.checkpoint_verify_consistency, given["note"], given["older"], keys, consistency),
}))
"""


def note_of(tree: Tree, size: int, key: SecretKey) -> str:
    head = Checkpoint(ORIGIN, size, tree.root(size))
    cosignature = cosign(head.body(), VERIFIER, "gonode-witness/example", 1_760_000_000)
    return head.sign(key).with_signatures([cosignature]).encode().decode()


def test_a_public_implementation_believes_checkpoint_and_proofs() -> None:
    entries = log_entries()
    tree = Tree(entries)
    size, older, index = tree.size, 7, 5
    note = note_of(tree, size, COORDINATOR)
    given = {
        "note": note,
        "older": note_of(tree, older, COORDINATOR),
        "changed": note.replace(f"\n{size}\n", f"\n{size + 1}\n"),
        "keys": [verifier_key(ORIGIN, COORDINATOR.public, ED25519)],
        "other": [verifier_key(ORIGIN, STRANGER.public, ED25519)],
        "index": index,
        "leaf": leaf_hash(entries[index]).hex(),
        "inclusion": [item.hex() for item in tree.inclusion_proof(index, size)],
        "consistency": [item.hex() for item in tree.consistency_proof(older, size)],
    }
    done = subprocess.run(
        [sys.executable, "-c", READ], input=json.dumps(given), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.pop("head") == [ORIGIN, size, tree.root().hex()]
    assert found.pop("lines") == 1
    assert found.pop("inclusion") is None
    assert found.pop("consistency") is None
    assert {name: type(said) for name, said in found.items()} == dict.fromkeys(found, str), found
    assert "invalid signature" in found["changed"]
