// Envelopes (docs/spec/envelope.md): a typed payload with the signatures that speak for it.

import { compare, concat, hex, sha256, utf8 } from './bytes.js'
import { decode, isMap } from './canonical.js'
import { verify } from './ed25519.js'
import { require, Wrong } from './wrong.js'

const MOST_SIGNATURES = 64
const TYPE = /^application\/[a-z0-9][a-z0-9.+-]{0,99}$/

/** @typedef {{key: Uint8Array, sig: Uint8Array}} Signature */

export class Envelope {
  /**
   * @param {string} type
   * @param {Uint8Array} payload
   * @param {Signature[]} signatures
   */
  constructor (type, payload, signatures) {
    this.type = type
    this.payload = payload
    this.signatures = signatures
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} [mostBytes]
   * @returns {Envelope} its signatures not yet verified; throws Wrong
   */
  static parse (bytes, mostBytes) {
    const map = decode(bytes, mostBytes)
    if (!isMap(map) || Object.keys(map).join() !== 'payload,signatures,type' || typeof map.type !== 'string' ||
        !(map.payload instanceof Uint8Array) || !Array.isArray(map.signatures)) {
      throw new Wrong('parse error', 'The bytes are not an envelope.')
    }
    const count = map.signatures.length
    require(count <= MOST_SIGNATURES, 'too large', `The envelope has ${count} signatures; the limit is ${MOST_SIGNATURES}.`)
    const signatures = map.signatures.map(signatureOf)
    require(TYPE.test(map.type), 'parse error', "The envelope's type is not a payload type.")
    const isMixed = signatures.slice(1).some((each, at) => compare(/** @type {Signature} */ (signatures[at]).key, each.key) > 0)
    require(!isMixed, 'not canonical', "The envelope's signatures are not in key order.")
    return new Envelope(map.type, map.payload, signatures)
  }

  /** The record's name, as `batch-header`; the whole type if it is of another family. */
  get name () {
    return /^application\/vnd\.gonode\.([a-z0-9-]+)\.v1\+msgpack$/.exec(this.type)?.[1] ?? this.type
  }

  /** The keys that signed, as hexadecimal digits, in order. */
  get signers () {
    return this.signatures.map((each) => hex(each.key))
  }

  /** SHA-256 of the payload: the identity of what was signed. */
  get digest () {
    return sha256(this.payload)
  }

  /** The bytes that are signed: DSSE's pre-authentication encoding. */
  get signedBytes () {
    const type = utf8(this.type)
    return concat(utf8(`DSSEv1 ${type.length} `), type, utf8(` ${this.payload.length} `), this.payload)
  }

  /** Throws Wrong unless there is a signature, no key signs twice, and every signature holds. */
  async verify () {
    require(this.signatures.length > 0, 'bad signature', 'The envelope has no signature.')
    require(new Set(this.signers).size === this.signatures.length, 'bad signature', 'A key signs the envelope twice.')
    const message = this.signedBytes
    for (const { key, sig } of this.signatures) {
      await verify(key, message, sig)
    }
  }
}

/**
 * @param {import('./canonical.js').Value} item
 * @returns {Signature}
 */
function signatureOf (item) {
  if (!isMap(item) || Object.keys(item).join() !== 'key,sig' || !(item.key instanceof Uint8Array) ||
      !(item.sig instanceof Uint8Array) || item.key.length !== 32 || item.sig.length !== 64) {
    throw new Wrong('parse error', "An envelope's signature needs a key of 32 bytes and 64 bytes of signature.")
  }
  return { key: item.key, sig: item.sig }
}
