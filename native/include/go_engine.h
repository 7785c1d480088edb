#ifndef GO_ENGINE_H
#define GO_ENGINE_H
#include <stddef.h>
#include <stdint.h>

/* The one public face of the engine. Lines that start with a hash are dropped to give a legal cffi cdef,
 * so there are no macros with values here: constants are enums.
 *
 * Conventions: every function that can fail returns a go_status; buffers belong to the caller and come with
 * their length; handles are opaque and made and freed in pairs; nothing is global after start-up.
 * Points are row-major from the top-left corner: p = row * cols + col; a pass is move rows * cols.
 * Colours: 1 black, 2 white, 0 empty. */

typedef enum go_status {
  GO_OK = 0,
  GO_ERR_ARGUMENT = 1,   /* a size, flag or length outside its contract */
  GO_ERR_MEMORY = 2,
  GO_ERR_OCCUPIED = 3,   /* why a move is illegal */
  GO_ERR_KO = 4,         /* simple ko */
  GO_ERR_SUPERKO = 5,
  GO_ERR_SUICIDE = 6,
  GO_ERR_TURN = 7,       /* the other colour is to move */
  GO_ERR_FINISHED = 8,   /* the game is over */
  GO_ERR_FORMAT = 9,     /* bytes that are not the format they claim to be */
  GO_ERR_BOUNDS = 10,    /* numbers in a well-formed file that the exact arithmetic does not allow */
  GO_ERR_MISMATCH = 11,  /* a replay gave another record than the one claimed */
  GO_ERR_KERNEL = 12,    /* a kernel that this machine or build does not have */
  GO_ERR_STOPPED = 13    /* asked to stop before the work was done */
} go_status;

/* One short sentence for a status; never NULL. */
const char *go_status_text(int status);

/* ---- rules and games ------------------------------------------------------------------------------------ */

enum { GO_EMPTY = 0, GO_BLACK = 1, GO_WHITE = 2 };
enum { GO_KO_SIMPLE = 0, GO_KO_POSITIONAL = 1, GO_KO_SITUATIONAL = 2 };
enum { GO_SCORING_AREA = 0, GO_SCORING_TERRITORY = 1 };
enum { GO_END_NONE = 0, GO_END_PASSES = 1, GO_END_SETTLED = 2, GO_END_CAP = 3 };

typedef struct go_rules {
  int32_t rows, cols;       /* 1..19 each */
  int32_t ko;               /* GO_KO_* */
  int32_t suicide;          /* 1: two stones or more may be suicide; a single stone never may */
  int32_t scoring;          /* GO_SCORING_* */
  int32_t pass_alive;       /* 1: area scoring gives every point of a pass-alive area to its owner */
  int32_t settled_end;      /* 1: the game ends when pass-alive areas cover the whole board (Benson) */
  int32_t komi_half;        /* komi in half points, added to white; within +-32767 */
  int32_t move_cap;         /* moves (passes included) after which the game ends, up to 65534; 0: 65534 */
} go_rules;

typedef struct go_game go_game;

int go_game_new(const go_rules *rules, go_game **out);
void go_game_free(go_game *game);
int go_game_copy(const go_game *game, go_game **out);
/* Back to the empty board under the same rules. */
void go_game_clear(go_game *game);
/* Sets a position (rows * cols colours) on a game without moves and who is to move; every chain must have a liberty. */
int go_game_setup(go_game *game, const uint8_t *stones, size_t len, int32_t to_move);
/* Plays a move for `colour` (GO_EMPTY: whoever is to move). On any status but GO_OK nothing has changed. */
int go_game_play(go_game *game, int32_t move, int32_t colour);
/* GO_OK, or the reason why the move is illegal, without playing it. `colour` as above; another colour than the one
 * to move is judged by occupation, suicide and ko only. */
int go_game_check(const go_game *game, int32_t move, int32_t colour);
/* legal[p] = 1 for each legal move of the side to move, the pass included: len = rows * cols + 1. All 0 when over. */
int go_game_legal(const go_game *game, uint8_t *legal, size_t len);
int go_game_stones(const go_game *game, uint8_t *stones, size_t len);
int32_t go_game_to_move(const go_game *game);
int32_t go_game_moves(const go_game *game);                      /* number of moves played */
int go_game_move_at(const go_game *game, int32_t ply, int32_t *move, int32_t *colour);
int32_t go_game_end(const go_game *game);                        /* GO_END_* */
int32_t go_game_captured(const go_game *game, int32_t colour);   /* stones of `colour` taken off, suicides included */
uint64_t go_game_hash(const go_game *game);                      /* of the stones alone (Zobrist) */
/* Black minus white in half points, komi included, of the position as it stands; owner (len rows * cols, or NULL):
 * GO_BLACK, GO_WHITE or GO_EMPTY a point. Territory scoring: no dead stones are removed; owner shows stones too. */
