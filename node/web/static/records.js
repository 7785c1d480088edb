// Log entries (docs/spec/log-entry.md): the envelope of one record, its fields by name and kind, and who signs it.

import { hex } from './bytes.js'
import { decodeMap, isMap } from './canonical.js'
import { Envelope } from './envelope.js'
import { require } from './wrong.js'

/** Of an entry, its envelope and all. */
export const MOST_BYTES = 65_535

/** @typedef {import('./canonical.js').Fields} Fields */
/** @typedef {{index: number, name: string, envelope: Envelope, record: Fields, bytes: Uint8Array}} Entry */
/** @typedef {'root' | 'coordinator' | 'verifier' | 'peer' | 'player' | 'heir'} Signer */
/** @typedef {{signer: Signer, bytes?: string, number?: string, text?: string, flag?: string, list?: string, map?: string}} Form */

/** Each record's fields, by their kind. @type {{[name: string]: Form}} */
export const RECORDS = {
  root: { signer: 'root', bytes: 'run', number: 'version threshold witness_threshold', list: 'keys roles' },
  manifest: {
    signer: 'root',
    bytes: 'run',
    number: 'version',
    text: 'name',
    map: 'rules selfplay gate_search network admission gate window training limits',
    list: 'stages openings bootstrap'
  },
  registration: {
    signer: 'peer',
    bytes: 'run peer recovery_hash root_hash invite',
    text: 'name',
    number: 'log_size stamp'
  },
  tick: { signer: 'coordinator', bytes: 'run', number: 'log_size unix_s' },
  'epoch-hash': { signer: 'verifier', bytes: 'run verifier secret_hash', number: 'epoch' },
  'epoch-reveal': { signer: 'verifier', bytes: 'run verifier secret', number: 'epoch' },
  'share-set': { signer: 'coordinator', bytes: 'run root_hash', number: 'size previous_size', list: 'shares' },
  'batch-header': {
    signer: 'peer',
    bytes: 'run manifest config release peer batch_root blob_digest fill_for',
    text: 'semantics build kernel cpu',
    number: 'registration first_counter games plies visits blob_len raw_len',
    flag: 'final'
  },
  verdict: {
    signer: 'verifier',
    bytes: 'run subject verifier work',
    number: 'index epoch game ply',
    text: 'semantics outcome evidence reason',
    list: 'drawn'
  },
  'trace-opening': { signer: 'verifier', bytes: 'run verifier subject blob_digest', number: 'index plies' },
  admission: { signer: 'coordinator', bytes: 'run', list: 'decisions' },
  window: { signer: 'coordinator', bytes: 'run headers', number: 'cycle log_size batches games rows total_rows' },
  'train-record': {
    signer: 'coordinator',
    bytes: 'run base parent_state state seed network network_blob weights_blob',
    number: 'cycle window steps samples network_len threads processes batches skipped',
    text: 'torch capability shape device',
    list: 'states',
    map: 'rounding losses held_out'
  },
  'given-up-cycle': { signer: 'coordinator', bytes: 'run', number: 'cycle window', text: 'reason text' },
  'gate-assignment': { signer: 'coordinator', bytes: 'run base player', number: 'candidate first_pair pairs' },
  'gate-result': {
    signer: 'player',
    bytes: 'run player batch_root blob_digest',
    number: 'assignment blob_len raw_len',
    list: 'pairs'
  },
  'gate-record': {
    signer: 'coordinator',
    bytes: 'run base',
    number: 'candidate pairs llr_micro refused_since_base',
    list: 'counts',
    flag: 'passed'
  },
  release: {
    signer: 'coordinator',
    bytes: 'run manifest parent network network_blob weights_blob config gate_config openings training',
    number: 'number network_len train_record gate_record steps samples rows',
    text: 'name semantics shape code_version'
  },
  'release-statement': {
    signer: 'coordinator',
    bytes: 'run weights_sha256 provenance_signature sums_signature model_key model_signature',
    number: 'release'
  },
  ban: { signer: 'coordinator', bytes: 'run subject proof' },
  pardon: { signer: 'coordinator', bytes: 'run subject proof' },
  'slot-list': { signer: 'coordinator', bytes: 'run', list: 'registrations' },
  'key-replacement': { signer: 'heir', bytes: 'run peer recovery replacement', number: 'invalid_from' },
  'fill-assignment': { signer: 'coordinator', bytes: 'run owner release player', number: 'first_counter games' },
  exit: { signer: 'coordinator', bytes: 'run', list: 'peers' },
  'void-epoch': { signer: 'coordinator', bytes: 'run verifier', number: 'epoch' },
  scrutiny: { signer: 'coordinator', bytes: 'run peer', number: 'q_ppm last_index', flag: 'restart', text: 'reason' },
  'ringer-hash': { signer: 'coordinator', bytes: 'run commitment' },
  'ringer-reveal': { signer: 'coordinator', bytes: 'run salt', number: 'index game ply' }
}

/** @type {{[kind: string]: (value: import('./canonical.js').Value | undefined) => boolean}} */
const IS_OF_KIND = {
  bytes: (value) => value instanceof Uint8Array,
  number: (value) => typeof value === 'number' || typeof value === 'bigint',
  text: (value) => typeof value === 'string',
  flag: (value) => typeof value === 'boolean',
  list: (value) => Array.isArray(value),
  map: (value) => value !== undefined && isMap(value)
}

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
 * @returns {Fields} the record, all its fields there and none more; throws Wrong
 */
function parseRecord (name, payload) {
  const form = Object.hasOwn(RECORDS, name) ? RECORDS[name] : undefined
  require(form !== undefined, 'parse error', `A log cannot hold an entry of type ${name.slice(0, 80)}.`)
  const record = decodeMap(payload)
  let count = 0
  for (const [kind, isOfKind] of Object.entries(IS_OF_KIND)) {
    const fields = /** @type {{[kind: string]: string | undefined}} */ (form)[kind]?.split(' ') ?? []
    for (const field of fields) {
      require(isOfKind(record[field]), 'parse error', `The ${name} has no field ${field} that is a ${kind}.`)
    }
    count += fields.length
  }
  require(Object.keys(record).length === count, 'parse error', `The ${name} has other fields than its page says.`)
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
