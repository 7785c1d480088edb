// Tickets (docs/spec/ticket.md): the string that names a run, for the visitor to bring from elsewhere.

import { isSame, sha256 } from './bytes.js'
import { decode, isMap } from './canonical.js'
import { require, Wrong } from './wrong.js'

const PREFIX = 'gonode1'
const MOST_CHARACTERS = 4096
const MOST_ADDRESSES = 16
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

/** @typedef {{run: Uint8Array, root: Uint8Array, addresses: string[]}} Ticket */

/**
 * @param {string} text
 * @returns {Ticket} throws Wrong
 */
export function parseTicket (text) {
  const ticket = text.trim()
  require(ticket.startsWith(PREFIX), 'bad ticket', `A ticket starts with ${PREFIX}.`)
  require(ticket.length <= MOST_CHARACTERS, 'bad ticket', `A ticket has at most ${MOST_CHARACTERS} characters.`)
  const data = base32(ticket.slice(PREFIX.length))
  const payload = data.subarray(0, Math.max(0, data.length - 4))
  require(isSame(sha256('gonode/ticket/v1\0', payload).subarray(0, 4), data.subarray(payload.length)), 'bad ticket',
    'The ticket has a typing error or is cut short: its checksum does not fit.')
  return fieldsOf(payload)
}

/**
 * @param {Uint8Array} payload
 * @returns {Ticket}
 */
function fieldsOf (payload) {
  let value
  try {
    value = decode(payload)
  } catch {
    throw new Wrong('bad ticket', "The ticket's content is not canonical.")
  }
  if (!isMap(value) || Object.keys(value).join() !== 'addresses,root,run' || !Array.isArray(value.addresses) ||
      !(value.root instanceof Uint8Array) || !(value.run instanceof Uint8Array)) {
    throw new Wrong('bad ticket', 'The ticket has other fields than run, root and addresses.')
  }
  const { root, run } = value
  require(root.length === 32 && run.length === 32, 'bad ticket', "A ticket's run id and root digest have 32 bytes each.")
  const addresses = value.addresses.map((address) => {
    if (typeof address !== 'string' || address.length > 256 || !/^(\/[!-.0-~]+){1,32}$/.test(address)) {
      throw new Wrong('bad ticket', "A ticket's address is not a multiaddress such as /ip4/192.0.2.1/tcp/4001.")
    }
    return address
  })
  require(addresses.length <= MOST_ADDRESSES, 'bad ticket', `A ticket holds at most ${MOST_ADDRESSES} addresses.`)
  return { run, root, addresses }
}

/**
 * @param {string} text base32 in lower case without padding
 * @returns {Uint8Array}
 */
function base32 (text) {
  const bytes = []
  let bits = 0
  let value = 0
  for (const letter of text) {
    const digit = ALPHABET.indexOf(letter)
    require(digit >= 0, 'bad ticket', 'The ticket has a character that is not in its alphabet (a to z, 2 to 7).')
    value = value << 5 | digit
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes.push(value >> bits & 0xff)
      value &= (1 << bits) - 1
    }
  }
  require(bits < 5 && value === 0, 'bad ticket', 'The ticket has a typing error: it is not written the one way it can be.')
  return Uint8Array.from(bytes)
}
