// Frames and calls (docs/spec/wire.md, "Frames" and "Calls").

import { byteStream } from '@libp2p/utils'

import { NotBelieved, Refused } from './belief.js'

const MOST_BYTES = 2 << 20
const STALL_MS = 60_000

/** The answer to one call; throws Refused, NotBelieved, or what the stream threw. */
export async function call (connection, protocol, request, withinMs) {
  const signal = AbortSignal.timeout(withinMs)
  const stream = await connection.newStream(protocol, { signal })
  try {
    const frames = byteStream(stream)
    await writeFrame(frames, request, signal)
    const reply = await readFrame(frames, MOST_BYTES, signal)
    await stream.close({ signal })
    return answerIn(reply)
  } catch (error) {
    stream.abort(error)
    throw error
  }
}

/**
 * Answers calls on `protocol` from now on by what `answer(request, connection)` gives; a Refused that it throws goes
 * to the asker, anything else resets the stream.
 */
export async function serve (node, protocol, answer, mostBytes = 256) {
  await node.handle(protocol, async (stream, connection) => {
    try {
      const frames = byteStream(stream)
      const signal = AbortSignal.timeout(STALL_MS)
      const request = await readFrame(frames, mostBytes, signal)
      await writeFrame(frames, await replyOf(answer, request, connection), signal)
      await stream.close({ signal })
    } catch (error) {
      stream.abort(error)
    }
  })
}

async function replyOf (answer, request, connection) {
  try {
    return Buffer.concat([Buffer.of(0), await answer(request, connection)])
  } catch (error) {
    if (error instanceof Refused || error instanceof NotBelieved) {
      return Buffer.concat([Buffer.of(1), Buffer.from(error.message)])
    }
    throw error
  }
}

function answerIn (reply) {
  switch (reply[0]) {
    case 0: return reply.subarray(1)
    case 1: throw new Refused(reply.toString('utf8', 1))
    default: throw new NotBelieved('a reply begins with 0 or 1')
  }
}

async function readFrame (frames, mostBytes, signal) {
  const length = (await frames.read({ bytes: 4, signal })).getUint32(0)
  if (length > mostBytes) {
    throw new NotBelieved(`a frame of at most ${mostBytes} bytes`)
  }
  return length === 0 ? Buffer.alloc(0) : Buffer.from((await frames.read({ bytes: length, signal })).subarray())
}

async function writeFrame (frames, bytes, signal) {
  const frame = Buffer.alloc(4 + bytes.length)
  frame.writeUInt32BE(bytes.length)
  frame.set(bytes, 4)
  await frames.write(frame, { signal })
}
