#include "block.h"
#include "game.h"

#include <string.h>

/* What the rules alone say of a game block: its form, its moves, its end, result and score. Nothing is searched. */

enum { OUTSIDE = -2, TARGET_SUM = 65535 };

/* ---- form ------------------------------------------------------------------------------------------------ */

/* What is known before the first search lies in its ranges, whatever the moves are. */
static int is_setup_fine(const go_block *b, const uint8_t *data) {
  if (b->size < 1 || b->size > GO_MAX_SIDE || b->opening_moves >= b->moves || b->moves > GO_MAX_MOVES) return 0;
  return b->komi_half != INT16_MIN && !go_read_u16(data + GO_BLOCK_ZERO);
}

/* End, result and score of a finished game that may go together. */
static int is_end_fine(const go_block *b) {
  if (b->end != GO_END_PASSES && b->end != GO_END_SETTLED && b->end != GO_END_CAP) return 0;
  if (b->result != go_result_of(b->score_half)) return 0;
  int32_t most = 2 * b->size * b->size;
  int64_t balance = (int64_t)b->score_half + b->komi_half; /* black minus white area, in half points */
  return balance % 2 == 0 && balance >= -most && balance <= most;
}

/* Takes a block apart, with or without an end, behind which there are so many bytes a ply. */
static int parse(const uint8_t *data, size_t len, int has_end, size_t behind, go_block *out) {
  go_block b;
  if (len < GO_BLOCK_HEADER) return GO_ERR_FORMAT;
  b.counter = go_read_u64(data + GO_BLOCK_COUNTER);
  b.size = data[GO_BLOCK_SIZE];
  b.end = data[GO_BLOCK_END];
  b.result = data[GO_BLOCK_RESULT];
  b.opening_moves = data[GO_BLOCK_OPENING_MOVES];
  b.komi_half = go_read_i16(data + GO_BLOCK_KOMI);
  b.opening = go_read_u16(data + GO_BLOCK_OPENING);
  b.score_half = go_read_i32(data + GO_BLOCK_SCORE);
  b.moves = go_read_u16(data + GO_BLOCK_MOVES);
  if (!is_setup_fine(&b, data)) return GO_ERR_FORMAT;
  if (has_end ? !is_end_fine(&b) : b.end || b.result || b.score_half) return GO_ERR_FORMAT;
  b.plies = b.moves - b.opening_moves;
  b.width = b.size * b.size + 1;
  if (len != go_block_bytes(b.size, b.moves, b.plies) + behind * (size_t)b.plies) return GO_ERR_FORMAT;
  size_t plies = (size_t)b.plies, row = plies * (size_t)b.width;
  b.move = data + GO_BLOCK_HEADER;
  b.kind = b.move + 2 * (size_t)b.moves;
  b.visits = b.kind + plies;
  b.policy_target = b.visits + 2 * row;
  b.value = b.policy_target + 2 * row;
  b.score = b.value + 4 * plies;
  b.trace_hash = b.score + 4 * plies;
  for (size_t i = 0; i < plies; i++) {
    if (b.kind[i] != GO_PLY_FAST && b.kind[i] != GO_PLY_FULL) return GO_ERR_FORMAT;
  }
  *out = b;
  return GO_OK;
}

int go_block_parse(const uint8_t *data, size_t len, go_block *out) { return parse(data, len, 1, 0, out); }

int go_begun_parse(const uint8_t *data, size_t len, go_block *out, const uint8_t **digests) {
  const int status = parse(data, len, 0, 32, out);
  if (status == GO_OK) *digests = out->trace_hash + GO_BLOCK_HASH * (size_t)out->plies;
  return status;
}

int go_block_shape(const uint8_t *block, size_t len, int32_t *size, int32_t *plies) {
  go_block b;
  int status = go_block_parse(block, len, &b);
  *size = status ? 0 : b.size;
  *plies = status ? 0 : b.plies;
  return status;
}

/* ---- rules ----------------------------------------------------------------------------------------------- */

/* The record of searched ply i before its move is played: counts only where moves are legal, a target that sums as
 * its kind says, a value that is one. */
static int check_record(const go_game *game, const go_block *b, int32_t i) {
  uint8_t legal[GO_MAX_POINTS + 1];
  const uint8_t *visits = b->visits + 2 * (size_t)i * (size_t)b->width;
  const uint8_t *target = b->policy_target + 2 * (size_t)i * (size_t)b->width;
  int64_t sum = 0, visited = 0;
  int status = go_game_legal(game, legal, (size_t)b->width);
  if (status) return status;
  for (int32_t m = 0; m < b->width; m++) {
    int32_t count = go_read_u16(visits + 2 * m), weight = go_read_u16(target + 2 * m);
    if (!legal[m] && (count || weight)) return GO_ERR_FORMAT;
    visited += count;
    sum += weight;
  }
  int32_t value = go_read_i32(b->value + 4 * (size_t)i);
  if (!visited || sum != (b->kind[i] == GO_PLY_FULL ? TARGET_SUM : 0)) return GO_ERR_FORMAT;
  return value >= -(1 << 24) && value <= 1 << 24 ? GO_OK : GO_ERR_FORMAT;
}

int go_block_replay(const go_rules *rules, const uint8_t *data, size_t len, go_block_visit *visit, void *context,
                    int32_t *bad_ply) {
  go_block b;
  go_game *game;
  *bad_ply = OUTSIDE;
  if (go_rules_check(rules) || rules->rows != rules->cols || rules->scoring != GO_SCORING_AREA) return GO_ERR_ARGUMENT;
  int status = go_block_parse(data, len, &b);
  if (status) return status;
  if (b.size != rules->rows || b.komi_half != rules->komi_half) return GO_ERR_MISMATCH;
  status = go_game_new(rules, &game);
  if (status) return status;
  for (int32_t ply = 0; !status && ply < b.moves; ply++) {
    int32_t move = go_read_u16(b.move + 2 * (size_t)ply), searched = ply - b.opening_moves;
    /* The move first: a move after the end must be told as such, not by its record. */
    status = move < b.width ? go_game_check(game, move, GO_EMPTY) : GO_ERR_FORMAT;
    if (!status && searched >= 0) status = check_record(game, &b, searched);
    if (!status && searched >= 0 && visit) status = visit(context, game, &b, searched);
    if (!status) status = go_game_play(game, move, GO_EMPTY);
    if (status) *bad_ply = ply;
  }
  int32_t score_half = 0;
  if (!status) status = go_game_score(game, &score_half, NULL, 0);
  if (!status && (game->end != b.end || score_half != b.score_half)) status = GO_ERR_MISMATCH;
  if (!status && visit) status = visit(context, game, &b, -1);
  if (!status) *bad_ply = -1;
  go_game_free(game);
  return status;
}

int go_block_check(const go_rules *rules, const uint8_t *block, size_t len, int32_t *bad_ply) {
  return go_block_replay(rules, block, len, NULL, NULL, bad_ply);
}
