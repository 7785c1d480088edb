// Log entries (docs/spec/log-entry.md): the envelope of one record, and its fields.

import { hex } from './bytes.js'
import { decodeMap, isMap } from './canonical.js'
import { Envelope } from './envelope.js'
import { RECORDS } from './forms.js'
import { faultOf } from './kinds.js'
import { require, Wrong } from './wrong.js'

/** Of an entry, its envelope and all. */
export const MOST_BYTES = 65_535

/** @typedef {import('./canonical.js').Fields} Fields */
/** @typedef {{index: number, name: string, envelope: Envelope, record: Fields, bytes: Uint8Array}} Entry */
/**
 * @param {Uint8Array} bytes
 * @param {number} index
 * @returns {Entry} its signatures not yet verified; throws Wrong
 */
export function parseEntry (bytes, index) {
  const envelope = Envelope.parse(bytes, MOST_BYTES)
  const { name } = envelope
  return { index, name, envelope, record: parseRecord(name, envelope.payload), bytes }
}

/**
 * @param {string} name
 * @param {Uint8Array} payload
 * @returns {Fields} the record, all its fields there, of their kind, and none more; throws Wrong
 */
export function parseRecord (name, payload) {
  const form = Object.hasOwn(RECORDS, name) ? RECORDS[name] : undefined
  if (form === undefined) {
    throw new Wrong('parse error', `A log cannot hold an entry of type ${name.slice(0, 80)}.`)
  }
  return parseFields(name, form.fields, payload)
}

/**
 * @param {string} name
 * @param {import('./kinds.js').Fields} fields
 * @param {Uint8Array} payload
 * @returns {Fields} throws Wrong
 */
export function parseFields (name, fields, payload) {
  const record = decodeMap(payload)
  const fault = faultOf({ kind: 'map', fields }, record, '')
  require(fault === '', 'parse error', `The ${name} has no field ${fault}, or another value there than its page says.`)
  return record
}

/**
 * @param {Fields} record
 * @param {string} field
 * @returns {number} a number that is used to count or to find an entry; throws Wrong beyond 2^53
 */
export function count (record, field) {
  const value = record[field]
  require(typeof value === 'number' && value >= 0, 'too large', `The number ${field} is out of reach.`)
  return /** @type {number} */ (value)
}

/**
 * @param {Fields} record
 * @param {string} field
 * @returns {Uint8Array}
 */
export function bytesOf (record, field) {
  const value = record[field]
  require(value instanceof Uint8Array, 'parse error', `There is no field ${field} of bytes.`)
  return /** @type {Uint8Array} */ (value)
}

/**
 * @param {Fields} record
 * @param {string} field
 * @returns {string} its bytes as hexadecimal digits
 */
export function hexOf (record, field) {
  return hex(bytesOf(record, field))
}

/**
 * @param {Fields} record
 * @param {string} field
 * @returns {string}
 */
export function text (record, field) {
  const value = record[field]
  require(typeof value === 'string', 'parse error', `There is no text ${field}.`)
  return /** @type {string} */ (value)
}

/**
 * @param {Fields} record
 * @param {string} field
 * @returns {Fields}
 */
export function mapOf (record, field) {
  const value = record[field]
  require(value !== undefined && isMap(value), 'parse error', `There is no map ${field}.`)
  return /** @type {Fields} */ (value)
}

/**
 * @param {Fields} record
 * @param {string} field
 * @returns {Fields[]} a list of maps
 */
export function mapsOf (record, field) {
  const value = record[field]
  require(Array.isArray(value) && value.every(isMap), 'parse error', `There is no list ${field} of maps.`)
  return /** @type {Fields[]} */ (value)
}

/**
 * @param {Fields} record
 * @param {string} field
 * @returns {string[]} a list of keys or digests, as hexadecimal digits
 */
export function hexesOf (record, field) {
  const value = record[field]
  require(Array.isArray(value) && value.every((each) => each instanceof Uint8Array && each.length === 32), 'parse error',
    `There is no list ${field} of 32 bytes each.`)
  return /** @type {Uint8Array[]} */ (value).map(hex)
}
