"""A client of a run, written from `docs/spec/wire.md` and the pages that it links to alone: nothing of gonode is imported.

It follows the log, fetches a release's network and posts a batch over plain libp2p streams. It does not check what
entries say against the rules of the run, which takes `verification/`.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgpack  # type: ignore[import-untyped]
import trio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

RELEASE = "application/vnd.gonode.release.v1+msgpack"
RECEIPT = "application/vnd.gonode.receipt.v1+msgpack"
CHUNK = 1 << 20


class Refused(Exception):
    """The peer's sentence."""


class NotBelieved(Exception):
    """What the peer said that does not hold."""


def require(holds: bool, what: str) -> None:
    """Raises NotBelieved unless `holds`."""
    if not holds:
        raise NotBelieved(what)


def sha(*parts: bytes) -> bytes:
    """SHA-256 of the parts in a row."""
    return hashlib.sha256(b"".join(parts)).digest()


def lp(data: bytes) -> bytes:
    """The length as little-endian u64, and the bytes."""
    return len(data).to_bytes(8, "little") + data


def read_ticket(text: str) -> dict[str, Any]:
    """The ticket's fields."""
    body = text.strip().removeprefix("gonode1").upper()
    data = base64.b32decode(body + "=" * (-len(body) % 8))
    require(sha(b"gonode/ticket/v1\0", data[:-4])[:4] == data[-4:], "the ticket's checksum")
    fields: dict[str, Any] = msgpack.unpackb(data[:-4])
    return fields


# ---- trees


def tree_root(leaves: Sequence[bytes]) -> bytes:
    """The root over leaf hashes."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha()
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return sha(b"\1", tree_root(leaves[:split]), tree_root(leaves[split:]))


def is_prefix(old: int, new: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> bool:
    """RFC 9162, 2.1.4.2."""
    if old in (0, new):
        return not proof and (old == 0 or old_root == new_root)
    steps = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    fn, sn = old - 1, new - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    if not steps:
        return False
    left = right = steps[0]
    for step in steps[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            left, right = sha(b"\1", step, left), sha(b"\1", step, right)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            right = sha(b"\1", right, step)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and left == old_root and right == new_root


def is_included(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """RFC 9162, 2.1.3.2."""
    fn, sn, node = index, size - 1, leaf
    for step in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            node = sha(b"\1", step, node)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            node = sha(b"\1", node, step)
        fn, sn = fn >> 1, sn >> 1
    return index < size and sn == 0 and node == root


# ---- signatures


def verify(key: bytes, signature: bytes, message: bytes) -> None:
    """Raises unless the signature holds."""
    Ed25519PublicKey.from_public_bytes(key).verify(signature, message)


def open_envelope(data: bytes, type: str, signer: bytes) -> dict[str, Any]:
    """The payload of an envelope of this type that this key alone signed."""
    envelope = msgpack.unpackb(data)
    require(envelope["type"] == type and [each["key"] for each in envelope["signatures"]] == [signer], "its signer")
    name, payload = type.encode(), envelope["payload"]
    message = b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)
    verify(signer, envelope["signatures"][0]["sig"], message)
    fields: dict[str, Any] = msgpack.unpackb(payload)
    return fields


def read_note(note: bytes) -> tuple[str, dict[tuple[str, bytes], bytes]]:
    """A note's text, and its signatures by (name, key id)."""
    text, _, lines = note.decode().rpartition("\n\n")
    found = {}
    for line in lines.splitlines():
        _, name, signature = line.split(" ")
        data = base64.b64decode(signature)
        found[name, data[:4]] = data[4:]
    return text + "\n", found


def key_id(name: str, key: bytes, algorithm: int) -> bytes:
    """The id of a key in a note."""
    return sha(name.encode(), b"\n", bytes([algorithm]), key)[:4]


