// The run's root versions (docs/spec/root.md): which key may act in which role at which entry.

import { sha256, u64 } from './bytes.js'
import { count, hexesOf, hexOf, mapsOf, text } from './records.js'
import { require } from './wrong.js'

/** @typedef {import('./records.js').Entry} Entry */
/** @typedef {{role: string, key: string, name: string, expires: number | bigint, invalidFrom: number | bigint}} Role */
/** @typedef {{index: number, version: number, threshold: number, keys: string[], roles: Role[], witnessThreshold: number}} Root */

const UNSET = 2n ** 64n - 1n
const NO_RUN = '00'.repeat(32)

/**
 * @param {Uint8Array} root payload of root version 1
 * @param {Uint8Array} manifest payload of manifest version 1
 * @returns {Uint8Array} the run's id (docs/spec/seeds.md)
 */
export function runId (root, manifest) {
  return sha256('gonode/run/v1\0', u64(root.length), root, u64(manifest.length), manifest)
}

/**
 * @param {Entry} entry
 * @returns {Root} throws Wrong
 */
export function parseRoot ({ index, record }) {
  const roles = mapsOf(record, 'roles').map((role) => ({
    role: text(role, 'role'),
    key: hexOf(role, 'key'),
    name: text(role, 'name'),
    expires: limit(role, 'expires'),
    invalidFrom: limit(role, 'invalid_from')
  }))
  const keys = hexesOf(record, 'keys')
  const threshold = count(record, 'threshold')
  const witnessThreshold = count(record, 'witness_threshold')
  const version = count(record, 'version')
  const standing = roles.filter((each) => each.role === 'verifier' && BigInt(each.invalidFrom) === UNSET).length
  require(version >= 1 && (version === 1) === (hexOf(record, 'run') === NO_RUN), 'parse error',
    'Root version 1, and only it, has no run id.')
  require(threshold >= 1 && threshold <= keys.length && new Set(keys).size === keys.length, 'parse error',
    "The root's threshold is from 1 to the number of its keys.")
  require(new Set(roles.map((each) => each.key)).size === roles.length, 'parse error', 'A key of the root has two roles.')
  require(standing === 0 || (standing < 2 * witnessThreshold && witnessThreshold <= standing), 'parse error',
    "The root's witness threshold is not more than half of its verifiers.")
  return { index, version, threshold, keys, roles, witnessThreshold }
}

/**
 * @param {import('./canonical.js').Fields} role
 * @param {string} field
 * @returns {number | bigint}
 */
function limit (role, field) {
  const value = role[field]
  require(typeof value === 'number' || typeof value === 'bigint', 'parse error', `A role has no ${field}.`)
  return /** @type {number | bigint} */ (value)
}

/** All versions so far, and what they allow. */
export class Roots {
  /** @type {Root[]} */
  all = []

  /** The newest version. */
  get newest () {
    return /** @type {Root} */ (this.all.at(-1))
  }

  /**
   * Takes the next version; throws Wrong unless it is signed as it has to be.
   * @param {Entry} entry
   */
  add (entry) {
    const root = parseRoot(entry)
    const before = this.all.at(-1)
    require(root.version === (before?.version ?? 0) + 1 && (root.version === 1) === (entry.index === 0), 'wrong signer',
      `Root version ${root.version} does not follow version ${before?.version ?? 0}.`)
    const known = [...root.keys, ...(before?.keys ?? [])]
    for (const each of before === undefined ? [root] : [before, root]) {
      requireThreshold(entry, each, known)
    }
    this.all.push(root)
  }

  /**
   * @param {number} index
   * @returns {Root} the version that judges an entry at `index`
   */
  at (index) {
    return this.all.findLast((each) => each.index < index) ?? /** @type {Root} */ (this.all[0])
  }

  /**
   * @param {string} key
   * @param {number} index
   * @returns {Role | undefined} the role that is valid for an entry at `index`
   */
  roleOf (key, index) {
    return this.at(index).roles.find((each) => each.key === key && isValidAt(each, index))
  }

  /**
   * Throws Wrong unless whom the entry's type asks for signed it, in a role that is valid there.
   * @param {Entry} entry
   * @param {import('./forms.js').Signer} signer
   */
  requireSigner (entry, signer) {
    const { index, name, record, envelope } = entry
    const { signers } = envelope
    if (signer === 'root') {
      requireThreshold(entry, this.newest, this.newest.keys)
    } else if (signer === 'heir') {
      const both = [hexOf(record, 'recovery'), hexOf(record, 'replacement')].sort()
      require(signers.join() === both.join(), 'wrong signer', `The ${name} is not signed by the keys that it names.`)
    } else {
      const only = signers.length === 1 ? /** @type {string} */ (signers[0]) : ''
      const isNamed = signer === 'coordinator' || only === hexOf(record, signer)
      require(isNamed, 'wrong signer', `The ${name} is not signed by the key that it names.`)
      const role = this.roleOf(only, index)?.role
      const isFit = signer === 'coordinator' || signer === 'verifier' ? role === signer : true
      require(isFit, 'wrong signer', `The ${name} is not signed by a ${signer} whose role is valid at entry ${index}.`)
    }
  }
}

/**
 * @param {Role} role
 * @param {number} index
 */
export function isValidAt (role, index) {
  return index < role.expires && index < role.invalidFrom
}

/**
 * @param {Entry} entry
 * @param {Root} root
 * @param {string[]} known keys that may sign besides
 */
function requireThreshold ({ name, envelope }, root, known) {
  const signed = envelope.signers.filter((key) => root.keys.includes(key)).length
  require(signed >= root.threshold, 'wrong signer',
    `${signed} of the root's keys signed the ${name}; ${root.threshold} have to.`)
  require(envelope.signers.every((key) => known.includes(key)), 'wrong signer',
    `A key that is not the root's signed the ${name}.`)
}
