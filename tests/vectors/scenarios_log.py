"""Scenarios of the log: inclusion and consistency proofs, checkpoints with cosignatures, tiles."""

from base64 import b64encode
from collections.abc import Mapping

from protocol import checkpoint, merkle, tiles
from tests.vectors.scenario import Json, Runner, Scenario, unhex
from tests.vectors.scenarios_bytes import ALICE, BOB

# The leaves of RFC 6962's reference implementation, with known roots.
LEAVES = [
    bytes.fromhex(leaf)
    for leaf in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]


def run_merkle(given: Mapping[str, Json]) -> Json:
    """The root over `leaves`, or the check of an inclusion (`leaf`, `index`) or consistency (`old_size`) proof."""
    if "leaves" in given:
        return {"root": merkle.root_of(unhex(leaf) for leaf in given["leaves"]).hex()}
    proof = [unhex(step) for step in given["proof"]]
    if "leaf" in given:
        leaf = merkle.leaf_hash(unhex(given["leaf"]))
        merkle.verify_inclusion(leaf, given["index"], given["size"], proof, unhex(given["root"]))
    else:
        roots = unhex(given["old_root"]), unhex(given["new_root"])
        merkle.verify_consistency(given["old_size"], given["new_size"], proof, *roots)
    return {}


def run_checkpoint(given: Mapping[str, Json]) -> Json:
    """Verifies `note` by the log's `key` under `name`; then, if given, the cosignature by `witness`."""
    note = checkpoint.SignedNote.parse(given["note"].encode())
    head = checkpoint.verify(note, unhex(given["key"]), given["name"])
    output: dict[str, Json] = {"origin": head.origin, "size": head.size, "root_hash": head.root_hash.hex()}
    if "witness" in given:
        output["unix_s"] = checkpoint.verify_cosignature(note, unhex(given["witness"]), given["witness_name"])
    return output


def run_tiles(given: Mapping[str, Json]) -> Json:
    """A tile's `path`; an entry `bundle` of some `width`; or which tiles the growth of a log makes."""
    if "path" in given:
        tile = tiles.Tile.parse(given["path"])
        return {"level": tile.level, "number": tile.number, "width": tile.width}
    if "bundle" in given:
        return {"entries": [entry.hex() for entry in tiles.parse_entries(unhex(given["bundle"]), given["width"])]}
    return {"paths": [tile.path for tile in tiles.tiles_between(given["old_size"], given["new_size"])]}


RUNNERS: dict[str, Runner] = {"merkle": run_merkle, "checkpoint": run_checkpoint, "tiles": run_tiles}


