// Canonical bytes (docs/spec/canonical.md): msgpack in the one encoding that each value has.
//
// Whole numbers that a double holds exactly are Numbers, others BigInts; bytes are Uint8Arrays, maps objects without a
// prototype. Reading collects what is not canonical until the end, for bytes that are no msgpack at all say so first.

import { compare, utf8 } from './bytes.js'
import { Wrong } from './wrong.js'

/** @typedef {import('../types/values.d.ts').Value} Value */
/** @typedef {import('../types/values.d.ts').Fields} Fields */

const MOST_BYTES = 65_536
const MOST_DEPTH = 8
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * @param {Uint8Array} bytes
 * @param {number} [mostBytes]
 * @returns {Value} what `bytes` is the canonical encoding of; throws Wrong
 */
export function decode (bytes, mostBytes = MOST_BYTES) {
  if (bytes.length > mostBytes) {
    throw new Wrong('too large', `The record has ${bytes.length} bytes; the limit is ${mostBytes}.`)
  }
  const reader = new Reader(bytes)
  const value = reader.value(0)
  if (reader.at !== bytes.length) {
    throw new Wrong('parse error', 'Bytes follow the end of the record.')
  }
  if (!reader.isCanonical) {
    throw new Wrong('not canonical', 'The record is not in its canonical encoding.')
  }
  return value
}

/**
 * @param {Uint8Array} bytes
 * @param {number} [mostBytes]
 * @returns {Fields} the map in `bytes`; throws Wrong
 */
export function decodeMap (bytes, mostBytes) {
  const value = decode(bytes, mostBytes)
  if (!isMap(value)) {
    throw new Wrong('parse error', 'The record is not a map.')
  }
  return value
}

/**
 * @param {Value} value
 * @returns {value is Fields}
 */
export function isMap (value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
}

class Reader {
  at = 0
  isCanonical = true

  /** @param {Uint8Array} bytes */
  constructor (bytes) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /**
   * @param {number} depth how many containers are around the value
   * @returns {Value}
   */
  value (depth) {
    const head = this.uint(1)
    if (head < 0x80) return head
    if (head >= 0xe0) return head - 0x100
    if (head < 0x90) return this.map(head & 15, depth)
    if (head < 0xa0) return this.array(head & 15, depth)
    if (head < 0xc0) return this.text(head & 31)
    switch (head) {
      case 0xc0: return null
      case 0xc2: return false
      case 0xc3: return true
      case 0xc4: return this.take(this.uint(1)).slice()
      case 0xc5: return this.take(this.atLeast(2, 0x100)).slice()
      case 0xc6: return this.take(this.atLeast(4, 0x10000)).slice()
      case 0xcc: return this.atLeast(1, 0x80)
      case 0xcd: return this.atLeast(2, 0x100)
      case 0xce: return this.atLeast(4, 0x10000)
      case 0xcf: return this.long(false)
      case 0xd0: return this.negative(1, -0x20)
      case 0xd1: return this.negative(2, -0x80)
      case 0xd2: return this.negative(4, -0x8000)
      case 0xd3: return this.long(true)
      case 0xd9: return this.text(this.atLeast(1, 32))
      case 0xda: return this.text(this.atLeast(2, 0x100))
      case 0xdb: return this.text(this.atLeast(4, 0x10000))
      case 0xdc: return this.array(this.atLeast(2, 16), depth)
      case 0xdd: return this.array(this.atLeast(4, 0x10000), depth)
      case 0xde: return this.map(this.atLeast(2, 16), depth)
      case 0xdf: return this.map(this.atLeast(4, 0x10000), depth)
    }
    throw new Wrong('parse error', 'The record holds a float or an extension type, or is no msgpack.')
  }

  /**
   * @param {number} length
   * @returns {Uint8Array}
   */
  take (length) {
    const start = this.at
    this.at += length
    if (this.at > this.bytes.length) {
      throw new Wrong('parse error', 'The bytes are not a msgpack record: they are cut short.')
    }
    return this.bytes.subarray(start, this.at)
  }

  /**
   * @param {number} width
   * @returns {number}
   */
  uint (width) {
    return this.take(width).reduce((sum, byte) => sum * 256 + byte, 0)
  }

  /**
   * @param {number} width
   * @param {number} least below it a shorter form exists
   * @returns {number}
   */
  atLeast (width, least) {
    const number = this.uint(width)
    this.isCanonical &&= number >= least
    return number
  }

  /**
   * @param {number} width
   * @param {number} limit from it on a shorter form exists
   * @returns {number}
   */
  negative (width, limit) {
    const unsigned = this.uint(width)
    const number = unsigned >= 2 ** (8 * width - 1) ? unsigned - 2 ** (8 * width) : unsigned
    this.isCanonical &&= number < limit
    return number
  }

