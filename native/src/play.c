/* One game of a job, played or replayed (docs/spec/search.md, docs/spec/batch.md). */
#include "play.h"

#include <stdlib.h>
#include <string.h>

int go_job_check(const go_job *job) {
  const go_rules *rules = &job->rules;
  if (go_rules_check(rules) != GO_OK || rules->rows != rules->cols || rules->scoring != GO_SCORING_AREA)
    return GO_ERR_ARGUMENT;
  if (rules->move_cap < 1) return GO_ERR_ARGUMENT;
  if (job->opening < 0 || job->opening > UINT16_MAX) return GO_ERR_ARGUMENT;
  if (job->opening_len < 0 || job->opening_len > GO_OPENING_MAX || job->opening_len >= rules->move_cap)
    return GO_ERR_ARGUMENT;
  return go_search_config_check(&job->config);
}

/* ---- record --------------------------------------------------------------------------------------------- */

static void record_free(go_record *record) {
  free(record->ply);
  free(record->visits);
  free(record->policy_target);
}

static int grow(void **memory, size_t bytes) {
  void *more = realloc(*memory, bytes);
  if (!more) return GO_ERR_MEMORY;
  *memory = more;
  return GO_OK;
}

static int record_reserve(go_record *r) {
  if (r->plies < r->capacity) return GO_OK;
  const size_t capacity = r->capacity ? 2 * (size_t)r->capacity : 128, row = (size_t)r->width * sizeof(uint16_t);
  if (grow((void **)&r->ply, capacity * sizeof *r->ply) != GO_OK ||
      grow((void **)&r->visits, capacity * row) != GO_OK || grow((void **)&r->policy_target, capacity * row) != GO_OK ||
      grow((void **)&r->digests, capacity * 32) != GO_OK)
    return GO_ERR_MEMORY;
  r->capacity = (int32_t)capacity;
  return GO_OK;
}

static int record_add(go_record *r, const go_ply *ply) {
  if (record_reserve(r) != GO_OK) return GO_ERR_MEMORY;
  const size_t i = (size_t)r->plies++, width = (size_t)r->width;
  r->ply[i] = (go_record_ply){.kind = ply->kind, .value = ply->value, .score = ply->score};
  go_sha256(ply->digest, sizeof ply->digest, r->ply[i].trace_hash);
  memcpy(r->visits + i * width, ply->visits, width * sizeof(uint16_t));
  memcpy(r->policy_target + i * width, ply->policy_target, width * sizeof(uint16_t));
  memcpy(r->digests + i * 32, ply->digest, 32);
  return GO_OK;
}

/* ---- one game ------------------------------------------------------------------------------------------- */

/* A game under way: what playing and replaying share. */
typedef struct go_run {
  go_search *search;
  const go_job *job;
  const atomic_int *stop;
  go_game *game;
  go_record record;
  int64_t visits, evaluations_before;
} go_run;

static int run_begin(go_run *run) {
  const go_job *job = run->job;
  run->record.width = job->rules.rows * job->rules.cols + 1;
  run->evaluations_before = go_leaf_evaluations(run->search->evaluator);
  int status = go_job_check(job);
  if (status == GO_OK) status = go_game_new(&job->rules, &run->game);
  if (status == GO_OK)
    status = go_leaf_begin(run->search->evaluator, job->black.net, job->white.net, job->ids.game_seed, job->config.symmetry);
  for (int32_t i = 0; i < job->opening_len && status == GO_OK; i++)
    status = go_game_play(run->game, job->opening_moves[i], GO_EMPTY);
  if (status == GO_OK && run->game->end != GO_END_NONE) status = GO_ERR_FINISHED;
  return status;
}

/* Searches the next ply, adds it to the record, and leaves the move to the caller. */
static int run_search(go_run *run, go_ply *ply) {
  const go_job *job = run->job;
  const go_player *player = run->game->to_move == GO_BLACK ? &job->black : &job->white;
  const int status = go_search_run(run->search, player, &job->config, &job->ids, run->game, run->stop, ply);
  if (status != GO_OK) return status;
  run->visits += run->search->tuning.visits;
  return record_add(&run->record, ply);
}