def _merkle() -> list[Scenario]:
    tree = merkle.Tree(LEAVES)

    def case(name: str, expect: str, description: str, /, **given: Json) -> Scenario:
        return Scenario("merkle", name, description, expect, given)

    def inclusion(name: str, expect: str, description: str, number: int, leaves: int, /, **change: Json) -> Scenario:
        given = {
            "leaf": LEAVES[number].hex(),
            "index": number,
            "size": leaves,
            "root": tree.root(leaves).hex(),
            "proof": [step.hex() for step in tree.inclusion_proof(number, leaves)],
        }
        return case(name, expect, description, **{**given, **change})

    def consistency(name: str, expect: str, description: str, old: int, new: int, /, **change: Json) -> Scenario:
        given = {
            "old_size": old,
            "new_size": new,
            "old_root": tree.root(old).hex(),
            "new_root": tree.root(new).hex(),
            "proof": [step.hex() for step in tree.consistency_proof(old, new)],
        }
        return case(name, expect, description, **{**given, **change})

    path = [step.hex() for step in tree.inclusion_proof(5, 7)]
    extension = [step.hex() for step in tree.consistency_proof(3, 7)]
    return [
        *(
            case(f"root-{n}", "ok", f"The root over {n} leaves.", leaves=[leaf.hex() for leaf in LEAVES[:n]])
            for n in range(len(LEAVES) + 1)
        ),
        inclusion("inclusion-only-leaf", "ok", "The only leaf of a tree.", 0, 1),
        inclusion("inclusion-middle", "ok", "Leaf 5 of 7.", 5, 7),
        inclusion("inclusion-last", "ok", "The last leaf of 7, whose path is short.", 6, 7),
        inclusion("inclusion-full", "ok", "Leaf 2 of 8.", 2, 8),
        inclusion("inclusion-other-index", "bad proof", "The path of another leaf.", 5, 7, index=4),
        inclusion("inclusion-other-size", "bad proof", "A path of another tree size.", 5, 7, size=6),
        inclusion("inclusion-other-leaf", "bad proof", "Another leaf.", 5, 7, leaf="00"),
        inclusion("inclusion-other-root", "bad proof", "Another root.", 5, 7, root="00" * 32),
        inclusion("inclusion-past-end", "bad proof", "An index equal to the size.", 5, 7, index=7),
        inclusion("inclusion-short", "bad proof", "A step is missing.", 5, 7, proof=path[:-1]),
        inclusion("inclusion-long", "bad proof", "A step too many.", 5, 7, proof=[*path, "00" * 32]),
        inclusion("inclusion-ragged", "bad proof", "A step of 31 bytes.", 5, 7, proof=[*path[:-1], path[-1][:-2]]),
        consistency("consistency-3-7", "ok", "From 3 to 7 leaves.", 3, 7),
        consistency("consistency-4-7", "ok", "From a full subtree of 4 leaves.", 4, 7),
        consistency("consistency-6-8", "ok", "From 6 to 8 leaves.", 6, 8),
        consistency("consistency-from-empty", "ok", "Every tree extends the empty one.", 0, 7),
        consistency("consistency-same", "ok", "A tree extends itself.", 7, 7),
        consistency("consistency-fork", "bad proof", "The same size with another root.", 7, 7, new_root="00" * 32),
        consistency("consistency-old-root", "bad proof", "Another old root.", 3, 7, old_root="00" * 32),
        consistency("consistency-new-root", "bad proof", "Another new root.", 3, 7, new_root="00" * 32),
        consistency("consistency-short", "bad proof", "A step is missing.", 3, 7, proof=extension[:-1]),
        consistency("consistency-long", "bad proof", "A step too many.", 3, 7, proof=[*extension, "00" * 32]),
        consistency("consistency-shrinks", "bad proof", "A log that shrinks.", 3, 7, old_size=7, new_size=3),
        consistency("consistency-empty-root", "bad proof", "A false root of the empty tree.", 0, 7, old_root="00" * 32),
    ]


def _checkpoint() -> list[Scenario]:
    origin, witness_name = "gonode/example", "witness/example"
    tree = merkle.Tree(LEAVES)
    head = checkpoint.Checkpoint(origin, tree.size, tree.root())
    signed = head.sign(ALICE, origin)
    cosigned = signed.with_signatures([checkpoint.cosign(head.body(), BOB, witness_name, 1_700_000_000)])
    alone = checkpoint.SignedNote(head.body(), cosigned.signatures[1:])

    def case(name: str, expect: str, description: str, note: str, /, **change: Json) -> Scenario:
        given = {"note": note, "key": ALICE.public.hex(), "name": origin}
        return Scenario("checkpoint", name, description, expect, {**given, **change})

    def signed_text(text: str) -> str:
        line = checkpoint.NoteSignature(
            origin, checkpoint.key_id(origin, ALICE.public, checkpoint.ED25519), ALICE.sign(text.encode())
        )
        return f"{text}\n{line.encode()}\n"

    def other_time(note: checkpoint.SignedNote) -> str:
        log, witness = note.signatures
        later = (1_700_000_001).to_bytes(8, "big") + witness.signature[8:]
        changed = checkpoint.NoteSignature(witness.name, witness.key_id, later)
        return checkpoint.SignedNote(note.text, (log, changed)).encode().decode()

    text, root = signed.encode().decode(), b64encode(head.root_hash).decode()
    both = cosigned.encode().decode()
    witness = {"witness": BOB.public.hex(), "witness_name": witness_name}
    wide = checkpoint.SignedNote(head.body(), signed.signatures * 2)
    return [
        case("signed", "ok", "A checkpoint signed by its log.", text),
        case(
            "empty-log",
            "ok",
            "The head of an empty log.",
            checkpoint.Checkpoint(origin, 0, merkle.EMPTY_ROOT).sign(ALICE).encode().decode(),
        ),
        case("cosigned", "ok", "A checkpoint with a witness's cosignature.", both, **witness),
        case("unknown-line", "ok", "Lines by unknown keys mean nothing.", both),
        case("no-cosignature", "wrong signer", "The witness did not cosign.", text, **witness),
        case(
            "witness-as-log",
            "wrong signer",
            "A cosignature does not pass for the log's signature.",
            alone.encode().decode(),
            key=BOB.public.hex(),
            name=witness_name,
        ),
        case("other-key", "wrong signer", "Another key under the log's name.", text, key=BOB.public.hex()),
        case("other-name", "wrong signer", "The log's key under another name.", text, name="gonode/other"),
        case("other-time", "bad signature", "The time of a cosignature was changed.", other_time(cosigned), **witness),
        case("other-size", "bad signature", "The size was changed.", text.replace("\n8\n", "\n9\n")),
        case("signed-twice", "bad signature", "The log signs twice.", wide.encode().decode()),
        case("extension-line", "parse error", "A fourth line.", signed_text(head.body() + "more\n")),
        case("leading-zero", "parse error", "A size with a leading zero.", signed_text(f"{origin}\n08\n{root}\n")),
        case("huge-size", "parse error", "A size of 2^63.", signed_text(f"{origin}\n{2**63}\n{root}\n")),
        case(
            "short-root",
            "parse error",
            "A root hash of 31 bytes.",
            signed_text(f"{origin}\n8\n{b64encode(bytes(31)).decode()}\n"),
        ),
        case(
            "loose-base64",
            "parse error",
            "Base64 whose unused bits are set.",
            signed_text(f"{origin}\n8\n{root[:-2]}{chr(ord(root[-2]) + 1)}=\n"),
        ),
        case("no-signatures", "parse error", "No signature lines.", head.body()),
        case("no-final-newline", "parse error", "The last newline is missing.", text[:-1]),
        case("hyphen", "parse error", "A hyphen in place of the em dash.", text.replace("\u2014", "-")),
        case("tab", "parse error", "A control character.", text.replace("\n8\n", "\n8\t\n")),
        case("many-lines", "too large", "65 signature lines.", text + text[text.index("\u2014") :] * 64),
        case("long", "too large", "Over 32 KiB.", text + "\u2014 a " + "A" * 40000 + "\n"),
    ]


