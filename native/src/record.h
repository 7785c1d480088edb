#ifndef GO_RECORD_H
#define GO_RECORD_H
/* The searched plies of a game as they gather, until they become a block (docs/spec/batch.md). */
#include "block.h"

/* The recorded part of one searched ply that does not depend on the board size. */
typedef struct go_record_ply {
  int32_t kind, value, score;
  uint8_t trace_hash[GO_BLOCK_HASH];
} go_record_ply;

/* visits and policy_target have `width` numbers a ply. */
typedef struct go_record {
  int32_t plies, capacity, width;
  go_record_ply *ply;
  uint16_t *visits, *policy_target;
  uint8_t *digests; /* D, 32 bytes a ply */
} go_record;

/* ---- record.c ------------------------------------------------------------------------------------------- */

/* Adds a ply, or GO_ERR_MEMORY. */
int go_record_add(go_record *record, const go_ply *ply);
/* Frees all but `digests`, which are the caller's. */
void go_record_free(go_record *record);

/* ---- block.c -------------------------------------------------------------------------------------------- */

/* Writes the block of a job's game with that score, 0 for one without an end; `out` holds go_block_bytes(size, moves, plies)
 * bytes. */
void go_block_write(const go_job *job, const go_game *game, int32_t score_half, const go_record *record, uint8_t *out);
/* Reads searched ply `index` of the block, whose D is `digest`; GO_ERR_FORMAT unless D is the one that was hashed. */
int go_block_read_ply(const go_block *block, int32_t index, const uint8_t digest[32], go_ply *out);
/* 1 if searched ply `index` of the block (counted without the opening) is what the search gave. */
int go_block_ply_equals(const go_block *block, int32_t index, const go_ply *ply);

#endif