int go_game_score(const go_game *game, int32_t *score_half, uint8_t *owner, size_t len);
/* alive[p] = colour whose pass-alive area (Benson: its living chains and the regions they surround in which the other
 * colour cannot live, see docs/spec/rules.md) holds p, else GO_EMPTY. */
int go_game_pass_alive(const go_game *game, uint8_t *alive, size_t len);

/* Legal sequences of `depth` moves (0..64) from this position, passes included. Exponential: for tests. */
int go_count_sequences(const go_game *game, int32_t depth, uint64_t *count);
/* Colourings of a board of 20 points at most in which every chain has a liberty. Exponential: for tests. */
int go_count_positions(int32_t rows, int32_t cols, uint64_t *count);

/* What a number of light playouts gave. */
typedef struct go_playouts_result {
  int64_t moves;            /* played in all, passes included */
  int64_t black_wins;
  uint64_t hash;            /* FNV-1a's step over each move and, after a game's last, its score in half points (u32) */
} go_playouts_result;
/* Plays `count` games from the empty board to their end. Each move is drawn from the legal stones that are not put
 * into an own one-point eye (a point next to own stones and the edge alone), all with the same chance; without one, a
 * pass. Game i draws from Philox: key of the seed's first 8 bytes, counter (block, 0, i, 4), words in order: word *
 * count >> 32 is a place among the points that are left, ascending; an illegal point is taken out and drawn again. */
int go_playouts(const go_rules *rules, int32_t count, const uint8_t seed[32], go_playouts_result *result);

/* ---- features (version 1) ------------------------------------------------------------------------------- */

enum { GO_FEATURE_PLANES = 20 };
/* Planes of the side to move, u8 in 0..127, plane-major: out[plane * rows * cols + p]. See docs/spec/features.md. */
int go_game_features(const go_game *game, uint8_t *out, size_t len);

/* ---- exact network -------------------------------------------------------------------------------------- */

/* AVX2 and VNNI (AVX-512) are of x86-64, NEON and NEON_DOT (dot products) of AArch64; all give the same bits. */
enum {
  GO_KERNEL_BEST = 0, GO_KERNEL_SCALAR = 1, GO_KERNEL_AVX2 = 2, GO_KERNEL_VNNI = 3, GO_KERNEL_NEON = 4,
  GO_KERNEL_NEON_DOT = 5, GO_KERNEL_LAST = GO_KERNEL_NEON_DOT
};
enum { GO_NET_OUTPUTS_VALUE = 1 };

typedef struct go_net go_net;

/* Reads a network file (docs/spec/network.md); every size and bound is checked before use. */
int go_net_load(const uint8_t *file, size_t len, go_net **out, char *why, size_t why_len);
/* The integer network that a manifest's digest draws (docs/spec/network.md, "First network"), as a file in `out`;
 * *len: capacity in, bytes needed out. */
int go_net_first(const uint8_t digest[32], int32_t blocks, int32_t channels, uint8_t *out, size_t *len);
void go_net_free(go_net *net);
int32_t go_net_blocks(const go_net *net);
int32_t go_net_channels(const go_net *net);
int64_t go_net_macs(const go_net *net, int32_t rows, int32_t cols);   /* multiply-adds an evaluation */

/* 1 if this build and machine run the kernel. */
int go_kernel_available(int32_t kernel);
int32_t go_kernel_best(void);
const char *go_kernel_name(int32_t kernel);
/* `steps` rounds of a kernel's multiply in registers alone, for benchmarks: the multiply-adds done; 0 without it. */
int64_t go_kernel_peak(int32_t kernel, int64_t steps);

/* What a network says of one position, in logits of Q12 fixed point, from the side to move's view. */
typedef struct go_output {
  int32_t policy[362];      /* rows * cols + 1 used, the pass last */
  int32_t value;            /* L: P(win) - P(loss) = tanh(L / 4096) in the spec's integers */
  int32_t score_mean;       /* points in Q12, own minus the opponent's */
  int32_t score_spread;     /* points in Q12, before softplus */
  int32_t ownership[361];   /* Q12 logits, + is the side to move */
} go_output;