/* Fills `out` but for the block, and frees the rest. */
static void run_end(go_run *run, int status, int32_t bad_ply, go_played *out) {
  out->done = (go_done){.id = run->job->id,
                        .status = status,
                        .bad_ply = bad_ply,
                        .plies = run->record.plies,
                        .visits = run->visits,
                        .evaluations = go_leaf_evaluations(run->search->evaluator) - run->evaluations_before,
                        .block_len = out->done.block_len};
  out->digests = run->record.digests;
  record_free(&run->record);
  go_game_free(run->game);
}

static int outcome_of(const go_game *game, go_outcome *out) {
  out->end = game->end;
  return go_game_score(game, &out->score_half, NULL, 0);
}

static int write_block(const go_run *run, go_played *out) {
  go_outcome outcome;
  const int32_t total = run->game->moves;
  int status = outcome_of(run->game, &outcome);
  if (status != GO_OK) return status;
  const size_t len = go_block_bytes(run->job->rules.rows, total, run->record.plies);
  uint16_t *moves = malloc((size_t)total * sizeof *moves);
  out->block = malloc(len);
  if (moves && out->block) {
    for (int32_t i = 0, move, colour; i < total; i++) {
      go_game_move_at(run->game, i, &move, &colour);
      moves[i] = (uint16_t)move;
    }
    go_block_write(run->job, &outcome, moves, &run->record, out->block);
    out->done.block_len = len;
  } else {
    free(out->block);
    out->block = NULL;
    status = GO_ERR_MEMORY;
  }
  free(moves);
  return status;
}

void go_play_job(go_search *search, const go_job *job, const atomic_int *stop, go_played *out) {
  go_run run = {.search = search, .job = job, .stop = stop};
  go_ply ply;
  *out = (go_played){0};
  int status = run_begin(&run);
  while (status == GO_OK && run.game->end == GO_END_NONE) {
    status = run_search(&run, &ply);
    if (status == GO_OK) status = go_game_play(run.game, ply.move, GO_EMPTY);
  }
  if (status == GO_OK) status = write_block(&run, out);
  run_end(&run, status, -1, out);
}

/* ---- replay --------------------------------------------------------------------------------------------- */

enum { BAD_NONE = -1, BAD_OUTSIDE = -2 };

/* 1 if everything in the block that is known before the first search is what the job says. */
static int header_equals(const go_block *block, const go_job *job) {
  if (block->counter != job->counter || block->size != job->rules.rows || block->komi_half != job->rules.komi_half ||
      block->opening != job->opening || block->opening_moves != job->opening_len)
    return 0;
  for (int32_t i = 0; i < job->opening_len; i++)
    if (go_read_u16(block->move + 2 * i) != job->opening_moves[i]) return 0;
  return 1;
}

static int replay(go_run *run, const uint8_t *data, size_t len, int32_t *bad_ply) {
  go_block block;
  go_outcome outcome;
  go_ply ply;
  *bad_ply = BAD_OUTSIDE;
  int status = run_begin(run);
  if (status == GO_OK) status = go_block_parse(data, len, &block);
  if (status != GO_OK) return status;
  if (!header_equals(&block, run->job)) return GO_ERR_MISMATCH;
  for (int32_t i = 0; i < block.plies; i++) {
    *bad_ply = block.opening_moves + i;
    if (run->game->end != GO_END_NONE) return GO_ERR_MISMATCH; /* the block goes on after the game's end */
    status = run_search(run, &ply);
    if (status != GO_OK) return status;
    if (!go_block_ply_equals(&block, i, &ply)) return GO_ERR_MISMATCH;
    status = go_game_play(run->game, ply.move, GO_EMPTY);
    if (status != GO_OK) return status;
  }
  *bad_ply = BAD_OUTSIDE;
  status = outcome_of(run->game, &outcome);
  if (status != GO_OK) return status;
  if (outcome.end != block.end || outcome.score_half != block.score_half ||
      go_result_of(outcome.score_half) != block.result)
    return GO_ERR_MISMATCH;
  *bad_ply = BAD_NONE;
  return GO_OK;
}

void go_replay_job(go_search *search, const go_job *job, const uint8_t *block, size_t len, const atomic_int *stop,
                   go_played *out) {
  go_run run = {.search = search, .job = job, .stop = stop};
  int32_t bad_ply;
  *out = (go_played){0};
  const int status = replay(&run, block, len, &bad_ply);
  run_end(&run, status, status == GO_ERR_MISMATCH || status == GO_ERR_FORMAT ? bad_ply : BAD_NONE, out);
}
