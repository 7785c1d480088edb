// Bytes: as text and back, compared, joined, hashed.

import { sha256 as hash } from './vendor/noble-hashes/sha2.js'
import { Wrong } from './wrong.js'

const ENCODER = new TextEncoder()
const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/**
 * @param {string} text
 * @returns {Uint8Array} its UTF-8
 */
export function utf8 (text) {
  return ENCODER.encode(text)
}

/**
 * @param {Uint8Array} bytes
 * @returns {string} the text; throws Wrong unless it is UTF-8
 */
export function textOf (bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Wrong('parse error', 'The bytes are not UTF-8 text.')
  }
}

/**
 * @param {Uint8Array} bytes
 * @returns {string} lower-case hexadecimal digits
 */
export function hex (bytes) {
  let text = ''
  for (const byte of bytes) {
    text += DIGITS[byte]
  }
  return text
}

/**
 * @param {string} text hexadecimal digits, two a byte
 * @returns {Uint8Array}
 */
export function unhex (text) {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(text)) {
    throw new Wrong('parse error', 'The text is not hexadecimal.')
  }
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => parseInt(text.slice(2 * at, 2 * at + 2), 16))
}

/**
 * @param {string} text standard base64 in its one encoding
 * @returns {Uint8Array}
 */
export function base64 (text) {
  let data
  try {
    data = atob(text)
  } catch {
    throw new Wrong('parse error', 'A note holds text that is not base64.')
  }
  if (btoa(data) !== text) {
    throw new Wrong('parse error', 'A note holds base64 that is not canonical.')
  }
  return Uint8Array.from(data, (each) => each.charCodeAt(0))
}

/**
 * @param {Uint8Array} bytes
 * @returns {string} standard base64
 */
export function encodeBase64 (bytes) {
  return btoa(Array.from(bytes, (each) => String.fromCharCode(each)).join(''))
}

/**
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 * @returns {boolean}
 */
export function isSame (one, other) {
  return one.length === other.length && one.every((byte, at) => byte === other[at])
}

/**
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 * @returns {number} below 0 where `one` comes first, above where `other` does
 */
export function compare (one, other) {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at++) {
    const difference = /** @type {number} */ (one[at]) - /** @type {number} */ (other[at])
    if (difference !== 0) {
      return difference
    }
  }
  return one.length - other.length
}

/**
 * @param {...Uint8Array} parts
 * @returns {Uint8Array}
 */
export function concat (...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/**
 * @param {number | bigint} number
 * @returns {Uint8Array} eight bytes, little-endian
 */
export function u64 (number) {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number), true)
  return bytes
}

/**
 * SHA-256 of the parts in a row; text is UTF-8.
 * @param {...(Uint8Array | string)} parts
 * @returns {Uint8Array}
 */
export function sha256 (...parts) {
  const state = hash.create()
  for (const part of parts) {
    state.update(typeof part === 'string' ? utf8(part) : part)
  }
  return state.digest()
}
