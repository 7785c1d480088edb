// Which batches are released to training at an entry (docs/spec/admission.md, "Hold-back"; verification/identities.py).
//
// It follows what happens to contributors in an ordinary run: admissions, hold-back, probation, accusations, gaps and exits,
// ringers, withdrawals. What it does not follow puts contributors in doubt: then only the whole state of `gonode audit` can
// tell which of their batches are released. Everybody else's are exact all the same.

import { bytesOf, count, hexOf, hexesOf, mapOf, mapsOf, text } from './records.js'

/** @typedef {import('./records.js').Entry} Entry */
/** @typedef {import('./canonical.js').Fields} Fields */

/**
 * A logged batch. `owner`: whose seeds its games have; `gap`: what it fills in; `accepting`: verifiers whose verdict accepts it; `judges`: all with a verdict on it;
 * `orders`: exits that it waits for.
 * @typedef {{entry: Entry, peer: string, owner: string, release: string, first: number, gap: Gap | undefined, games: number, plies: number, admitted: number | undefined, outcome: string,
 *   verifier: string, accepting: Set<string>, judges: Set<string>, isDropped: boolean, isLeaving: boolean, orders: Set<number>}} Batch
 */

/**
 * Games of a lost batch, which hold what comes after them until `filler` is accepted; up to `lastIndex` others may try.
 * @typedef {{owner: string, release: string, first: number, lastIndex: number, filler: Batch | undefined}} Gap
 */

/** What of the released batches is not sure: what brought it about, and how few and how many plies they can have. @typedef {{causes: string[], least: number, most: number}} Doubt */

class Contributor {
  /** Batches with games, not lost or dropped: the first ones are the probation. @type {Batch[]} */
  first = []
  /** @type {Batch[]} */
  held = []
  /** @type {Batch[]} */
  batches = []
  /** Entries of accepted batches with games, sorted. @type {number[]} */
  accepted = []
  /** Checks whose verdict accuses it, not decided yet. @type {Map<string, Batch>} */
  accusing = new Map()
  isOut = false

