// The shares of a share set (docs/spec/beacon.md): each an envelope of its own, by a verifier, for the set's tree.

import { Envelope } from './envelope.js'
import { SHARE } from './forms.js'
import { hexOf, parseFields } from './records.js'
import { require } from './wrong.js'

/** @typedef {import('./records.js').Entry} Entry */

/**
 * @param {Entry} entry of any type
 * @returns {Envelope[]} the shares in it, their signatures not yet verified; throws Wrong
 */
export function sharesOf ({ name, record }) {
  return name === 'share-set' ? /** @type {Uint8Array[]} */ (record.shares).map((bytes) => Envelope.parse(bytes)) : []
}

/**
 * Throws Wrong unless each share is by a verifier whose role is valid at the entry, for the tree of the set, in order of keys.
 * @param {Entry} set
 * @param {Envelope[]} shares verified ones
 * @param {import('./roots.js').Roots} roots
 */
export function requireShares ({ index, record }, shares, roots) {
  let before = ''
  for (const { name, payload, signers } of shares) {
    require(name === 'share', 'parse error', `A share set holds a ${name.slice(0, 80)}.`)
    const share = parseFields(name, SHARE, payload)
    const isForTree = share.size === record.size && ['run', 'root_hash'].every((field) => hexOf(share, field) === hexOf(record, field))
    require(isForTree, 'wrong signer', 'A share of the set is for another tree.')
    const verifier = hexOf(share, 'verifier')
    require(signers.join() === verifier && roots.roleOf(verifier, index)?.role === 'verifier', 'wrong signer',
      'A share of the set is not signed by a verifier that it names.')
    require(before < verifier, 'not canonical', "The shares of the set are not in the order of their verifiers' keys.")
    before = verifier
  }
}
