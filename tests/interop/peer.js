// A js-libp2p host as the run wants it (docs/spec/wire.md, "Connection", "Peers" and "Gossip").

import './node20.js'

import { gossipsub, TopicValidatorResult } from '@libp2p/gossipsub'
import { identify } from '@libp2p/identify'
import { noise } from '@libp2p/noise'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { webSockets } from '@libp2p/websockets'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'

import { hex, NotBelieved, require, Unreachable } from './belief.js'
import { encode, isListOf, isText, parse } from './canonical.js'
import { call, serve } from './wire.js'

const DIAL_MS = 10_000
const DIAL_AGAIN_MS = 1_000
const MOST_NOTE_BYTES = 8192

/** A running host that listens on loopback and keeps its links by answering `/gonode/peers/1`. */
export async function openPeer () {
  const node = await createLibp2p({
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp(), webSockets()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify({ runOnConnectionOpen: false }), ping: ping(), pubsub: gossipsub() }
  })
  await serve(node, '/gonode/peers/1', (request) => {
    parse(request, { addresses: isListOf(isText) })
    return encode({ addresses: [] })
  }, 16_384)
  return node
}

/**
 * A link to the first of `addresses` where the peer that it names answers; throws Unreachable. It is made again when it
 * ends, until the host stops. `ask(protocol, request, withinMs)` gives the answer to a call; `identity` is what the
 * peer says of itself.
 */
export async function openLink (node, addresses) {
  const link = { ask: (protocol, request, withinMs) => call(link.connection, protocol, request, withinMs) }
  const open = async () => {
    link.connection = await dial(node, addresses)
    link.identity = await node.services.identify.identify(link.connection)
  }
  const openAgain = () => {
    if (node.status === 'started') {
      open().catch(() => setTimeout(openAgain, DIAL_AGAIN_MS))
    }
  }
  await open()
  node.addEventListener('connection:close', ({ detail }) => detail === link.connection && openAgain())
  return link
}

async function dial (node, addresses) {
  const failures = []
  for (const address of addresses) {
    try {
      return await node.dial(multiaddr(address), { signal: AbortSignal.timeout(DIAL_MS) })
    } catch (error) {
      failures.push(`${address} (${error.message})`)
    }
  }
  throw new Unreachable(failures.join(', ') || 'the ticket has no address')
}

/** Calls `onHead` with what `headIn` makes of each new note on the run's topic; what it does not believe is not passed on. */
export function followHeads (node, run, headIn, onHead) {
  const topic = `gonode/${hex(run).slice(0, 16)}/heads`
  const { pubsub } = node.services
  pubsub.topicValidators.set(topic, (_from, { data }) => {
    try {
      require(data.length <= MOST_NOTE_BYTES, `a note of at most ${MOST_NOTE_BYTES} bytes`)
      onHead(headIn(data))
      return TopicValidatorResult.Accept
    } catch (error) {
      if (!(error instanceof NotBelieved)) {
        throw error
      }
      return TopicValidatorResult.Ignore
    }
  })
  pubsub.subscribe(topic)
}