/* Scratch memory for one thread. */
typedef struct go_eval go_eval;
int go_eval_new(const go_net *net, int32_t kernel, go_eval **out);
void go_eval_free(go_eval *eval);
/* Evaluates n positions of one board size: planes as by go_game_features, one after another. */
int go_eval_run(go_eval *eval, int32_t rows, int32_t cols, int32_t n, const uint8_t *planes, size_t len, go_output *out);

/* Softmax of the spec over `n` Q12 logits; `legal` (or NULL) masks. prob[i] is 0 where masked. */
int go_softmax(const int32_t *logits, const uint8_t *legal, int32_t n, double *prob);
/* tanh of the spec: (e1 - e0) / (e1 + e0) from logits (L, -L). */
double go_tanh(int32_t logit);

/* Counter-based random words: Philox4x32-10 (Salmon et al., SC 2011). */
void go_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/* SHA-256 (FIPS 180-4). */
void go_sha256(const uint8_t *data, size_t len, uint8_t digest[32]);

/* ---- search --------------------------------------------------------------------------------------------- */

enum { GO_ROOT_PUCT = 0, GO_ROOT_GUMBEL = 1 };
enum { GO_PLY_FAST = 0, GO_PLY_FULL = 1 };

/* The numbers of a signed search config; micro: millionths, ppm: parts per million. See docs/spec/search.md. */
typedef struct go_search_config {
  int32_t root;                       /* GO_ROOT_* */
  int32_t visits_full, visits_fast;   /* root visits, the root's own evaluation included; at least 2 */
  int32_t full_share_ppm;             /* how often a ply gets the full search (playout-cap randomisation) */
  int32_t cpuct_micro;
  int32_t fpu_reduction_micro;        /* first-play urgency below the root */
  int32_t root_fpu_reduction_micro;
  int32_t noise_weight_ppm;           /* share of Dirichlet noise in the root's priors, full searches only; 0: none */
  int32_t noise_alpha_micro;          /* total concentration, divided by the number of legal moves */
  int32_t root_temperature_micro;     /* softmax temperature of the root's priors */
  int32_t forced_playouts_micro;      /* k of sqrt(k * prior * visits); 0: none. Targets are then pruned */
  int32_t score_utility_micro;        /* weight of the squashed score in the utility; 0: win rate alone */
  int32_t temperature_start_micro;    /* of the move drawn from the visits: start, end, and plies to halve the gap */
  int32_t temperature_end_micro;
  int32_t temperature_halflife;
  int32_t gumbel_considered;          /* Gumbel root: most moves that share the visits */
  int32_t gumbel_noise_micro;         /* scale of its noise; 0: the best move without any */
  int32_t gumbel_c_visit_micro;       /* values weigh (c_visit + most visits of a move) * c_scale against logits */
  int32_t gumbel_c_scale_micro;
  int32_t symmetry;                   /* 1: an evaluation's symmetry is drawn from (game seed, position) */
} go_search_config;

/* What identifies the random numbers and the trace of a game. */
typedef struct go_search_ids {
  uint8_t config[32];      /* digest of the signed config */
  uint8_t game_seed[32];
} go_search_ids;

/* What one searched move leaves behind. */
typedef struct go_ply {
  int32_t ply, move, kind;         /* kind: GO_PLY_* */
  int32_t nodes;
  int32_t value;                   /* mean root value, side to move, in 2^-24 */
  int32_t score;                   /* mean root score, side to move, in 2^-12 points */
  uint16_t visits[362];            /* of the root's children, raw; they sum to the root visits - 1 */
  uint16_t policy_target[362];     /* sums to 65535; all 0 on a fast ply */
  uint8_t digest[32];              /* D, see docs/spec/search.md */
} go_ply;

/* One network as a player: `net` NULL is uniform evaluation. */
typedef struct go_player {
  const go_net *net;
  uint8_t release[32];
} go_player;

/* Searches the position of `game` at ply go_game_moves(game). A pure function of its arguments except `kernel`. */
int go_search_ply(const go_player *player, int32_t kernel, const go_search_config *config, const go_search_ids *ids,
                  const go_game *game, go_ply *out);