class WireClient:
    """One client; `peer` is the libp2p id of the peer that it asks, to whom `host` is connected."""

    def __init__(self, host: Any, peer: Any, ticket: str) -> None:
        self.host = host
        self.peer = peer
        self.ticket = read_ticket(ticket)
        self.run = self.ticket["run"]
        self.entries: list[bytes] = []
        self.root: dict[str, Any] = {}

    # ---- calls

    async def ask(self, protocol: str, request: bytes, timeout_s: float = 20) -> bytes:
        """The answer to one call."""
        with trio.fail_after(timeout_s):
            stream = await self.host.new_stream(self.peer, [protocol])
            await stream.write(len(request).to_bytes(4, "big") + request)
            reply = await _frame(stream)
            await stream.close()
        if reply[:1] == b"\1":
            raise Refused(reply[1:].decode())
        require(reply[:1] == b"\0", "a reply begins with 0 or 1")
        return reply[1:]

    async def ask_log(self, request: dict[str, Any]) -> dict[str, Any]:
        """The fields of an answer of the log."""
        answer: dict[str, Any] = msgpack.unpackb(await self.ask("/gonode/log/1", msgpack.packb(request)))
        return answer

    def _answer(self, protocol: str, answer: Callable[[bytes], bytes]) -> None:
        """Has `answer` make the reply frame for each request frame from now on."""

        async def serve(stream: Any) -> None:
            reply = answer(await _frame(stream))
            await stream.write(len(reply).to_bytes(4, "big") + reply)
            await stream.close()

        self.host.set_stream_handler(protocol, serve)

    def serve_peers(self) -> None:
        """Tells of nobody, so that the peer keeps the connection."""
        self._answer("/gonode/peers/1", lambda request: b"\0" + msgpack.packb({"addresses": []}))

    # ---- the log

    async def begin(self) -> None:
        """Takes root and manifest."""
        size = (await self.ask_log({"op": "head"}))["size"]
        answer = await self.ask_log({"limit": 2, "op": "entries", "size": size, "start": 0})
        root, manifest = (msgpack.unpackb(entry)["payload"] for entry in answer["entries"])
        require(sha(b"gonode/run/v1\0", lp(root), lp(manifest)) == self.run, "the run id")
        require(sha(root) == self.ticket["root"], "the root's digest")
        self.entries = list(answer["entries"])
        self.root = msgpack.unpackb(root)

    @property
    def coordinator(self) -> bytes:
        """The coordinator's key."""
        return self._keys("coordinator")[0]

    def _keys(self, role: str) -> list[bytes]:
        return [each["key"] for each in self.root["roles"] if each["role"] == role]

    def head_in(self, note: bytes) -> tuple[int, bytes, int]:
        """Size and root hash of a note that the coordinator signed, and how many verifiers cosigned it."""
        text, signatures = read_note(note)
        origin, size, root_hash = text.split("\n")[:3]
        require(origin == f"gonode/{self.run.hex()}", "the origin")
        verify(self.coordinator, signatures[origin, key_id(origin, self.coordinator, 1)], text.encode())
        cosigned = 0
        for key in self._keys("verifier"):
            name = f"gonode-witness/{key.hex()}"
            line = signatures.get((name, key_id(name, key, 4)))
            if line is not None:
                time = int.from_bytes(line[:8], "big")
                verify(key, line[8:], f"cosignature/v1\ntime {time}\n{text}".encode())
                cosigned += 1
        return int(size), base64.b64decode(root_hash), cosigned

    async def follow(self, field: str = "checkpoint", limit: int = 4096) -> int:
        """Takes what is new up to the newest head (`field` "cosigned": the newest that enough cosigned); its size."""
        note = (await self.ask_log({"op": "head"}))[field]
        size, root_hash, cosigned = self.head_in(note)
        require(field == "checkpoint" or cosigned >= self.root["witness_threshold"] > 0, "enough cosignatures")
        while len(self.entries) < size:
            start = len(self.entries)
            answer = await self.ask_log({"limit": limit, "op": "entries", "size": size, "start": start})
            require(0 < len(answer["entries"]) <= limit, "some entries")
            grown = [*self.entries, *answer["entries"]]
            require(is_prefix(len(grown), size, answer["proof"], self.tree(grown), root_hash), "the proof")
            self.entries = grown
        require(self.tree(self.entries[:size]) == root_hash, "the head's tree")
        return size

    def tree(self, entries: Sequence[bytes]) -> bytes:
        """The root over entries."""
        return tree_root([sha(b"\0", entry) for entry in entries])

    def newest_release(self, size: int) -> dict[str, Any]:
        """The newest release among the first `size` entries."""
        found = [entry for entry in self.entries[:size] if msgpack.unpackb(entry)["type"] == RELEASE]
        return open_envelope(found[-1], RELEASE, self.coordinator)

    # ---- blobs

    async def fetch(self, digest: bytes, most_bytes: int) -> bytes:
        """A blob, each chunk checked when it comes."""
        listed = await self.ask("/gonode/blob/1", msgpack.packb({"digest": digest, "op": "list"}))
        require(sha(b"gonode/blob/v1\0", listed) == digest, "the chunk list")
        length = int.from_bytes(listed[:8], "little")
        hashes = [listed[at : at + 32] for at in range(8, len(listed), 32)]
        require(length <= most_bytes and len(hashes) == -(-length // CHUNK), "the length")
        blob = b""
        for index, expected in enumerate(hashes):
            request = msgpack.packb({"digest": digest, "index": index, "op": "chunk"})
            chunk = await self.ask("/gonode/blob/1", request)
            require(sha(chunk) == expected, f"chunk {index}")
            blob += chunk
        require(len(blob) == length, "the length")
        return blob

    async def fetch_network(self, release: dict[str, Any]) -> bytes:
        """The file of a release's network."""
        file = await self.fetch(release["network_blob"], release["network_len"])
        require(sha(file) == release["network"], "the network's SHA-256")
        return file

    def serve(self, blob: bytes) -> bytes:
        """Answers calls for one blob from now on; its digest."""
        chunks = [blob[at : at + CHUNK] for at in range(0, len(blob), CHUNK)]
        listed = len(blob).to_bytes(8, "little") + b"".join(map(sha, chunks))
        digest = sha(b"gonode/blob/v1\0", listed)

        def answer(request: bytes) -> bytes:
            match msgpack.unpackb(request):
                case {"digest": wanted, "op": "list"} if wanted == digest:
                    return b"\0" + listed
                case {"digest": wanted, "index": index, "op": "chunk"} if wanted == digest and index in range(
                    len(chunks)
                ):
                    return b"\0" + chunks[index]
                case {"digest": wanted, "known": _, "op": "have"} if wanted == digest:
                    return b"\0" + bitmap(range(len(chunks)), len(chunks))
                case {"digest": wanted, "op": "any", "wants": wants} if wanted == digest and any(wants):
                    index = next(i for i in range(8 * len(wants)) if wants[i // 8] >> i % 8 & 1)
                    return b"\0" + index.to_bytes(4, "little") + chunks[index]
            return b"\1Not here."

        self._answer("/gonode/blob/1", answer)
        return digest

    # ---- posts

    async def post(self, envelope: bytes) -> tuple[int, dict[str, Any]]:
        """Hands a batch header to the coordinator; its log index and the receipt's fields."""
        request = msgpack.packb({"envelope": envelope, "proof": b""})
        posted = msgpack.unpackb(await self.ask("/gonode/post/1", request, timeout_s=60))
        require(not posted["held"], "an answer that says where it is logged")
        receipt = open_envelope(posted["receipt"], RECEIPT, self.coordinator)
        subject = sha(msgpack.unpackb(envelope)["payload"])
        require((receipt["run"], receipt["subject"]) == (self.run, subject), "the receipt's subject")
        require(receipt["index"] == posted["index"], "the receipt's index")
        return posted["index"], receipt

    def verify_receipt(self, receipt: dict[str, Any], envelope: bytes) -> None:
        """Raises unless the receipt's path leads from the entry to the log, which was followed to its size."""
        root = self.tree(self.entries[: receipt["size"]])
        leaf = sha(b"\0", envelope)
        require(len(self.entries) >= receipt["size"], "the log goes as far")
        require(is_included(leaf, receipt["index"], receipt["size"], receipt["path"], root), "the receipt's path")


def bitmap(held: Iterable[int], count: int) -> bytes:
    """The bitmap of some of so many chunks."""
    bits = bytearray(-(-count // 8))
    for index in held:
        bits[index // 8] |= 1 << index % 8
    return bytes(bits)


async def _frame(stream: Any) -> bytes:
    length = int.from_bytes(await _read(stream, 4), "big")
    require(length <= 2 << 20, "a frame of at most 2 MiB")
    return await _read(stream, length)


async def _read(stream: Any, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = await stream.read(size - len(data))
        require(bool(part), "a whole frame")
        data += part
    return data
