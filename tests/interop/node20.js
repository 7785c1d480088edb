// What js-libp2p takes for granted and Node 20 lacks. Import this before libp2p.

import { WebSocket } from 'ws'

globalThis.WebSocket ??= WebSocket

Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new this((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}