  /**
   * @param {boolean} isSigned
   * @returns {number | bigint}
   */
  long (isSigned) {
    this.take(8)
    const number = isSigned ? this.view.getBigInt64(this.at - 8) : this.view.getBigUint64(this.at - 8)
    this.isCanonical &&= isSigned ? number < -0x80000000n : number > 0xffffffffn
    return plain(number)
  }

  /**
   * @param {number} length
   * @returns {string}
   */
  text (length) {
    const bytes = this.take(length)
    try {
      return UTF8.decode(bytes)
    } catch {
      throw new Wrong('parse error', 'A string is not valid UTF-8.')
    }
  }

  /**
   * @param {number} length
   * @param {number} depth
   * @returns {Value[]}
   */
  array (length, depth) {
    requireDepth(depth)
    const items = []
    for (let left = length; left > 0; left--) {
      items.push(this.value(depth + 1))
    }
    return items
  }

  /**
   * @param {number} length
   * @param {number} depth
   * @returns {Fields}
   */
  map (length, depth) {
    requireDepth(depth)
    const fields = Object.create(null)
    let before = null
    for (let left = length; left > 0; left--) {
      const name = this.value(depth + 1)
      if (typeof name !== 'string') {
        throw new Wrong('parse error', 'A map has a key that is not a string.')
      }
      const key = utf8(name)
      this.isCanonical &&= before === null || compare(before, key) < 0
      before = key
      fields[name] = this.value(depth + 1)
    }
    return fields
  }
}

/** @param {number} depth */
function requireDepth (depth) {
  if (depth >= MOST_DEPTH) {
    throw new Wrong('too large', `The record is nested deeper than ${MOST_DEPTH} levels.`)
  }
}

/**
 * @param {bigint} number
 * @returns {number | bigint} a Number where that is exact
 */
function plain (number) {
  return number >= BigInt(Number.MIN_SAFE_INTEGER) && number <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(number) : number
}

/**
 * @param {Value} value one that the format holds
 * @returns {Uint8Array} its canonical bytes
 */
export function encode (value) {
  /** @type {number[]} */
  const out = []
  write(value, out)
  return Uint8Array.from(out)
}

/**
 * @param {Value} value
 * @param {number[]} out
 */
function write (value, out) {
  if (value === null) {
    out.push(0xc0)
  } else if (typeof value === 'boolean') {
    out.push(value ? 0xc3 : 0xc2)
  } else if (typeof value === 'string') {
    const bytes = utf8(value)
    writeHead(bytes.length, out, [[31, 0xa0], [0xff, 0xd9], [0xffff, 0xda], [0xffffffff, 0xdb]])
    bytes.forEach((byte) => out.push(byte))
  } else if (value instanceof Uint8Array) {
    writeHead(value.length, out, [[0xff, 0xc4], [0xffff, 0xc5], [0xffffffff, 0xc6]])
    value.forEach((byte) => out.push(byte))
  } else if (Array.isArray(value)) {
    writeHead(value.length, out, [[15, 0x90], [0xffff, 0xdc], [0xffffffff, 0xdd]])
    value.forEach((item) => write(item, out))
  } else if (isMap(value)) {
    const names = Object.keys(value).sort((one, other) => compare(utf8(one), utf8(other)))
    writeHead(names.length, out, [[15, 0x80], [0xffff, 0xde], [0xffffffff, 0xdf]])
    for (const name of names) {
      write(name, out)
      write(/** @type {Value} */ (value[name]), out)
    }
  } else {
    writeNumber(BigInt(value), out)
  }
}

/**
 * @param {number} length
 * @param {number[]} out
 * @param {[number, number][]} forms the largest length of each form and its first byte; one below 32 is in that byte
 */
function writeHead (length, out, forms) {
  const [most, head] = /** @type {[number, number]} */ (forms.find(([most]) => length <= most))
  if (most < 32) {
    out.push(head | length)
  } else {
    out.push(head)
    writeUint(BigInt(length), most > 0xffff ? 4 : most > 0xff ? 2 : 1, out)
  }
}

/**
 * @param {bigint} number
 * @param {number[]} out
 */
function writeNumber (number, out) {
  if (number >= -0x20n && number < 0x80n) {
    out.push(Number(number & 0xffn))
    return
  }
  const isNegative = number < 0n
  const reach = isNegative ? -1n - number : number >> 1n
  const power = [7n, 15n, 31n].findIndex((bits) => reach < 1n << bits)
  const exponent = power < 0 ? 3 : power
  out.push((isNegative ? 0xd0 : 0xcc) + exponent)
  writeUint(BigInt.asUintN(64, number), 2 ** exponent, out)
}

/**
 * @param {bigint} number
 * @param {number} width
 * @param {number[]} out
 */
function writeUint (number, width, out) {
  for (let at = width - 1; at >= 0; at--) {
    out.push(Number(number >> BigInt(8 * at) & 0xffn))
  }
}
