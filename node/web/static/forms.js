// The forms of all records that a log can hold (docs/spec/log-entry.md): who signs each, and its fields, nested ones too.

import { bytes, fields, KINDS, list, map, oneOf, text, whole } from './kinds.js'

/** @typedef {'root' | 'coordinator' | 'verifier' | 'peer' | 'player' | 'heir'} Signer */
/** @typedef {{signer: Signer, fields: import('./kinds.js').Fields}} Form */

/** @param {Signer} signer @param {{[kind: string]: string}} named @param {import('./kinds.js').Fields} [others] @returns {Form} */
const form = (signer, named, others) => ({ signer, fields: fields(named, others) })

const SEARCH = map({
  semantics: 'semantics',
  ppm: 'full_share_ppm noise_weight_ppm',
  micro: 'cpuct_micro fpu_reduction_micro root_fpu_reduction_micro noise_alpha_micro root_temperature_micro ' +
    'forced_playouts_micro score_utility_micro temperature_start_micro temperature_end_micro ' +
    'gumbel_noise_micro gumbel_c_visit_micro gumbel_c_scale_micro',
  flag: 'symmetry'
}, {
  root: oneOf('puct', 'gumbel'),
  visits_full: whole(2, 60_000),
  visits_fast: whole(2, 60_000),
  temperature_halflife: whole(1, 1000),
  gumbel_considered: whole(1, 362)
})
const RULES = map({ flag: 'suicide pass_alive settled_end' }, {
  ko: oneOf('simple', 'positional', 'situational'),
  move_cap_factor: whole(1, 10)
}, (rules) => rules.settled_end === true && rules.pass_alive !== true ? 'settled_end' : '')
const BOARD = map({ u32: 'weight' }, { size: whole(7, 19), komi: list(map({ i16: 'komi_half', u32: 'weight' })) })
const STAGE = map({ u64: 'from_step' }, { boards: list(BOARD), visits_full: whole(0, 60_000), visits_fast: whole(0, 60_000) })
const OPENING = map({ u32: 'selfplay_weight gate_weight' }, { size: whole(1, 19), moves: list(KINDS.u16) })
const NETWORK = map({ u16: 'features' }, { blocks: whole(1, 40), channels: whole(16, 512), first: oneOf('random', 'uniform') })
const ADMISSION = map({
  u32: 'stamp_difficulty exit_entries ringer_batches',
  u16: 'hold_back_batches probation_slots alarm_identities',
  ppm: 'exit_ppm tail_ppm repeat_ppm'
}, {
  registration: oneOf('invite', 'stamp'),
  games_per_batch: whole(1, 1024),
  probation_batches: whole(1, 10_000),
  q_min_ppm: whole(50_000, 1_000_000),
  epoch_entries: whole(10, 1_000_000_000),
  timeout_entries: whole(1, 1_000_000_000),
  final_entries: whole(1, 1_000_000_000),
  tick_s: whole(1, 3600),
  pardon_plies: whole(1, 2 ** 40)
})
const GATE = map({ ppm: 'win_rate_ppm replay_ppm', u64: 'release_every_steps' }, {
  kind: oneOf('sprt', 'win-rate', 'elo-threshold', 'always'),
  elo0: whole(-(2 ** 31), 2 ** 31 - 1),
  elo1: whole(-(2 ** 31), 2 ** 31 - 1),
  games: whole(2, 1_000_000),
  pairs_per_assignment: whole(1, 64)
})
const WINDOW = map({ ppm: 'exponent_ppm' }, { first_rows: whole(1, 2 ** 40), new_rows: whole(1, 2 ** 40), floor_rows: whole(1, 2 ** 40) })
const TRAINING = map({
  u32: 'samples_per_row_milli learning_rate_micro warmup_steps weight_decay_micro gradient_clip_micro ' +
    'policy_weight_micro opponent_policy_weight_micro value_weight_micro score_weight_micro ' +
    'ownership_weight_micro most_policy_divergence_micro most_value_error_micro',
  ppm: 'momentum_micro ema_micro value_root_share_ppm held_out_ppm quantised_share_ppm least_same_move_ppm'
}, {
  minibatch: whole(1, 2 ** 16),
  samples_per_cycle: whole(1, 2 ** 40),
  calibration_rows: whole(16, 1_000_000),
  threads: whole(1, 256),
  schedule: list(map({ u64: 'step' }, { factor_ppm: whole(0, 10_000_000) })),
  processes: whole(1, 64),
  precision: oneOf('float32', 'bfloat16')
})
const LIMITS = map({}, { blob_bytes: whole(1024, 2 ** 26), raw_bytes: whole(1024, 2 ** 26) })
const LOSSES = map({ u64: 'rows policy_micro opponent_policy_micro value_micro score_micro ownership_micro' })

