// Who has to have signed a head before it is believed (docs/spec/log.md, "Semantics").

import { verifyCosignature, verifyLog } from './checkpoint.js'
import { isSame, unhex, utf8 } from './bytes.js'
import { isValidAt } from './roots.js'
import { require, Wrong } from './wrong.js'

/** @typedef {import('./roots.js').Role} Role */

/**
 * @param {import('./log.js').Checkpoint} checkpoint
 * @param {string} run
 * @param {import('./roots.js').Root} root in force after the last entry
 * @returns {Promise<{signer: Role, cosigners: {role: Role, time: bigint}[]}>} throws Wrong
 */
export async function verifyHead ({ note, head, bytes }, run, root) {
  const origin = `gonode/${run}`
  const last = Math.max(0, head.size - 1)
  require(head.origin === origin, 'wrong signer', 'File checkpoint: it is of another log.')
  const signer = await signerOf(note, origin, root.roles.filter((role) => role.role === 'coordinator' && isValidAt(role, last)))
  const cosigners = []
  for (const role of root.roles.filter((each) => each.role === 'verifier')) {
    const time = await timeOf(note, role)
    if (time !== undefined) {
      cosigners.push({ role, time })
    }
  }
  const valid = cosigners.filter(({ role }) => isValidAt(role, last))
  require(root.witnessThreshold > 0 && valid.length >= root.witnessThreshold, 'wrong signer',
    `File checkpoint: it is cosigned by ${valid.length} of the verifiers; ${root.witnessThreshold} have to.`)
  require(note.lines.length === cosigners.length + 1, 'bad signature',
    'File checkpoint: it carries a signature line by an unknown key.')
  require(isSame(encodeNote(note), bytes), 'not canonical', 'File checkpoint: it is not in its canonical encoding.')
  return { signer, cosigners: valid }
}

/**
 * @param {import('./checkpoint.js').Note} note
 * @param {string} origin
 * @param {Role[]} coordinators
 * @returns {Promise<Role>}
 */
async function signerOf (note, origin, coordinators) {
  let last = new Wrong('wrong signer', "File checkpoint: the run's root names no coordinator for it.")
  for (const role of coordinators) {
    try {
      await verifyLog(note, unhex(role.key), origin)
      return role
    } catch (error) {
      if (!(error instanceof Wrong)) throw error
      last = new Wrong(error.label, `File checkpoint: ${error.message}`, error.facts)
    }
  }
  throw last
}

/**
 * @param {import('./checkpoint.js').Note} note
 * @param {Role} role
 * @returns {Promise<bigint | undefined>} when it cosigned; undefined if it did not
 */
async function timeOf (note, role) {
  try {
    return await verifyCosignature(note, unhex(role.key), `gonode-witness/${role.key}`)
  } catch (error) {
    if (!(error instanceof Wrong)) throw error
    if (error.label === 'wrong signer') return undefined
    throw Wrong.at(error, 'File checkpoint')
  }
}

/** @param {import('./checkpoint.js').Note} note */
function encodeNote ({ text, lines }) {
  const written = lines.map(({ name, keyId, signature }) =>
    `— ${name} ${btoa(String.fromCharCode(...keyId, ...signature))}\n`)
  return utf8(`${text}\n${written.join('')}`)
}
