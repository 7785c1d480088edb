// Copies the log of a ticket's run once, and serves it and the given files to other peers until standard input ends.
//
//     node mirror.js TICKET FILE...
//
// Prints one JSON object when it serves: its address, the log's size and the files' digests.

import { readFileSync } from 'node:fs'

import { hex, run } from './belief.js'
import { Blobs } from './blob.js'
import { Log } from './log.js'
import { openLink, openPeer } from './peer.js'
import { readTicket } from './ticket.js'
import { serve } from './wire.js'

const [text, ...files] = process.argv.slice(2)

await run(async () => {
  const ticket = readTicket(text ?? '')
  const node = await openPeer()
  try {
    const log = await copyLog(node, ticket)
    const blobs = new Blobs()
    const digests = files.map((file) => hex(blobs.put(readFileSync(file))))
    await serve(node, '/gonode/log/1', (request) => log.answer(request))
    await serve(node, '/gonode/blob/1', (request) => blobs.answer(request), 1_024)
    console.log(JSON.stringify({ address: node.getMultiaddrs()[0].toString(), size: log.size, blobs: digests }))
    await untilInputEnds()
  } finally {
    await node.stop()
  }
})

async function copyLog (node, ticket) {
  const { ask } = await openLink(node, ticket.addresses)
  const log = new Log(ticket)
  await log.begin(ask)
  await log.follow(ask)
  return log
}

function untilInputEnds () {
  return new Promise((resolve) => process.stdin.on('end', resolve).resume())
}
