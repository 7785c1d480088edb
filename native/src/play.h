#ifndef GO_PLAY_H
#define GO_PLAY_H
/* One game as a job: played whole, or replayed against a block. Used by the pool, one go_player_seat a thread. */
#include "block.h"
#include "search.h"

enum { GO_OPENING_MAX = 64 };

/* What a game came to. */
typedef struct go_outcome {
  int32_t end, score_half;
} go_outcome;

/* The recorded part of one searched ply that does not depend on the board size. */
typedef struct go_record_ply {
  int32_t kind, value, score;
  uint8_t trace_hash[GO_BLOCK_HASH];
} go_record_ply;

/* The searched plies of a game so far; visits and policy_target have `width` numbers a ply. */
typedef struct go_record {
  int32_t plies, capacity, width;
  go_record_ply *ply;
  uint16_t *visits, *policy_target;
  uint8_t *digests; /* D, 32 bytes a ply */
} go_record;

/* What a worker gives back: `block` (played games) and `digests` are malloc'ed and belong to the receiver. */
typedef struct go_played {
  go_done done;
  uint8_t *block, *digests;
} go_played;

/* GO_OK if a pool takes the job: square board, area scoring, a move cap, an opening that fits and a valid config. */
int go_job_check(const go_job *job);
/* Plays the job's game to its end with `search` (its kernel, its memory). `stop` is read now and then. */
void go_play_job(go_search *search, const go_job *job, const atomic_int *stop, go_played *out);
/* Plays the job's game as long as `block` agrees with it; see go_done for what differs where. */
void go_replay_job(go_search *search, const go_job *job, const uint8_t *block, size_t len, const atomic_int *stop,
                   go_played *out);

/* Writes the block of a played game; `out` holds go_block_bytes(size, opening + plies, plies) bytes. */
void go_block_write(const go_job *job, const go_outcome *outcome, const uint16_t *moves, const go_record *record,
                    uint8_t *out);
/* 1 if searched ply `index` of the block (counted without the opening) is what the search gave. */
int go_block_ply_equals(const go_block *block, int32_t index, const go_ply *ply);

#endif
