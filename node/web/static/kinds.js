// Kinds of values in records (docs/spec/canonical.md): which bytes, numbers and texts a field may hold, and what a map's fields are.

import { isMap } from './canonical.js'

/** @typedef {import('./canonical.js').Value} Value */
/**
 * @typedef {{kind: 'bytes', lengths: number[]} | {kind: 'at most', bytes: number} | {kind: 'whole', low: bigint, high: bigint} |
 *   {kind: 'text', pattern: RegExp, most: number} | {kind: 'one of', words: string[]} | {kind: 'flag'}} Plain
 */
/** @typedef {Plain | {kind: 'list', of: Kind} | {kind: 'map', fields: Fields, check?: Check}} Kind */
/** @typedef {{[field: string]: Kind}} Fields */
/** @typedef {(value: {[field: string]: Value}) => string} Check which field does not go with the others, or nothing */

/** @param {...number} lengths @returns {Kind} */
export const bytes = (...lengths) => ({ kind: 'bytes', lengths })

/** @param {number | bigint} low @param {number | bigint} high @returns {Kind} */
export const whole = (low, high) => ({ kind: 'whole', low: BigInt(low), high: BigInt(high) })

/** @param {RegExp} pattern of the whole text @param {number} most characters @returns {Kind} */
export const text = (pattern, most) => ({ kind: 'text', pattern, most })

/** @param {...string} words @returns {Kind} */
export const oneOf = (...words) => ({ kind: 'one of', words })

/** @param {Kind} of @returns {Kind} */
export const list = (of) => ({ kind: 'list', of })

/** Kinds that have a name. @satisfies {{[name: string]: Kind}} */
export const KINDS = {
  bytes32: bytes(32),
  maybe32: bytes(0, 32),
  signature: bytes(64),
  entry: { kind: 'at most', bytes: 65_536 },
  u16: whole(0, 2 ** 16 - 1),
  u32: whole(0, 2 ** 32 - 1),
  u64: whole(0, 2n ** 64n - 1n),
  i16: whole(-(2 ** 15), 2 ** 15 - 1),
  i64: whole(-(2n ** 63n), 2n ** 63n - 1n),
  ppm: whole(0, 1_000_000),
  micro: whole(0, 2 ** 31 - 1),
  name: text(/^[A-Za-z0-9][A-Za-z0-9._+-]*$/, 64),
  words: text(/^[ -~]*$/, 200),
  semantics: text(/^[a-z0-9/._-]+$/, 64),
  shape: text(/^b[1-9][0-9]?c[1-9][0-9]{1,2}$/, 7),
  flag: { kind: 'flag' }
}

/**
 * @param {{[kind: string]: string}} named fields by the name of their kind
 * @param {Fields} [others]
 * @returns {Fields}
 */
export function fields (named, others = {}) {
  const all = Object.entries(named).flatMap(([kind, names]) => names.split(' ').map((name) => [name, /** @type {{[name: string]: Kind}} */ (KINDS)[kind]]))
  return { ...Object.fromEntries(all), ...others }
}

/** @param {{[kind: string]: string}} named @param {Fields} [others] @param {Check} [check] @returns {Kind} */
export const map = (named, others, check = () => '') => ({ kind: 'map', fields: fields(named, others), check })

/**
 * @param {Kind} kind
 * @param {Value | undefined} value
 * @param {string} where
 * @returns {string} where a value is not of its kind, or nothing
 */
export function faultOf (kind, value, where) {
  if (kind.kind === 'list' && Array.isArray(value)) {
    return firstOf(value.map((each, at) => () => faultOf(kind.of, each, `${where}[${at}]`)))
  }
  if (kind.kind === 'map' && value !== undefined && isMap(value)) {
    const odd = Object.keys(value).find((name) => !Object.hasOwn(kind.fields, name))
    const inside = where === '' ? '' : `${where}.`
    if (odd !== undefined) return `${inside}${odd.slice(0, 40)}`
    const fault = firstOf(Object.entries(kind.fields).map(([name, each]) => () => faultOf(each, value[name], inside + name)))
    const unfit = fault === '' && kind.check !== undefined ? kind.check(value) : ''
    return unfit === '' ? fault : inside + unfit
  }
  return isPlain(kind, value) ? '' : where
}

/**
 * @param {(() => string)[]} checks
 * @returns {string} the first fault
 */
function firstOf (checks) {
  for (const check of checks) {
    const fault = check()
    if (fault !== '') return fault
  }
  return ''
}

/**
 * @param {Kind} kind
 * @param {Value | undefined} value
 * @returns {boolean}
 */
function isPlain (kind, value) {
  switch (kind.kind) {
    case 'bytes': return value instanceof Uint8Array && kind.lengths.includes(value.length)
    case 'at most': return value instanceof Uint8Array && value.length <= kind.bytes
    case 'whole': return (typeof value === 'number' || typeof value === 'bigint') && value >= kind.low && value <= kind.high
    case 'text': return typeof value === 'string' && value.length <= kind.most && kind.pattern.test(value)
    case 'one of': return typeof value === 'string' && kind.words.includes(value)
    case 'flag': return typeof value === 'boolean'
  }
  return false
}
