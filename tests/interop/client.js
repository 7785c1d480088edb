// Joins the run of a ticket as a stranger would, and prints what it found as one JSON object.
//
//     node client.js TICKET [--heads N] [--within SECONDS] [--blob DIGEST]...
//
// It ends once it heard N announced heads and followed the log to each, or after that many seconds. Standard error
// has a line for each, and one once all else is found.

import { once } from 'node:events'
import { parseArgs } from 'node:util'

import { fetchBlob } from './blob.js'
import { hex, isSame, NotBelieved, require, run, sha256 } from './belief.js'
import { Log } from './log.js'
import { followHeads, openLink, openPeer } from './peer.js'
import { readTicket } from './ticket.js'

const MOST_BLOB_BYTES = 256 << 20

const { values: options, positionals: [text] } = parseArgs({
  allowPositionals: true,
  options: {
    blob: { type: 'string', multiple: true, default: [] },
    heads: { type: 'string', default: '3' },
    within: { type: 'string', default: '30' }
  }
})

await run(async () => {
  const ticket = readTicket(text ?? '')
  const node = await openPeer()
  try {
    console.log(JSON.stringify(await join(ticket, node)))
  } finally {
    await node.stop()
  }
})

async function join (ticket, node) {
  const { connection, identity, ask } = await openLink(node, ticket.addresses)
  const log = new Log(ticket)
  await log.begin(ask)
  const heads = hear(node, ticket.run, log, ask)
  const { head, cosigned } = await log.follow(ask)
  require(cosigned !== undefined, 'a head that enough verifiers cosigned')
  const found = {
    peer: connection.remotePeer.toString(),
    address: connection.remoteAddr.toString(),
    protocols: identity.protocols,
    ping_ms: await node.services.ping.ping(connection.remotePeer),
    run: hex(ticket.run),
    head: shown(head),
    cosigned: shown(cosigned),
    release: await fetchRelease(log.newestRelease(cosigned.size), ask),
    blobs: await Promise.all(options.blob.map((digest) => fetchNamed(digest, ask)))
  }
  console.error('joined')
  const heard = await heads(Number(options.heads), Number(options.within))
  return { ...found, heads: heard.map(shown), size: log.size }
}

/**
 * Follows the log to each head that is announced from now on, and says so on standard error. Gives a function of (count,
 * seconds) that waits for so many heads, so long at most, and gives those that were reached.
 */
function hear (node, run, log, ask) {
  const heads = []
  const changes = new EventTarget()
  let lie
  followHeads(node, run, (note) => log.headIn(note), async (head) => {
    try {
      await log.followTo(ask, head)
      heads.push(head)
      console.error(`heard ${head.size}`)
    } catch (error) {
      lie ??= error instanceof NotBelieved ? error : undefined // else the link ended: the next head leads here as well
    }
    changes.dispatchEvent(new Event('change'))
  })
  return async (count, seconds) => {
    const late = AbortSignal.timeout(seconds * 1000)
    while (heads.length < count && lie === undefined && !late.aborted) {
      await once(changes, 'change', { signal: late }).catch(() => {})
    }
    require(lie === undefined, lie?.message)
    return heads
  }
}

/** What a release's network is, fetched by its digest and checked; null if there is no release. */
async function fetchRelease (release, ask) {
  if (release === undefined) {
    return null
  }
  const chunks = await fetchBlob(ask, release.network_blob, release.network_len)
  require(isSame(sha256(...chunks), release.network), "the network's SHA-256")
  return { number: release.number, name: release.name, network: hex(release.network), ...measured(chunks) }
}

async function fetchNamed (digest, ask) {
  const chunks = await fetchBlob(ask, Buffer.from(digest, 'hex'), MOST_BLOB_BYTES)
  return { digest, sha256: hex(sha256(...chunks)), ...measured(chunks) }
}

function measured (chunks) {
  return { bytes: chunks.reduce((sum, chunk) => sum + chunk.length, 0), chunks: chunks.length }
}

function shown ({ size, rootHash, cosigned }) {
  return { size, root_hash: hex(rootHash), cosigned }
}