/* exp and log with the same bits on every machine, within 1 ulp; exp gives 0 below -708. */
double go_exp(double x);
double go_log(double x);
/* One Dirichlet draw over n moves: `total` concentration in equal parts, the noise of ply `ply` of this game. */
int go_dirichlet(const uint8_t seed[32], uint32_t ply, double total, const uint16_t *moves, int32_t n, double *out);
/* GO_OK if this build on this machine, with this kernel, searches the known trees; GO_ERR_MISMATCH if not. */
int go_search_selftest(int32_t kernel);

/* ---- self-play: games, replay, pool --------------------------------------------------------------------- */

/* One game to play or to replay; docs/spec/batch.md gives the bytes of a game block. */
typedef struct go_job {
  uint64_t id;                     /* the caller's */
  uint64_t counter;                /* goes into the block */
  go_rules rules;                  /* square */
  go_search_config config;
  go_search_ids ids;
  go_player black, white;          /* the same in self-play; the networks must outlive the job */
  int32_t opening;                 /* index, goes into the block */
  int32_t opening_len;
  uint16_t opening_moves[64];
} go_job;

typedef struct go_done {
  uint64_t id;
  int32_t status;                  /* GO_OK, GO_ERR_MISMATCH (replay), GO_ERR_STOPPED, ... */
  int32_t bad_ply;                 /* replay: absolute ply of the first difference, or -1; -2: outside the plies (end, result, score) */
  int32_t plies;                   /* searched plies */
  int64_t visits, evaluations;     /* those of a ply that was stopped included; visits also those that a game was begun with */
  size_t block_len;                /* bytes of the block, or of the begun game of one that was stopped; 0 for a replay */
} go_done;

typedef struct go_pool go_pool;

enum { GO_KERNEL_OUTSIDE = -1 };   /* leaves are evaluated outside, by go_pool_pull and go_pool_push */
/* `games`: in flight on each thread, 1..1024; their leaves are evaluated together. The bytes of a game depend on neither
 * number nor on the kernel; how many evaluations it takes does a little, by what the cache of a thread still holds. */
int go_pool_new(int32_t threads, int32_t games, int32_t kernel, go_pool **out);
void go_pool_free(go_pool *pool);                 /* stops and joins; nobody may be in wait or pull */
int go_pool_play(go_pool *pool, const go_job *job);
/* Plays a game on from its first plies, `begun` (copied) as a stopped one left them: the same game as from its start.
 * Bytes that are no begun game of this job end it with GO_ERR_FORMAT or GO_ERR_MISMATCH. */
int go_pool_play_on(go_pool *pool, const go_job *job, const uint8_t *begun, size_t len);
/* Replays `block` (copied) against what the job would play: whole, stopping at the first mismatch. */
int go_pool_replay(go_pool *pool, const go_job *job, const uint8_t *block, size_t len);
/* Waits for one finished job; 0 in *got after timeout_ms. Call without the GIL. */
int go_pool_wait(go_pool *pool, int32_t timeout_ms, go_done *done, int32_t *got);
/* The block of a played game, or the begun game of a stopped one, and the D (32 bytes each), of the job `done` names;
 * may be called once after go_pool_wait returned it. NULL: not wanted. */
int go_pool_take(go_pool *pool, uint64_t id, uint8_t *block, size_t block_len, uint8_t *digests, size_t digests_len);
void go_pool_stop(go_pool *pool);                 /* running jobs end soon with GO_ERR_STOPPED */
int32_t go_pool_pending(const go_pool *pool);

/* Positions for one network and one board size, to be evaluated outside. */
typedef struct go_pull {
  uint64_t ticket;
  const go_net *net;
  int32_t size, count;
} go_pull;
/* Waits for leaves; 0 in *got after timeout_ms. What waits for the same network and size comes together, as far as it fits
 * into `planes`: `count` positions as go_eval_run takes them. Call without the GIL, from any number of threads.
 * GO_ERR_ARGUMENT when not one position fits, or the pool evaluates by itself. */
int go_pool_pull(go_pool *pool, int32_t timeout_ms, go_pull *pull, uint8_t *planes, size_t len, int32_t *got);
/* The outputs of a pull, in the same order, as go_eval_run would give them: policy, value and score_mean are used. Once a
 * ticket; GO_ERR_ARGUMENT for another ticket or count. After a stop they are taken and dropped. */
int go_pool_push(go_pool *pool, uint64_t ticket, const go_output *outputs, int32_t count);