  /**
   * @param {number} index
   * @returns {number} how many accepted batches lie before an entry
   */
  placeOf (index) {
    let low = 0
    let high = this.accepted.length
    while (low < high) {
      const middle = low + high >> 1
      if (/** @type {number} */ (this.accepted[middle]) < index) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  /**
   * @param {Batch} batch
   * @param {boolean} isFirst leaves the probation as well
   */
  remove (batch, isFirst) {
    this.held = this.held.filter((each) => each !== batch)
    if (isFirst) {
      this.first = this.first.filter((each) => each !== batch)
    }
  }
}

export class Released {
  /** By log index. @type {Map<number, Batch>} */
  batches = new Map()
  /** @type {Map<string, Contributor>} */
  contributors = new Map()
  /** @type {Set<Batch>} */
  #released = new Set()
  /** What happened that this file does not follow, and to which contributors. @type {{cause: string, peers: Set<string>}[]} */
  #doubts = []
  /** @type {Map<string, number>} entries of batches by digest of their headers */
  #byDigest = new Map()
  /** @type {Map<number, string>} names of entries that order checks */
  #orders = new Map()
  /** @type {Gap[]} */
  #gaps = []
  /** @type {import('./roots.js').Root | undefined} */
  #root
  #timeout = 0
  #probation = 0
  #holdBack = 0

  /** The released batches of contributors whom no verdict accuses, in log order. */
  get list () {
    return [...this.#released].filter((each) => this.#of(each).accusing.size === 0)
      .sort((one, other) => one.entry.index - other.entry.index)
  }

  /** @returns {Doubt} about the batches that are released now */
  doubt () {
    const held = this.#doubts.filter(({ peers }) => [...peers].some((peer) => this.contributors.get(peer)?.batches.some(({ plies }) => plies > 0)))
    const doubted = new Set(held.flatMap(({ peers }) => [...peers]))
    /** @param {Batch[]} batches */
    const pliesOf = (batches) => batches.reduce((sum, { plies }) => sum + plies, 0)
    const least = pliesOf(this.list.filter(({ peer }) => !doubted.has(peer)))
    const theirs = [...doubted].map((peer) => pliesOf(this.contributors.get(peer)?.batches ?? []))
    return { causes: held.map(({ cause }) => cause), least, most: theirs.reduce((sum, each) => sum + each, least) }
  }

  /**
   * @param {Entry} entry the next one
   * @param {import('./roots.js').Root} root in force
   */
  apply (entry, root) {
    this.#follow(entry, root)
    for (const gap of this.#gaps.filter(({ filler }) => filler === undefined)) {
      this.#settle(gap, entry.index + 1)
    }
  }

  /**
   * @param {Entry} entry
   * @param {import('./roots.js').Root} root
   */
  #follow (entry, root) {
    const { index, name, record } = entry
    switch (name) {
      case 'manifest': {
        const policy = mapOf(record, 'admission')
        this.#probation = count(policy, 'probation_batches')
        this.#holdBack = count(policy, 'hold_back_batches')
        this.#timeout = count(policy, 'timeout_entries')
        return
      }
      case 'batch-header': return this.#addBatch(entry)
      case 'verdict': return this.#hear(record)
      case 'admission': return mapsOf(record, 'decisions').forEach((decision) => this.#decide(decision, index))
      case 'ban': return this.#ban(hexOf(record, 'subject'), index, root)
      case 'exit': return hexesOf(record, 'peers').forEach((peer) => this.#exit(peer, index))
      case 'ringer-reveal': return this.#retire(record, index)
      case 'root': {
        const revoked = revokedBy(root, this.#root, index)
        this.#root = root
        return revoked.forEach((verifier) => this.#doubtJudge(verifier, `a root at entry ${index}`))
      }
      case 'void-epoch': return this.#doubtJudge(hexOf(record, 'verifier'), `a ${name} at entry ${index}`)
      case 'pardon': return this.#doubt(`a ${name} at entry ${index}`, hexOf(record, 'subject'))
      case 'key-replacement':
        return this.#doubt(`a ${name} at entry ${index}`, hexOf(record, 'peer'), hexOf(record, 'replacement'))
      case 'epoch-reveal': return void this.#orders.set(index, name)
      case 'scrutiny': {
        const contributor = this.contributors.get(hexOf(record, 'peer'))
        if (contributor !== undefined && record.restart === true) {
          contributor.first = []
        }
      }
    }
  }

  /**
   * @param {string} cause
   * @param {...string} peers contributors of whom this file does not know any more what is released
   */
  #doubt (cause, ...peers) {
    this.#doubts.push({ cause, peers: new Set(peers) })
  }

  /**
   * @param {string} verifier whose verdicts up to now are looked at again
   * @param {string} cause
   */
  #doubtJudge (verifier, cause) {
    this.#doubt(cause, ...[...this.batches.values()].filter(({ judges }) => judges.has(verifier)).map(({ peer }) => peer))
  }

  /** @param {Entry} entry */
  #addBatch (entry) {
    const { index, record, envelope } = entry
    const peer = hexOf(record, 'peer')
    const owner = hexOf(record, 'fill_for') || peer
    const release = hexOf(record, 'release')
    const first = count(record, 'first_counter')
    const gap = bytesOf(record, 'fill_for').length === 0
      ? undefined
      : this.#gaps.find((each) => each.owner === owner && each.release === release && each.first === first)
    const batch = {
      entry,
      peer,
      owner,
      release,
      first,
      gap,
      games: count(record, 'games'),
      plies: count(record, 'plies'),
      admitted: undefined,
      outcome: '',
      verifier: '',
      accepting: new Set(),
      judges: new Set(),
      isDropped: false,
      isLeaving: false,
      orders: new Set()
    }
    const contributor = this.contributors.get(peer) ?? new Contributor()
    this.contributors.set(peer, contributor)
    contributor.batches.push(batch)
    contributor.held.push(batch)
    if (batch.games > 0) {
      contributor.first.push(batch)
    }
    if (gap !== undefined) {
      gap.filler = batch
    }
    this.batches.set(index, batch)
    this.#byDigest.set(envelope.digest.join(), index)
  }

  /** @param {Fields} verdict one that accuses suspends the contributor until it is decided */
  #hear (verdict) {
    const index = verdict.subject instanceof Uint8Array ? this.#byDigest.get(verdict.subject.join()) : undefined
    const batch = index === undefined ? undefined : this.batches.get(index)
    if (batch === undefined) {
      return
    }
    const verifier = hexOf(verdict, 'verifier')
    batch.judges.add(verifier)
    if (text(verdict, 'outcome') === 'accept') {
      batch.accepting.add(verifier)
    }
    if (!['', 'blob'].includes(text(verdict, 'evidence'))) {
      this.#of(batch).accusing.set(`${index} ${verdict.index} ${verifier}`, batch)
    }
  }

  /**
   * @param {Fields} decision
   * @param {number} index
   */
  #decide (decision, index) {
    const batch = this.batches.get(count(decision, 'index'))
    if (batch === undefined) {
      return
    }
    const contributor = this.#of(batch)
    const outcome = text(decision, 'outcome')
    const order = count(decision, 'order')
    const isFirst = order === batch.entry.index
    if (isFirst && batch.isDropped) {
      return
    }
    for (const [name, accused] of contributor.accusing) {
      if (accused === batch && (isFirst || name.startsWith(`${batch.entry.index} ${order} `))) {
        contributor.accusing.delete(name)
      }
    }
    if (!isFirst) {
      batch.orders.delete(order)
      if (outcome === 'lost' && this.#orders.has(order)) {
        this.#doubt(`a check ordered at entry ${order} that is lost`, batch.peer)
      } else if (outcome !== 'accepted') {
        this.#withdraw(batch, index)
      }
    } else {
      batch.outcome = outcome
      batch.verifier = hexOf(decision, 'verifier')
      if (outcome === 'accepted') {
        batch.admitted = index
        if (batch.games > 0) {
          contributor.accepted.splice(contributor.placeOf(batch.entry.index), 0, batch.entry.index)
        }
      } else {
        contributor.remove(batch, true)
      }
      this.#settleGap(batch, index)
    }
    if (outcome === 'rejected') {
      this.#expel(contributor, index)
    }
    this.#release(contributor)
  }

  /**
   * @param {Batch} batch a decided one: it filled in games, or failed to; or its own are lost, so that others may play them
   * @param {number} index
   */
  #settleGap (batch, index) {
    const isFilling = batch.entry.record.fill_for instanceof Uint8Array && batch.entry.record.fill_for.length > 0
    if (batch.gap !== undefined && batch.outcome === 'accepted') {
      this.#gaps = this.#gaps.filter((each) => each !== batch.gap)
      const owner = this.contributors.get(batch.owner)
      if (owner !== undefined) {
        this.#release(owner)
      }
    } else if (batch.gap !== undefined) {
      this.#reopen(batch.gap, index)
    } else if (batch.outcome === 'lost' && batch.games > 0 && !isFilling) {
      const { owner, release, first } = batch
      this.#gaps.push({ owner, release, first, lastIndex: index + this.#timeout, filler: undefined })
    }
  }

