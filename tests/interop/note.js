// Signed heads of a log (docs/spec/log.md, "Checkpoint").

import { isSame, require, sha256, verifySignature } from './belief.js'

const LOG = 1
const WITNESS = 4
const MOST_BYTES = 32_768
const MOST_LINES = 64
// eslint-disable-next-line no-control-regex
const NAME = /^[^\s+\x00-\x1f\x7f]{1,256}$/u

/**
 * `{size, rootHash, cosigned}` of a note that `log` signed, `cosigned` counting the `witnesses` who cosigned it. Each
 * of them is `{name, key}`. Throws NotBelieved.
 */
export function verifyNote (note, log, witnesses) {
  const { text, lines } = parseNote(note)
  const [origin, size, root] = /^([^\n]+)\n(0|[1-9][0-9]*)\n([^\n]+)\n$/.exec(text)?.slice(1) ?? []
  require(origin === log.name && Number.isSafeInteger(Number(size)), 'a head of this log')
  const rootHash = base64(root)
  require(rootHash.length === 32, 'a root hash')
  const signature = signatureBy(lines, log, LOG)
  require(signature !== undefined, "the log's signature")
  verifySignature(log.key, signature, text)
  return { size: Number(size), rootHash, cosigned: witnesses.filter((each) => isCosigned(text, lines, each)).length }
}

function isCosigned (text, lines, witness) {
  const line = signatureBy(lines, witness, WITNESS)
  if (line === undefined) {
    return false
  }
  require(line.length === 72, 'a cosignature')
  verifySignature(witness.key, line.subarray(8), `cosignature/v1\ntime ${line.readBigUInt64BE()}\n${text}`)
  return true
}

/** What a key signed, behind its key id; undefined if there is no such line. */
function signatureBy (lines, { name, key }, algorithm) {
  const id = sha256(name, '\n', Buffer.of(algorithm), key).subarray(0, 4)
  const found = lines.filter((line) => line.name === name && isSame(line.data.subarray(0, 4), id))
  require(found.length <= 1, 'one line by each key')
  return found[0]?.data.subarray(4)
}

function parseNote (note) {
  require(note.length <= MOST_BYTES, `a note of at most ${MOST_BYTES} bytes`)
  const whole = Buffer.from(note).toString('utf8')
  const end = whole.lastIndexOf('\n\n')
  require(end >= 0 && whole.endsWith('\n'), 'a note')
  const lines = whole.slice(end + 2, -1).split('\n').map(parseLine)
  require(lines.length <= MOST_LINES, `at most ${MOST_LINES} signature lines`)
  return { text: whole.slice(0, end + 1), lines }
}

function parseLine (line) {
  const [dash, name, signature, ...more] = line.split(' ')
  require(dash === '—' && NAME.test(name) && signature !== undefined && more.length === 0, 'a signature line')
  return { name, data: base64(signature) }
}

function base64 (text) {
  const data = Buffer.from(text, 'base64')
  require(data.toString('base64') === text, 'canonical base64')
  return data
}
