// A session of Sabaki with an engine: attaches it, walks through a game, has it analyse, has it move, detaches it.
// `node session.js SYNCER COMMAND ARGUMENT...` prints what was found as one JSON object; SYNCER is a module.

import { boardAt, parseTree } from './record.js'

const GAME = '(;GM[1]FF[4]SZ[9]KM[0.5]HA[2]AB[cc][gg];W[eg];B[ce](;W[fc];B[dc];W[])(;W[gc];B[]' +
  ';W[fd];AB[aa][ba]AW[hh]AE[cc];B[hi]))'
const STONES = '(;SZ[9]KM[6.5]AB[aa][ba][bb][cb]AW[ca][ab][ac]AB[ii];B[da])'

const [module, path, ...args] = process.argv.slice(2)
const { EngineSyncer } = await import(module)
const syncer = new EngineSyncer(path, args)
const found = { attached: await syncer.start(), boards: [], analyses: {} }

for (const [name, text] of [['game', GAME], ['stones', STONES]]) {
  const tree = parseTree(text)
  const nodes = [...tree.listNodes()].map(({ id }) => id)
  // Forth through every variation, back again, and once across.
  for (const id of [...nodes, ...nodes.toReversed(), nodes.at(-1), nodes[0], nodes.at(-1)]) {
    await syncer.sync(tree, id)
    const shown = await syncer.queueCommand({ name: 'showboard' })
    found.boards.push({ name, id, wanted: boardAt(tree, id).signMap, shown: shown.content })
  }
}

const tree = parseTree(GAME)
const nodes = [...tree.listNodes()].map(({ id }) => id)
for (const name of ['kata-analyze', 'lz-analyze']) {
  const before = syncer.analyses.length
  await syncer.sync(tree, nodes[2])
  const answer = syncer.queueCommand({ name, args: ['W', '10'] })
  while (syncer.analyses.length < before + 2) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await syncer.sendAbort()
  found.analyses[name] = { ...(await answer), lines: syncer.analyses.slice(before) }
}

// Somebody leafs through the game while it analyses: each node is synced, and analysed until the next one.
const began = Date.now()
const answers = []
for (const id of nodes) {
  await syncer.sync(tree, id)
  answers.push(syncer.queueCommand({ name: 'kata-analyze', args: ['B', '10'] }))
}
await syncer.sendAbort()
found.leafed = { ms: Date.now() - began, errors: (await Promise.all(answers)).map(({ error }) => error) }

found.moves = []
for (const name of ['genmove', 'kata-genmove_analyze', 'lz-genmove_analyze']) {
  await syncer.sync(tree, nodes[2])
  const lines = []
  const args = name === 'genmove' ? ['W'] : ['W', '10']
  const answer = await syncer.queueCommand({ name, args }, ({ line }) => lines.push(line))
  found.moves.push({ name, ...answer, lines, history: syncer.stateTracker.state.history.at(-1) })
}

found.failed = (await Promise.all(syncer.sent.map(async ({ command, getResponse }) => {
  const { error } = await getResponse()
  return error ? [command.name, ...command.args].join(' ') : null
}))).filter((each) => each != null)
found.sent = [...new Set(syncer.sent.map(({ command }) => command.name))].sort()
const { pid } = syncer.controller.process
await syncer.stop()
found.process = pid
console.log(JSON.stringify(found))
