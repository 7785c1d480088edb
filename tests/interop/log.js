// A copy of a run's log: followed from a peer and served to others (docs/spec/wire.md, "Log").

import { hex, isSame, Refused, require, sha256, verifySignature } from './belief.js'
import { encode, isBytes, isCount, isHash, isListOf, isText, parse, parseMap } from './canonical.js'
import { isPrefix, leafHash, prove, root } from './merkle.js'
import { verifyNote } from './note.js'

const PROTOCOL = '/gonode/log/1'
const ROOT = 'application/vnd.gonode.root.v1+msgpack'
const RELEASE = 'application/vnd.gonode.release.v1+msgpack'
const MOST_ANSWER_BYTES = 2 << 20
const MOST_ENTRIES = 4096
const MOST_ENTRY_BYTES = 1 << 20
const MOST_ROOTS = 8

const ENVELOPE = { payload: isBytes, signatures: isListOf((each) => isHash(each.key) && isBytes(each.sig)), type: isText }

/**
 * The entries that were proven to lead to heads, and these heads. A peer is given as its `ask(protocol, request,
 * withinMs)`, which gives the answer to a call (peer.js).
 */
export class Log {
  #ticket
  #root
  #signer
  #witnesses
  #leaves = []
  #heads = new Map()
  #turn = Promise.resolve()
  entries = []

  constructor (ticket) {
    this.#ticket = ticket
  }

  get size () {
    return this.entries.length
  }

