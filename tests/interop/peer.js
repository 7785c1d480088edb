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

import { hex, NotBelieved, Unreachable } from './belief.js'
import { encode, isListOf, isText, parse } from './canonical.js'
import { serve } from './wire.js'

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
  const peer = { node, exchanges: 0 }
  await serve(node, '/gonode/peers/1', (request) => {
    parse(request, { addresses: isListOf(isText) })
    peer.exchanges++
    return encode({ addresses: [] })
  }, 16_384)
  return peer
}

/** A connection to the first of `addresses` where the peer that it names answers; throws Unreachable. */
export async function connect (node, addresses) {
  const failures = []
  for (const address of addresses) {
    try {
      return await node.dial(multiaddr(address), { signal: AbortSignal.timeout(10_000) })
    } catch (error) {
      failures.push(`${address} (${error.message})`)
    }
  }
  throw new Unreachable(failures.join(', ') || 'the ticket has no address')
}

/** Calls `onNote` with each new note on the run's topic; one that it throws NotBelieved for is not passed on. */
export function followHeads (node, run, onNote) {
  const topic = `gonode/${hex(run).slice(0, 16)}/heads`
  const { pubsub } = node.services
  pubsub.topicValidators.set(topic, (_from, message) => {
    try {
      if (message.data.length <= MOST_NOTE_BYTES) {
        onNote(message.data)
        return TopicValidatorResult.Accept
      }
    } catch (error) {
      if (!(error instanceof NotBelieved)) {
        throw error
      }
    }
    return TopicValidatorResult.Ignore
  })
  pubsub.subscribe(topic)
}