  /**
   * @param {Gap} gap
   * @param {number} index
   */
  #reopen (gap, index) {
    gap.filler = undefined
    gap.lastIndex = index + this.#timeout
  }

  /**
   * Closes a gap whose owner is out; where nobody filled it in time, the series ends there.
   * @param {Gap} gap
   * @param {number} size
   */
  #settle (gap, size) {
    const owner = this.contributors.get(gap.owner)
    if (!this.#gaps.includes(gap) || owner === undefined) {
      return
    }
    if (owner.isOut) {
      this.#gaps = this.#gaps.filter((each) => each !== gap)
    } else if (size > gap.lastIndex) {
      /** @param {Batch | Gap} each */
      const isOfSeries = (each) => each.owner === gap.owner && each.release === gap.release
      this.#drop(owner, owner.held.filter((each) => isOfSeries(each) && each.first > gap.first), size - 1)
      this.#gaps = this.#gaps.filter((each) => !isOfSeries(each) || each.first < gap.first || each.filler !== undefined)
      this.#release(owner)
    }
  }

  /**
   * @param {Contributor} contributor
   * @param {Batch[]} batches of it that will never be released
   * @param {number} index
   */
  #drop (contributor, batches, index) {
    for (const batch of batches) {
      if (batch.gap !== undefined && batch.outcome === '' && !batch.isDropped) {
        this.#reopen(batch.gap, index)
      }
      batch.isDropped = true
    }
    contributor.held = contributor.held.filter((each) => !each.isDropped)
    contributor.first = contributor.first.filter((each) => each.admitted !== undefined || !each.isDropped)
    for (const [name, batch] of contributor.accusing) {
      if (batch.isDropped) {
        contributor.accusing.delete(name)
      }
    }
  }

  /** @param {Batch} batch */
  #isBlocked (batch) {
    const isHeld = batch.peer === batch.owner && this.#gaps.some((gap) =>
      gap.owner === batch.owner && gap.release === batch.release && gap.first < batch.first)
    return isHeld || batch.orders.size > 0
  }

  /** @param {Contributor} contributor */
  #release (contributor) {
    const first = contributor.first.slice(0, this.#probation)
    const isPassed = first.length === this.#probation && first.every((each) => each.admitted !== undefined)
    if (contributor.isOut || contributor.accusing.size > 0 || !isPassed) {
      return
    }
    const mayLeave = contributor.held.every((each) => !each.isLeaving || !this.#isBlocked(each))
    for (const batch of [...contributor.held]) {
      if (batch.outcome === '' && !batch.isDropped) {
        break // what is released rests on the draws of all that came before it
      }
      const later = contributor.accepted.length - contributor.placeOf(batch.entry.index + 1)
      const isDue = later >= this.#holdBack || (batch.isLeaving && mayLeave)
      if (batch.admitted !== undefined && isDue && !this.#isBlocked(batch)) {
        contributor.remove(batch, false)
        this.#released.add(batch)
      }
    }
  }

  /**
   * @param {Batch} batch one that is found to be wrong, or is gone, after it was accepted
   * @param {number} index
   */
  #withdraw (batch, index) {
    const contributor = this.#of(batch)
    if (batch.gap !== undefined && batch.outcome === '' && !batch.isDropped) {
      this.#reopen(batch.gap, index)
    }
    batch.isDropped = true
    contributor.remove(batch, batch.admitted === undefined)
    contributor.accepted = contributor.accepted.filter((index) => index !== batch.entry.index)
    this.#released.delete(batch)
  }

  /**
   * @param {Contributor} contributor of whom nothing is released any more
   * @param {number} index
   */
  #expel (contributor, index) {
    contributor.isOut = true
    const accused = new Set(contributor.accusing.values())
    this.#drop(contributor, contributor.held.filter((each) => each.outcome !== '' || !accused.has(each)), index)
  }

  /**
   * @param {string} subject
   * @param {number} index
   * @param {import('./roots.js').Root} root
   */
  #ban (subject, index, root) {
    const contributor = this.contributors.get(subject)
    if (contributor !== undefined) {
      this.#expel(contributor, index)
      contributor.batches.forEach((each) => this.#released.delete(each))
    } else if (root.roles.some((role) => role.key === subject)) {
      this.#doubtJudge(subject, `the ban of a verifier at entry ${index}`)
    }
  }

  /**
   * @param {string} peer
   * @param {number} index
   */
  #exit (peer, index) {
    const contributor = this.contributors.get(peer)
    if (contributor === undefined) {
      return
    }
    for (const batch of contributor.held) {
      if (batch.admitted !== undefined && !batch.isLeaving) {
        batch.isLeaving = true
        if (batch.games > 0) {
          batch.orders.add(index)
        }
      }
    }
    this.#release(contributor)
  }

  /**
   * @param {Fields} reveal the contributor was the coordinator's own
   * @param {number} index
   */
  #retire (reveal, index) {
    const batch = this.batches.get(count(reveal, 'index'))
    if (batch !== undefined) {
      const contributor = this.#of(batch)
      contributor.accusing.clear()
      this.#expel(contributor, index)
      contributor.batches.forEach((each) => this.#released.delete(each))
    }
  }

  /** @param {Batch} batch */
  #of (batch) {
    return /** @type {Contributor} */ (this.contributors.get(batch.peer))
  }
}

/**
 * Verifiers whose verdicts a root version calls invalid although they were logged before it, so that batches are looked at again.
 * @param {import('./roots.js').Root} root
 * @param {import('./roots.js').Root | undefined} before
 * @param {number} index
 * @returns {string[]}
 */
function revokedBy (root, before, index) {
  return root.roles.filter(({ role, key, invalidFrom }) => {
    const known = before?.roles.find((each) => each.key === key)
    return role === 'verifier' && known !== undefined && invalidFrom < index && invalidFrom < known.invalidFrom
  }).map(({ key }) => key)
}