  /** Takes root and manifest from a peer; they make the run id that the ticket names, and lead to the peer's head. */
  async begin (ask) {
    const { checkpoint, size } = await this.#askHead(ask)
    const { entries, proof } = await this.#askEntries(ask, 0, 2, size)
    require(entries.length === 2, 'two entries')
    const [first, second] = entries.map((entry) => parse(entry, ENVELOPE).payload)
    require(isSame(sha256('gonode/run/v1\0', lp(first), lp(second)), this.#ticket.run), 'the run id')
    require(isSame(sha256(first), this.#ticket.root), "the root's digest")
    this.#root = parseMap(first)
    const keysOf = (role) => this.#root.roles.filter((each) => each.role === role).map((each) => each.key)
    this.#signer = { name: `gonode/${hex(this.#ticket.run)}`, key: keysOf('coordinator')[0] }
    this.#witnesses = keysOf('verifier').map((key) => ({ name: `gonode-witness/${hex(key)}`, key }))
    const head = this.headIn(checkpoint)
    require(isPrefix(2, root(entries.map(leafHash)), head.size, head.rootHash, proof), 'the proof')
    this.#take(entries)
  }

  /** The head `{size, rootHash, cosigned, note}` in a note, whoever brought it. */
  headIn (note) {
    return { ...verifyNote(note, this.#signer, this.#witnesses), note }
  }

  /**
   * Follows a peer to its newest head. `{head, cosigned}`: that head, and the newest one that enough verifiers cosigned,
   * undefined if the peer shows none.
   */
  async follow (ask) {
    const answer = await this.#askHead(ask)
    const head = this.headIn(answer.checkpoint)
    require(head.size === answer.size, "the head's size")
    await this.followTo(ask, head)
    if (answer.cosigned.length === 0) {
      return { head }
    }
    const cosigned = this.headIn(answer.cosigned)
    require(this.isCosigned(cosigned) && cosigned.size <= head.size, 'enough cosignatures')
    await this.followTo(ask, cosigned)
    return { head, cosigned }
  }

  /** Takes entries from a peer until they reach a verified head; one call after the other. */
  followTo (ask, head) {
    const reached = this.#turn.then(() => this.#pull(ask, head))
    this.#turn = reached.catch(() => {})
    return reached
  }

  async #pull (ask, head) {
    while (this.size < head.size) {
      const { entries, proof } = await this.#askEntries(ask, this.size, MOST_ENTRIES, head.size)
      require(entries.length > 0 && entries.length <= head.size - this.size, 'some entries')
      const leaves = [...this.#leaves, ...entries.map(leafHash)]
      require(isPrefix(leaves.length, root(leaves), head.size, head.rootHash, proof), 'the proof')
      this.#take(entries)
    }
    require(isSame(root(this.#leaves.slice(0, head.size)), head.rootHash), "the head's tree")
    this.#heads.set(head.size, head)
  }

  isCosigned (head) {
    return this.#root.witness_threshold > 0 && head.cosigned >= this.#root.witness_threshold
  }

  /** The newest release among the first `size` entries, signed by the coordinator; undefined before the first one. */
  newestRelease (size) {
    for (const entry of this.entries.slice(0, size).reverse()) {
      const { payload, signatures, type } = parse(entry, ENVELOPE)
      if (type === RELEASE) {
        require(signatures.length === 1 && isSame(signatures[0].key, this.#signer.key), "the release's signer")
        const signed = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload])
        verifySignature(this.#signer.key, signatures[0].sig, signed)
        return parseMap(payload)
      }
    }
  }

  /** The answer to a request of another peer. */
  answer (request) {
    const { op } = parseMap(request)
    switch (op) {
      case 'head': {
        parse(request, { op: isText })
        const head = this.#newest(() => true)
        if (head === undefined) {
          throw new Refused('No head is here yet.')
        }
        const cosigned = this.#newest((head) => this.isCosigned(head))
        return encode({ checkpoint: head.note, cosigned: cosigned?.note ?? Buffer.of(), size: head.size })
      }
      case 'entries': {
        const { limit, size, start } = parse(request, { limit: isCount, op: isText, size: isCount, start: isCount })
        this.#requireRange(start, size)
        const entries = this.#some(start, Math.min(limit, MOST_ENTRIES, size - start))
        return encode({ entries, proof: prove(this.#leaves.slice(0, size), start + entries.length) })
      }
      case 'prefix': {
        const { new: size, old } = parse(request, { new: isCount, old: isCount, op: isText })
        this.#requireRange(old, size)
        return encode({ proof: prove(this.#leaves.slice(0, size), old), root: root(this.#leaves.slice(0, old)) })
      }
      case 'roots': {
        const { version } = parse(request, { op: isText, version: isCount })
        const roots = this.entries.filter((entry) => parse(entry, ENVELOPE).type === ROOT)
        return encode({ roots: roots.slice(version, version + MOST_ROOTS) })
      }
    }
    throw new Refused('This peer answers head, entries, prefix and roots.')
  }

  #newest (isFit) {
    return [...this.#heads.values()].filter(isFit).sort((one, other) => other.size - one.size)[0]
  }

  #requireRange (start, size) {
    if (start > size || size > this.size) {
      throw new Refused(`The log here has ${this.size} entries.`)
    }
  }

  #some (start, limit) {
    let bytes = 0
    const some = this.entries.slice(start, start + limit)
    const end = some.findIndex((entry, index) => (bytes += entry.length) > MOST_ENTRY_BYTES && index > 0)
    return end < 0 ? some : some.slice(0, end)
  }

  #take (entries) {
    this.entries.push(...entries)
    this.#leaves.push(...entries.map(leafHash))
  }

  async #askHead (ask) {
    const answer = await ask(PROTOCOL, encode({ op: 'head' }), 5_000)
    return parse(answer, { checkpoint: isBytes, cosigned: isBytes, size: isCount })
  }

  async #askEntries (ask, start, limit, size) {
    const answer = await ask(PROTOCOL, encode({ limit, op: 'entries', size, start }), 20_000)
    return parse(answer, { entries: isListOf(isBytes), proof: isListOf(isHash) }, MOST_ANSWER_BYTES)
  }
}

/** The length as little-endian u64, and the bytes. */
function lp (bytes) {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(bytes.length))
  return Buffer.concat([length, bytes])
}
