// Joins the run of a ticket as a stranger would, and prints what it found as one JSON object.
//
//     node client.js TICKET [--heads N] [--within SECONDS] [--blob DIGEST]...
//
// It ends once it heard N announced heads and followed the log to each, or after that many seconds.

import { parseArgs } from 'node:util'

import { fetchBlob } from './blob.js'
import { hex, isSame, require, sha256 } from './belief.js'
import { Log } from './log.js'
import { connect, followHeads, openPeer } from './peer.js'
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

const ticket = readTicket(text ?? '')
const peer = await openPeer()
try {
  const connection = await connect(peer.node, ticket.addresses)
  const identity = await peer.node.services.identify.identify(connection)
  const log = new Log(ticket)
  await log.begin(connection)
  const heard = hear(log, connection, Number(options.heads))
  const cosigned = await log.follow(connection, 'cosigned')
  const head = await log.follow(connection)
  const result = {
    peer: connection.remotePeer.toString(),
    address: connection.remoteAddr.toString(),
    protocols: identity.protocols,
    ping_ms: await peer.node.services.ping.ping(connection.remotePeer),
    run: hex(ticket.run),
    head: shown(head),
    cosigned: shown(cosigned),
    release: await fetchRelease(log.newestRelease(cosigned.size), connection),
    blobs: await Promise.all(options.blob.map((digest) => fetchNamed(digest, connection)))
  }
  await heard.until(Number(options.within))
  console.log(JSON.stringify({ ...result, heads: heard.heads.map(shown), size: log.size, exchanges: peer.exchanges }))
} finally {
  await peer.node.stop()
}

/** Follows the log to each announced head, in turn; `heads` has those that it reached. */
function hear (log, connection, count) {
  const heads = []
  const { promise, resolve, reject } = Promise.withResolvers()
  followHeads(peer.node, ticket.run, (note) => {
    const head = log.headIn(note)
    log.followTo(connection, head).then(() => {
      if (heads.push(head) >= count) {
        resolve()
      }
    }).catch(reject)
  })
  const until = (seconds) => {
    const timer = setTimeout(resolve, seconds * 1000)
    return promise.finally(() => clearTimeout(timer))
  }
  return { heads, until }
}

/** What a release's network is, fetched by its digest and checked; null if there is no release. */
async function fetchRelease (release, connection) {
  if (release === undefined) {
    return null
  }
  const chunks = await fetchBlob(connection, release.network_blob, release.network_len)
  require(isSame(sha256(...chunks), release.network), "the network's SHA-256")
  return { number: release.number, name: release.name, network: hex(release.network), ...measured(chunks) }
}

async function fetchNamed (digest, connection) {
  const chunks = await fetchBlob(connection, Buffer.from(digest, 'hex'), MOST_BLOB_BYTES)
  return { digest, sha256: hex(sha256(...chunks)), ...measured(chunks) }
}

function measured (chunks) {
  return { bytes: chunks.reduce((sum, chunk) => sum + chunk.length, 0), chunks: chunks.length }
}

function shown ({ size, rootHash, cosigned }) {
  return { size, root_hash: hex(rootHash), cosigned }
}
