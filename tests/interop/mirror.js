// Copies the log of a ticket's run once, and serves it and the given files to other peers until standard input ends.
//
//     node mirror.js TICKET FILE...
//
// Prints one JSON object when it serves: its address, the log's size and the files' digests.

import { readFileSync } from 'node:fs'

import { hex } from './belief.js'
import { Blobs } from './blob.js'
import { Log } from './log.js'
import { connect, openPeer } from './peer.js'
import { readTicket } from './ticket.js'
import { serve } from './wire.js'

const [text, ...files] = process.argv.slice(2)
const ticket = readTicket(text ?? '')
const { node } = await openPeer()
const connection = await connect(node, ticket.addresses)
const log = new Log(ticket)
await log.begin(connection)
await log.follow(connection, 'cosigned')
await log.follow(connection)
await connection.close()

const blobs = new Blobs()
const digests = files.map((file) => hex(blobs.put(readFileSync(file))))
await serve(node, '/gonode/log/1', (request) => log.answer(request))
await serve(node, '/gonode/blob/1', (request) => blobs.answer(request))
console.log(JSON.stringify({ address: node.getMultiaddrs()[0].toString(), size: log.size, blobs: digests }))

for await (const _ of process.stdin) {
  // Nothing is asked here; the end of the input is the order to stop.
}
await node.stop()
