// The log's signed head and the witnesses' cosignatures (docs/spec/log.md, "Checkpoint").

import { base64, concat, isSame, sha256, textOf, utf8 } from './bytes.js'
import { verify } from './ed25519.js'
import { require, Wrong } from './wrong.js'

const MOST_BYTES = 32_768
const MOST_LINES = 64
const LOG = 1
const WITNESS = 4
// eslint-disable-next-line no-control-regex
const NO_NAME = /[\p{White_Space}\x00-\x1f+]/u
// eslint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x09\x0b-\x1f]/

/** @typedef {{name: string, keyId: Uint8Array, signature: Uint8Array}} Line */
/** @typedef {{text: string, lines: Line[]}} Note */
/** @typedef {{origin: string, size: number, rootHash: Uint8Array}} Head */

/**
 * @param {Uint8Array} bytes
 * @returns {Note} its signatures not yet verified; throws Wrong
 */
export function parseNote (bytes) {
  require(bytes.length <= MOST_BYTES, 'too large', `The note has ${bytes.length} bytes; the limit is ${MOST_BYTES}.`)
  const whole = textOf(bytes)
  const end = whole.lastIndexOf('\n\n')
  require(end >= 0 && whole.length > end + 2 && whole.endsWith('\n'), 'parse error',
    'The note has no signature lines after a blank line.')
  const lines = whole.slice(end + 2, -1).split('\n').map(parseLine)
  const text = whole.slice(0, end + 1)
  require(!CONTROL.test(text), 'parse error', "A note's text has no control characters but newlines.")
  require(lines.length <= MOST_LINES, 'too large', `The note has ${lines.length} signatures; the limit is ${MOST_LINES}.`)
  return { text, lines }
}

/**
 * @param {string} line
 * @returns {Line}
 */
function parseLine (line) {
  const [dash, name = '', ...rest] = line.split(' ')
  require(dash === '—', 'parse error', "A note's signature line starts with an em dash and a space.")
  const data = base64(rest.join(' '))
  requireName(name)
  require(data.length > 4, 'parse error', "A note's signature needs a key id of 4 bytes and a signature.")
  return { name, keyId: data.subarray(0, 4), signature: data.subarray(4) }
}

/** @param {string} name */
function requireName (name) {
  require(name !== '' && [...name].length <= 256 && !NO_NAME.test(name), 'parse error',
    "A key's name or origin has 1 to 256 characters, no spaces and no plus sign.")
}

/**
 * @param {string} text of a note
 * @returns {Head} throws Wrong
 */
export function parseHead (text) {
  const lines = text.split('\n')
  const [origin = '', size = '', root = ''] = lines
  require(lines.length === 4 && lines[3] === '', 'parse error', 'A checkpoint has three lines: origin, size and root hash.')
  require(/^(0|[1-9][0-9]{0,18})$/.test(size), 'parse error',
    "A checkpoint's size is a decimal number without leading zeros.")
  const rootHash = base64(root)
  requireName(origin)
  require(BigInt(size) < 2n ** 63n, 'parse error', "A checkpoint's size is from 0 to 2^63 - 1.")
  require(rootHash.length === 32, 'parse error', "A checkpoint's root hash has 32 bytes.")
  return { origin, size: Number(size), rootHash }
}

/**
 * Throws Wrong unless the log's key signed the note under `name`.
 * @param {Note} note
 * @param {Uint8Array} key
 * @param {string} name
 */
export async function verifyLog (note, key, name) {
  await verify(key, utf8(note.text), lineBy(note, key, name, LOG).signature)
}

/**
 * @param {Note} note
 * @param {Uint8Array} key
 * @param {string} name
 * @returns {Promise<bigint>} when (Unix seconds) the witness cosigned; throws Wrong
 */
export async function verifyCosignature (note, key, name) {
  const { signature } = lineBy(note, key, name, WITNESS)
  const time = signature.length === 72 ? new DataView(new Uint8Array(signature).buffer).getBigUint64(0) : 2n ** 63n
  require(time < 2n ** 63n, 'bad signature', 'A cosignature has 8 bytes of time and 64 bytes of signature.')
  await verify(key, utf8(`cosignature/v1\ntime ${time}\n${note.text}`), signature.subarray(8))
  return time
}

/**
 * @param {Note} note
 * @param {Uint8Array} key
 * @param {string} name
 * @param {number} algorithm
 * @returns {Line} the one line by a key; throws Wrong
 */
function lineBy (note, key, name, algorithm) {
  const id = sha256(concat(utf8(`${name}\n`), Uint8Array.of(algorithm), key)).subarray(0, 4)
  const [line, ...more] = note.lines.filter((each) => each.name === name && isSame(each.keyId, id))
  if (line === undefined) {
    throw new Wrong('wrong signer', `The note is not signed by ${name}.`)
  }
  require(more.length === 0, 'bad signature', `The note is signed by ${name} more than once.`)
  return line
}
