// The coordinator's statement about a release's files (docs/spec/statement.md): its documents, hashed and their signatures.

import { counted, NotRun } from './answers.js'
import { concat, encodeBase64, hex, isSame, sha256, textOf, utf8 } from './bytes.js'
import { verify } from './ed25519.js'
import { Envelope } from './envelope.js'
import { readFile, within } from './log.js'
import { IN_TOTO, provenanceOf } from './provenance.js'
import { bytesOf, hexOf, text } from './records.js'
import { placeOf } from './release.js'
import { sha512 } from './vendor/noble-hashes/sha2.js'
import { require, Wrong } from './wrong.js'

const MOST_BYTES = 2 ** 20
const PROVENANCE = 'provenance.dsse.json'
const MAGIC = utf8('SSHSIG')
const KEY_TYPE = utf8('ssh-ed25519')

/** @typedef {import('./records.js').Entry} Entry */

/**
 * @param {import('./folder.js').Folder} folder
 * @param {import('./history.js').History} history
 * @param {Entry} release
 */
export async function auditStatement (folder, history, release) {
  const statement = history.statements.get(release.index)
  if (statement === undefined) {
    throw new NotRun('The log has no statement about this release yet.')
  }
  const name = text(release.record, 'name')
  const path = `statement/${placeOf(release)}`
  const key = /** @type {import('./envelope.js').Signature} */ (statement.envelope.signatures[0]).key
  const file = await readFile(folder, `${path}/SHA256SUMS`, MOST_BYTES)
  await named(`${path}/SHA256SUMS`, () => verify(key, sshMessage(file), bytesOf(statement.record, 'sums_signature')))
  const sums = within(`${path}/SHA256SUMS`, () => parseSums(textOf(file)))
  const kept = new Map([
    ['SHA256SUMS.sig', sshSignature(key, bytesOf(statement.record, 'sums_signature'))],
    ['allowed_signers', `gonode/${history.run} namespaces="file" ssh-ed25519 ${encodeBase64(sshTexts(KEY_TYPE, key))}\n`]
  ])
  for (const [each, expected] of kept) {
    const bytes = await readFile(folder, `${path}/${each}`, MOST_BYTES)
    require(isSame(bytes, utf8(expected)), 'bad digest', `File ${path}/${each} is not what the statement gives.`)
  }
  const files = [`${name}.network.bin`, `${name}.weights.bin`]
  const documents = ['PATHS', PROVENANCE, 'model.pub', 'model.sig']
  const digests = new Map([...sums, [files[0], hexOf(release.record, 'network')], [files[1], hexOf(statement.record, 'weights_sha256')]])
  const lines = [...files, ...documents].sort().map((each) => `${digests.get(each)}  ${each}\n`)
  require(textOf(file) === lines.join(''), 'bad digest',
    `File ${path}/SHA256SUMS is not the list of ${documents.join(', ')}, and of network and weights as the log gives them.`)
  const provenance = provenanceOf(history, release, statement, key)
  const made = new Map([['PATHS', utf8(pathsOf(release.record, files))], [PROVENANCE, provenance.file]])
  for (const each of documents) {
    const bytes = await readFile(folder, `${path}/${each}`, MOST_BYTES)
    require(hex(sha256(bytes)) === sums.get(each), 'bad digest', `File ${path}/${each} is not the one that SHA256SUMS names.`)
    const expected = made.get(each) ?? bytes
    require(isSame(bytes, expected), 'bad digest', `File ${path}/${each} is signed, but it is not what the log gives.`,
      [{ name: `file ${each}`, expected: textOf(expected), got: textOf(bytes) }])
  }
  const message = new Envelope(IN_TOTO, provenance.payload, []).signedBytes
  await named(`${path}/${PROVENANCE}`, () => verify(key, message, bytesOf(statement.record, 'provenance_signature')))
  const facts = [
    { name: 'statement', value: `entry ${statement.index}, ${hex(statement.envelope.digest)}` },
    { name: 'key', value: hex(key) },
    { name: 'file SHA256SUMS', value: textOf(file) },
    { name: 'documents', value: path }
  ]
  const sentence = `Signed by the coordinator (entry ${statement.index.toLocaleString('en')}): SHA256SUMS and ` +
    `${counted(documents.length + kept.size, 'document')} in ${path} are as signed; PATHS and the provenance say what the log says.`
  return { sentence, facts, value: true }
}

/**
 * @param {string} whole
 * @returns {Map<string, string>} digests by name; throws Wrong
 */
function parseSums (whole) {
  const lines = whole.split('\n')
  require(lines.pop() === '' && lines.length <= 64, 'parse error', 'It is not a list of digests.')
  return new Map(lines.map((line) => {
    const [, digest, name] = /^([0-9a-f]{64}) {2}([A-Za-z0-9][A-Za-z0-9._+-]*)$/.exec(line) ?? []
    if (digest === undefined || name === undefined) {
      throw new Wrong('parse error', 'It is not a list of digests.')
    }
    return [name, digest]
  }))
}

/**
 * @param {import('./canonical.js').Fields} release
 * @param {string[]} files what the documents call network and weights
 * @returns {string} the document that says where they lie as blobs
 */
function pathsOf (release, files) {
  const digests = [hexOf(release, 'network_blob'), hexOf(release, 'weights_blob')]
  return digests.map((digest, at) => `blob/${digest.slice(0, 2)}/${digest} ${files[at]}\n`).join('')
}

/**
 * @param {Uint8Array} data
 * @returns {Uint8Array} what OpenSSH signs of a file
 */
function sshMessage (data) {
  return concat(MAGIC, sshTexts(utf8('file'), new Uint8Array(), utf8('sha512'), sha512(data)))
}

/**
 * @param {Uint8Array} key
 * @param {Uint8Array} signature
 * @returns {string} the signature as OpenSSH writes it into a file
 */
function sshSignature (key, signature) {
  const fields = [sshTexts(KEY_TYPE, key), utf8('file'), new Uint8Array(), utf8('sha512'), sshTexts(KEY_TYPE, signature)]
  const lines = encodeBase64(concat(MAGIC, Uint8Array.of(0, 0, 0, 1), sshTexts(...fields))).match(/.{1,70}/g) ?? []
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n')
}

/**
 * @param {...Uint8Array} parts each shorter than 256 bytes
 * @returns {Uint8Array} SSH's strings: each after its length
 */
function sshTexts (...parts) {
  return concat(...parts.flatMap((part) => [Uint8Array.of(0, 0, 0, part.length), part]))
}

/**
 * @param {string} path
 * @param {() => Promise<void>} check
 */
async function named (path, check) {
  try {
    await check()
  } catch (error) {
    throw Wrong.at(error, `File ${path}`)
  }
}
