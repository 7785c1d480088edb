// Canonical msgpack (docs/spec/canonical.md): what is read must encode to the very bytes that came.
//
// A whole number below 2^32 is a Number, any other one a BigInt. The library sorts keys by UTF-16 units, which for the keys
// of all records, ASCII, is the order of their UTF-8 bytes.

import { decode as unpack, encode as pack } from '@msgpack/msgpack'

import { isSame, NotBelieved, require } from './belief.js'

const FORM = { sortKeys: true, useBigInt64: true }
const MOST_BYTES = 65_536
const MOST_DEPTH = 8

export function encode (value) {
  return pack(value, FORM)
}

/** The value in `bytes`; throws NotBelieved. */
export function decode (bytes, mostBytes = MOST_BYTES) {
  require(bytes.length <= mostBytes, `a record of at most ${mostBytes} bytes`)
  let value
  try {
    value = unpack(bytes, FORM)
  } catch (error) {
    throw new NotBelieved(`msgpack: ${error.message}`)
  }
  require(isPlain(value, 0) && isSame(encode(value), bytes), 'canonical bytes')
  return value
}

/** The map in `bytes`, of which only some fields matter; throws NotBelieved. */
export function parseMap (bytes, mostBytes) {
  const value = decode(bytes, mostBytes)
  require(isMap(value), 'a map')
  return value
}

/** The map in `bytes`, which has exactly the fields of `types`; throws NotBelieved. */
export function parse (bytes, types, mostBytes) {
  const map = parseMap(bytes, mostBytes)
  require(Object.keys(map).length === Object.keys(types).length, `a map of ${Object.keys(types)}`)
  for (const [name, isOfType] of Object.entries(types)) {
    require(Object.hasOwn(map, name) && isOfType(map[name]), `the field ${name}`)
  }
  return map
}

export const isBytes = (value) => value instanceof Uint8Array
export const isHash = (value) => isBytes(value) && value.length === 32
export const isText = (value) => typeof value === 'string'
export const isCount = (value) => Number.isInteger(value) && value >= 0
export const isListOf = (isOfType) => (value) => Array.isArray(value) && value.every(isOfType)

/** Whether a value has no floats, extension types or lone surrogates, and nests at most 8 deep. */
function isPlain (value, depth) {
  switch (typeof value) {
    case 'boolean':
    case 'bigint': return true
    case 'string': return value.isWellFormed()
    case 'number': return Number.isInteger(value)
  }
  if (value === null || isBytes(value)) {
    return true
  }
  return (Array.isArray(value) || isMap(value)) && depth < MOST_DEPTH &&
    Object.values(value).every((each) => isPlain(each, depth + 1))
}

function isMap (value) {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
