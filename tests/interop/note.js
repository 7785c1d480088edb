// Signed heads of the log (docs/spec/log.md, "Checkpoint").

import { hex, isSame, require, sha256, verifySignature } from './belief.js'

const LOG = 1
const WITNESS = 4

/**
 * `{size, rootHash, cosigned}` of a note that the coordinator signed, `cosigned` counting the verifiers who cosigned it.
 * `keys` is `{run, coordinator, verifiers}`. Throws NotBelieved.
 */
export function verifyNote (note, keys) {
  const { text, lines } = parseNote(note)
  const origin = `gonode/${hex(keys.run)}`
  const [head, size, root] = /^([^\n]+)\n(0|[1-9][0-9]*)\n([^\n]+)\n$/.exec(text)?.slice(1) ?? []
  require(head === origin, "the run's origin")
  verifySignature(keys.coordinator, signatureBy(lines, origin, LOG, keys.coordinator), text)
  const cosigners = keys.verifiers.filter((key) => isCosigned(text, lines, key))
  return { size: Number(size), rootHash: base64(root), cosigned: cosigners.length }
}

function isCosigned (text, lines, key) {
  const line = signatureBy(lines, `gonode-witness/${hex(key)}`, WITNESS, key)
  if (line === undefined) {
    return false
  }
  const time = line.readBigUInt64BE()
  verifySignature(key, line.subarray(8), `cosignature/v1\ntime ${time}\n${text}`)
  return true
}

/** What a key signed, behind its key id; undefined if there is no such line. */
function signatureBy (lines, name, algorithm, key) {
  const id = sha256(name, '\n', Buffer.of(algorithm), key).subarray(0, 4)
  const line = lines.find((line) => line.name === name && isSame(line.data.subarray(0, 4), id))
  return line?.data.subarray(4)
}

function parseNote (note) {
  require(note.length <= 32768, 'a note of at most 32,768 bytes')
  const whole = Buffer.from(note).toString('utf8')
  const end = whole.lastIndexOf('\n\n')
  require(end >= 0 && whole.endsWith('\n'), 'a note')
  const lines = whole.slice(end + 2, -1).split('\n').map((line) => {
    const [dash, name, signature, ...more] = line.split(' ')
    require(dash === '—' && name !== '' && signature !== undefined && more.length === 0, 'a signature line')
    return { name, data: base64(signature) }
  })
  return { text: whole.slice(0, end + 1), lines }
}

function base64 (text) {
  const data = Buffer.from(text, 'base64')
  require(data.toString('base64') === text, 'canonical base64')
  return data
}