def _tiles() -> list[Scenario]:
    bundle = tiles.encode_entries([b"", b"one", b"two"]).hex()

    def case(name: str, expect: str, description: str, /, **given: Json) -> Scenario:
        return Scenario("tiles", name, description, expect, given)

    def path(name: str, expect: str, path: str) -> Scenario:
        return case(f"path-{name}", expect, f"The path {path}.", path=path)

    return [
        path("first", "ok", "tile/0/000"),
        path("partial", "ok", "tile/0/000.p/1"),
        path("long", "ok", "tile/1/x001/x234/067"),
        path("entries", "ok", "tile/entries/x001/067.p/255"),
        path("level", "parse error", "tile/8/000"),
        path("level-zero", "parse error", "tile/00/000"),
        path("width-zero", "parse error", "tile/0/000.p/0"),
        path("width-full", "parse error", "tile/0/000.p/256"),
        path("width-padded", "parse error", "tile/0/000.p/01"),
        path("short", "parse error", "tile/0/67"),
        path("leading-group", "parse error", "tile/0/x000/067"),
        path("no-x", "parse error", "tile/0/001/067"),
        path("parent", "parse error", "tile/0/../000"),
        path("newline", "parse error", "tile/0/000\n"),
        path("huge", "parse error", "tile/0/" + "x999/" * 7 + "999"),
        case(
            "growth-70000",
            "ok",
            "From 65,535 to 70,000 entries: new tiles on three levels.",
            old_size=65_535,
            new_size=70_000,
        ),
        case("growth-from-empty", "ok", "The first three entries.", old_size=0, new_size=3),
        case("growth-to-full", "ok", "Entry 256 fills two tiles and begins one.", old_size=255, new_size=256),
        case("growth-none", "ok", "Nothing new.", old_size=300, new_size=300),
        case("bundle", "ok", "Three entries, the first one empty.", bundle=bundle, width=3),
        case(
            "bundle-longest-entry", "ok", "An entry of 65,535 bytes.", bundle={"repeat": "ff", "times": 65537}, width=1
        ),
        case("bundle-cut-short", "parse error", "The last byte is missing.", bundle=bundle[:-2], width=3),
        case("bundle-cut-in-length", "parse error", "The last length is cut.", bundle=bundle + "00", width=4),
        case("bundle-too-wide", "parse error", "One entry more than there are.", bundle=bundle, width=4),
        case("bundle-too-narrow", "parse error", "An entry follows.", bundle=bundle, width=2),
    ]


SCENARIOS: list[Scenario] = [*_merkle(), *_checkpoint(), *_tiles()]
