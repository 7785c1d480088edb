// The ticket (docs/spec/ticket.md).

import { isSame, require, sha256 } from './belief.js'
import { isHash, isListOf, isText, parse } from './canonical.js'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

const isAddress = (value) => isText(value) && /^\/[!-~]{0,255}$/.test(value)
const isAddresses = (value) => isListOf(isAddress)(value) && value.length <= 16

/** `{addresses, root, run}` of a ticket; throws NotBelieved. */
export function readTicket (text) {
  const [, body] = /^gonode1([a-z2-7]+)$/.exec(text.trim()) ?? []
  require(body !== undefined && text.length <= 4096, 'a ticket begins with gonode1')
  const data = base32(body)
  const payload = data.subarray(0, -4)
  require(isSame(sha256('gonode/ticket/v1\0', payload).subarray(0, 4), data.subarray(-4)), "the ticket's checksum")
  return parse(payload, { addresses: isAddresses, root: isHash, run: isHash })
}

function base32 (text) {
  const bytes = []
  let bits = 0
  let held = 0
  for (const letter of text) {
    bits = (bits << 5) | ALPHABET.indexOf(letter)
    held += 5
    if (held >= 8) {
      held -= 8
      bytes.push(bits >> held)
      bits &= (1 << held) - 1
    }
  }
  require(bits === 0 && held < 5, 'base32 without loose bits')
  return Buffer.from(bytes)
}
