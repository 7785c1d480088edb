// Canonical msgpack (docs/spec/canonical.md): what is read must encode to the very bytes that came.
//
// A whole number below 2^32 is a Number, any other one a BigInt. The library sorts keys by UTF-16 units, which for the keys
// of all records, ASCII, is the order of their UTF-8 bytes.

import { decode, encode as pack } from '@msgpack/msgpack'

import { isSame, NotBelieved, require } from './belief.js'

const FORM = { sortKeys: true, useBigInt64: true }

export function encode (value) {
  return pack(value, FORM)
}

/** The map in `bytes`, which has exactly the fields of `types`; throws NotBelieved. */
export function parse (bytes, types) {
  const map = parseAny(bytes)
  require(isMap(map) && Object.keys(map).length === Object.keys(types).length, `a map of ${Object.keys(types)}`)
  for (const [name, isOfType] of Object.entries(types)) {
    require(Object.hasOwn(map, name) && isOfType(map[name]), `the field ${name}`)
  }
  return map
}

/** Any canonical map, for records of which only some fields matter. */
export function parseAny (bytes) {
  let value
  try {
    value = decode(bytes, FORM)
  } catch (error) {
    throw new NotBelieved(`msgpack: ${error.message}`)
  }
  require(isMap(value) && isSame(encode(value), bytes), 'canonical bytes')
  return value
}

export const isBytes = (value) => value instanceof Uint8Array
export const isHash = (value) => isBytes(value) && value.length === 32
export const isText = (value) => typeof value === 'string'
export const isCount = (value) => Number.isInteger(value) && value >= 0
export const isListOf = (isOfType) => (value) => Array.isArray(value) && value.every(isOfType)

function isMap (value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value)
}
