// Strict Ed25519 (docs/spec/envelope.md, "Signatures"): by WebCrypto where it has it, else in JavaScript.
//
// Whoever verifies, points of low order and encodings with y >= p are refused before, for the key and for the signature's
// first half: WebCrypto of common browsers takes a forgery under the identity key. Two known answers decide whether a
// browser's WebCrypto is used: a right signature, and one that holds only with the cofactor, which is refused here.

import { etc, Point } from './vendor/noble-ed25519/index.js'
import { sha512 } from './vendor/noble-hashes/sha2.js'
import { concat, hex, isSame, unhex, utf8 } from './bytes.js'
import { Wrong } from './wrong.js'

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/** p is `ed` and this, little-endian: from it on no y is canonical. */
const REST_OF_P = 'ff'.repeat(30) + '7f'
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const LOW_ORDER_Y = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'
])

/** RFC 8032, 7.1, test 2. */
const RIGHT = {
  key: unhex('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c'),
  message: unhex('72'),
  signature: unhex('92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da' +
    '085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00')
}
/** C2SP/CCTV ed25519vectors, number 6: holds with the cofactor and not without. */
const RESIDUE = {
  key: unhex('10eb7c3acfb2bed3e0d6ab89bf5a3d6afddd1176ce4812e38d9fd485058fdb1f'),
  message: utf8('ed25519vectors 10'),
  signature: unhex('36684ea91032ba5b1dbab2d02f4debc74c3327f2b3802e2e4d371aa42b12b56b' +
    'c02e2b9e63e385c058bf62b14b3a2b29ccefe8e38ddb536bc3f9865320a3d801')
}

/** @typedef {(key: Uint8Array, message: Uint8Array, signature: Uint8Array) => Promise<boolean>} Verifier */

/** @type {Promise<{name: string, holds: Verifier}> | undefined} */
let chosen

/**
 * Who verifies in this browser, for people.
 * @returns {Promise<string>}
 */
export async function verifierName () {
  return (await choose()).name
}

/**
 * Throws Wrong unless `signature` is the key's strict Ed25519 signature of `message`.
 * @param {Uint8Array} key
 * @param {Uint8Array} message
 * @param {Uint8Array} signature
 */
export async function verify (key, message, signature) {
  if (key.length !== KEY_BYTES) {
    throw new Wrong('bad signature', `A public key has ${KEY_BYTES} bytes, not ${key.length}.`)
  }
  if (signature.length !== SIGNATURE_BYTES) {
    throw new Wrong('bad signature', `A signature has ${SIGNATURE_BYTES} bytes, not ${signature.length}.`)
  }
  requireSound(key, 'The public key')
  requireSound(signature.subarray(0, KEY_BYTES), "The signature's first half")
  const { holds } = await choose()
  if (!await holds(key, message, signature)) {
    throw new Wrong('bad signature', `The signature by key ${hex(key).slice(0, 16)} does not fit the message.`, [
      { name: 'key', value: hex(key) },
      { name: 'signature', value: hex(signature) },
      { name: 'bytes that it would have to be of', value: hex(message) }
    ])
  }
}

/**
 * @param {Uint8Array} point
 * @param {string} what
 */
function requireSound (point, what) {
  const y = point.slice()
  const top = y.length - 1
  y[top] = /** @type {number} */ (y[top]) & 0x7f // without the sign of x
  if (LOW_ORDER_Y.has(hex(y))) {
    throw new Wrong('bad signature', `${what} is a point of low order.`)
  }
  if (hex(y).endsWith(REST_OF_P) && /** @type {number} */ (y[0]) >= 0xed) {
    throw new Wrong('bad signature', `${what} is not canonically encoded.`)
  }
}

function choose () {
  chosen ??= (async () => {
    try {
      if (await byWebCrypto(RIGHT.key, RIGHT.message, RIGHT.signature) &&
          !await byWebCrypto(RESIDUE.key, RESIDUE.message, RESIDUE.signature)) {
        return { name: "this browser's WebCrypto", holds: byWebCrypto }
      }
    } catch {
      // not a secure context, or a browser without Ed25519
    }
    return { name: 'JavaScript, for WebCrypto has no Ed25519 here', holds: byScript }
  })()
  return chosen
}

/** @type {Map<string, CryptoKey>} */
const imported = new Map()

/** @type {Verifier} */
async function byWebCrypto (key, message, signature) {
  const name = hex(key)
  let handle = imported.get(name)
  if (handle === undefined) {
    try {
      handle = await crypto.subtle.importKey('raw', plain(key), 'Ed25519', false, ['verify'])
    } catch (error) {
      if (chosen === undefined || error instanceof TypeError) throw error
      return false // not a point of the curve
    }
    imported.set(name, handle)
  }
  return crypto.subtle.verify('Ed25519', handle, plain(signature), plain(message))
}

/**
 * R = S B - k A, compared as bytes: without the cofactor, as the specification says.
 * @type {Verifier}
 */
export async function byScript (key, message, signature) {
  const first = signature.subarray(0, KEY_BYTES)
  const s = little(signature.subarray(KEY_BYTES))
  if (s >= ORDER) {
    return false
  }
  try {
    const k = etc.mod(little(sha512(concat(first, key, message))), ORDER)
    const right = Point.fromBytes(key, false).negate().multiplyUnsafe(k)
    const left = Point.BASE.multiplyUnsafe(s)
    return isSame(left.add(right).toBytes(), first)
  } catch {
    return false // not a point of the curve
  }
}

/**
 * @param {Uint8Array} bytes
 * @returns {bigint}
 */
function little (bytes) {
  return BigInt('0x' + hex(bytes.slice().reverse()))
}

/**
 * @param {Uint8Array} bytes
 * @returns {Uint8Array<ArrayBuffer>} a copy in a buffer of its own, as WebCrypto's types want it
 */
function plain (bytes) {
  return new Uint8Array(bytes)
}