/** By name. @type {{[name: string]: Form}} */
export const RECORDS = {
  root: form('root', { bytes32: 'run', u32: 'version', u16: 'threshold witness_threshold' }, {
    keys: list(KINDS.bytes32),
    roles: list(map({ bytes32: 'key', name: 'name', u64: 'expires invalid_from' }, { role: oneOf('coordinator', 'verifier') }))
  }),
  manifest: form('root', { bytes32: 'run', u32: 'version', name: 'name' }, {
    rules: RULES,
    stages: list(STAGE),
    openings: list(OPENING),
    selfplay: SEARCH,
    gate_search: SEARCH,
    network: NETWORK,
    admission: ADMISSION,
    gate: GATE,
    window: WINDOW,
    training: TRAINING,
    limits: LIMITS,
    bootstrap: list(text(/^\/[!-~]+$/, 256))
  }),
  registration: form('peer', {
    bytes32: 'run peer root_hash',
    name: 'name',
    maybe32: 'recovery_hash',
    u64: 'log_size stamp',
    entry: 'invite'
  }),
  tick: form('coordinator', { bytes32: 'run', u64: 'log_size unix_s' }),
  'epoch-hash': form('verifier', { bytes32: 'run verifier secret_hash', u32: 'epoch' }),
  'epoch-reveal': form('verifier', { bytes32: 'run verifier secret', u32: 'epoch' }),
  'share-set': form('coordinator', { bytes32: 'run root_hash', u64: 'size previous_size' }, { shares: list(KINDS.entry) }),
  'batch-header': form('peer', {
    bytes32: 'run manifest config release peer batch_root blob_digest',
    semantics: 'semantics',
    u64: 'registration first_counter visits',
    u16: 'games',
    u32: 'plies blob_len raw_len',
    flag: 'final',
    maybe32: 'fill_for',
    name: 'build kernel cpu'
  }),
  verdict: form('verifier', {
    bytes32: 'run subject verifier work',
    u64: 'index',
    u32: 'epoch',
    semantics: 'semantics',
    u16: 'game ply',
    words: 'reason'
  }, {
    drawn: list(KINDS.u16),
    outcome: oneOf('accept', 'reject'),
    evidence: oneOf('', 'blob', 'setup', 'rules', 'ply')
  }),
  'trace-opening': form('verifier', { bytes32: 'run verifier subject blob_digest', u64: 'index', u32: 'plies' }),
  admission: form('coordinator', { bytes32: 'run' }, {
    decisions: list(map({ u64: 'index order', bytes32: 'verifier', ppm: 'q_ppm', words: 'reason' }, { outcome: oneOf('accepted', 'rejected', 'lost') }))
  }),
  window: form('coordinator', { bytes32: 'run headers', u32: 'cycle batches', u64: 'log_size games rows total_rows' }),
  'train-record': form('coordinator', {
    bytes32: 'run base parent_state state seed network network_blob weights_blob',
    u32: 'cycle network_len batches skipped',
    u64: 'window steps samples',
    name: 'torch',
    u16: 'threads processes',
    words: 'capability',
    shape: 'shape'
  }, {
    states: list(map({ u64: 'step', bytes32: 'state' })),
    device: oneOf('cpu', 'cuda'),
    rounding: map({ u32: 'rows', u64: 'policy_divergence_micro value_error_micro', ppm: 'same_move_ppm' }),
    losses: LOSSES,
    held_out: LOSSES
  }),
  'given-up-cycle': form('coordinator', { bytes32: 'run', u32: 'cycle', u64: 'window', name: 'reason', words: 'text' }),
  'gate-assignment': form('coordinator', { bytes32: 'run base player', u64: 'candidate first_pair', u16: 'pairs' }),
  'gate-result': form('player', { bytes32: 'run player batch_root blob_digest', u64: 'assignment', u32: 'blob_len raw_len' }, {
    pairs: list(map({}, { as_black: whole(0, 2), as_white: whole(0, 2) }))
  }),
  'gate-record': form('coordinator', {
    bytes32: 'run base',
    u64: 'candidate pairs',
    i64: 'llr_micro',
    flag: 'passed',
    u32: 'refused_since_base'
  }, { counts: list(KINDS.u64) }),
  release: form('coordinator', {
    bytes32: 'run manifest parent network network_blob weights_blob config gate_config openings training',
    name: 'name code_version',
    u32: 'network_len',
    u64: 'train_record gate_record steps samples rows',
    semantics: 'semantics',
    shape: 'shape'
  }, { number: whole(1, 2 ** 32 - 1) }),
  'release-statement': form('coordinator', {
    bytes32: 'run weights_sha256',
    u64: 'release',
    signature: 'provenance_signature sums_signature model_signature'
  }, { model_key: bytes(33) }),
  ban: form('coordinator', { bytes32: 'run subject', entry: 'proof' }),
  pardon: form('coordinator', { bytes32: 'run subject', entry: 'proof' }),
  'slot-list': form('coordinator', { bytes32: 'run' }, { registrations: list(KINDS.bytes32) }),
  'key-replacement': form('heir', { bytes32: 'run peer recovery replacement', u64: 'invalid_from' }),
  'fill-assignment': form('coordinator', { bytes32: 'run owner release player', u64: 'first_counter', u16: 'games' }),
  exit: form('coordinator', { bytes32: 'run' }, { peers: list(KINDS.bytes32) }),
  'void-epoch': form('coordinator', { bytes32: 'run verifier', u32: 'epoch' }),
  scrutiny: form('coordinator', { bytes32: 'run peer', u64: 'last_index', flag: 'restart', words: 'reason' }, { q_ppm: whole(1, 1_000_000) }),
  'ringer-hash': form('coordinator', { bytes32: 'run commitment' }),
  'ringer-reveal': form('coordinator', { bytes32: 'run salt', u64: 'index', u16: 'game ply' })
}

/** What a share set holds, each in an envelope of its own. */
export const SHARE = fields({ bytes32: 'run verifier root_hash share', u32: 'epoch', u64: 'size' })