/* ---- training rows -------------------------------------------------------------------------------------- */

/* One searched ply as the trainer sees it: everything from the view of the side to move, symmetry not yet applied.
 * Buffers hold `plies` rows each: planes u8 [20][p], policy u16 [p + 1], opponent_policy u16 [p + 1] (all 0 when
 * there is none), value i8 (1 win, 0 draw, -1 loss), score i32 half points, ownership i8 [p] (1 own, -1 opponent), kind u8. */
typedef struct go_rows {
  uint8_t *planes;
  uint16_t *policy, *opponent_policy;
  int8_t *value;
  int32_t *score;
  int8_t *ownership;
  uint8_t *kind;
  int32_t *root_value;             /* as recorded, 2^-24 */
} go_rows;
/* Replays the block's moves through the rules (not the search) and fills rows for `capacity` plies at most.
 * Fails as go_block_check does; `rows` then holds nothing of use. */
int go_rows_read(const go_rules *rules, const uint8_t *block, size_t len, go_rows *rows, int32_t capacity, int32_t *count);
/* The board's side and the number of searched plies of a well-formed block: what go_rows_read needs room for. */
int go_block_shape(const uint8_t *block, size_t len, int32_t *size, int32_t *plies);
/* Checks a block by the rules alone: its form, legality of moves, counts on legal moves only, policy targets that sum
 * to 65535 (full) or 0 (fast), end, result and score recomputed. *bad_ply as in go_done. */
int go_block_check(const go_rules *rules, const uint8_t *block, size_t len, int32_t *bad_ply);

/* ---- packed rows ---------------------------------------------------------------------------------------- */

/* The rows of a game in the form that is kept and drawn from: a tenth of go_rows. docs/spec/rows.md has the bytes. */

/* Bytes that a packed game of so many searched plies has at most; 0 for a size or number that no game has. */
size_t go_packed_most(int32_t size, int32_t plies);
/* Replays the block as go_rows_read does and writes its packed game; `capacity` is at least go_packed_most of its shape.
 * Fails as go_block_check does; *used is then 0 and `out` holds nothing of use. */
int go_rows_pack(const go_rules *rules, const uint8_t *block, size_t len, uint8_t *out, size_t capacity, size_t *used);

typedef struct go_packed {
  int32_t size, plies, moves;      /* rows and columns; searched plies, a row each; all moves */
  int32_t bad_policy;              /* the first full search whose policy does not sum to 65535, or -1 */
  int32_t bad_value;               /* the first ply whose root value is beyond +-1 or whose score no game has, or -1 */
  uint8_t name[16];                /* equal for games of equal moves: the start of their SHA-256 */
} go_packed;
/* Judges a packed game: GO_ERR_FORMAT unless the bytes are one and nothing else, else its facts. */
int go_packed_facts(const uint8_t *game, size_t len, go_packed *out);

/* Memory with packed games in it, and where in it a drawn row is: the game's bytes, the row, its symmetry 0..7
 * (transposed if k & 4, then rows reversed if k & 1, columns if k & 2). */
typedef struct go_segment {
  const uint8_t *data;
  uint64_t len;
} go_segment;
typedef struct go_drawn {
  uint64_t offset, len;
  int32_t segment, ply, symmetry, zero;
} go_drawn;
/* Arrays of n rows on a canvas of S x S points, P = S * S; a smaller board lies in the top-left corner, the rest is 0.
 * planes [n][P][20] (features / 64), legal [n][P + 1] 0 or 1, policy and opponent_policy [n][P + 1] (sum 1, or all 0 where
 * there is none), result and root_value [n] in -1..1, score [n] in points, ownership [n][P] -1, 0 or 1, board [n][P]: 1 on it.
 * Legal are empty points that no ko bans, what the policy names, and the pass. */
typedef struct go_minibatch {
  float *planes;
  uint8_t *legal;
  float *policy, *opponent_policy, *result, *root_value, *score, *ownership, *board;
} go_minibatch;
/* Lays out `count` rows in their order. Everything is checked before it is followed, so that damaged bytes give
 * GO_ERR_FORMAT at worst; GO_ERR_ARGUMENT for a row outside its segment or game, or a board larger than the canvas. */
int go_rows_gather(const go_segment *segments, int32_t segment_count, const go_drawn *drawn, int32_t count, int32_t canvas,
                   const go_minibatch *out);

#endif
