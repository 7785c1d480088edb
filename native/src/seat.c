/* One game in flight, played or replayed (docs/spec/search.md, docs/spec/batch.md). */
#include "seat.h"

#include <stdlib.h>
#include <string.h>

enum { BAD_NONE = -1, BAD_OUTSIDE = -2 };

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

int go_seat_init(go_seat *seat, go_cache *cache) {
  *seat = (go_seat){.cache = cache};
  return go_search_new(&seat->search);
}

void go_seat_clear(go_seat *seat) {
  go_search_free(seat->search);
  go_game_free(seat->game);
  free(seat->record.digests);
  go_record_free(&seat->record);
}

/* ---- begin ---------------------------------------------------------------------------------------------- */

/* 1 if everything in the block that is known before the first search is what the job says. */
static int header_equals(const go_block *block, const go_job *job) {
  if (block->counter != job->counter || block->size != job->rules.rows || block->komi_half != job->rules.komi_half ||
      block->opening != job->opening || block->opening_moves != job->opening_len)
    return 0;
  for (int32_t i = 0; i < job->opening_len; i++)
    if (go_read_u16(block->move + 2 * i) != job->opening_moves[i]) return 0;
  return 1;
}

/* 1 if no ply is left to search: the game is over, or the block is. */
static int is_searched(const go_seat *seat) {
  return seat->task->block ? seat->record.plies == seat->block.plies : seat->game->end != GO_END_NONE;
}

static int begin_ply(go_seat *seat) {
  const go_job *job = &seat->task->job;
  if (is_searched(seat)) return GO_OK;
  if (seat->game->end != GO_END_NONE) { /* the block goes on after the game's end */
    seat->task->done.bad_ply = seat->game->moves;
    return GO_ERR_MISMATCH;
  }
  const go_player *player = seat->game->to_move == GO_BLACK ? &job->black : &job->white;
  return go_search_begin(seat->search, player, &job->config, &job->ids, seat->game);
}

/* Records and plays what the begun game has, as if it had been searched here. */
static int take_up(go_seat *seat) {
  go_task *task = seat->task;
  const uint8_t *digests;
  go_block begun;
  go_ply ply;
  int status = go_begun_parse(task->begun, task->begun_len, &begun, &digests);
  if (status == GO_OK && !header_equals(&begun, &task->job)) status = GO_ERR_MISMATCH;
  for (int32_t i = 0; status == GO_OK && i < begun.plies; i++) {
    status = go_block_read_ply(&begun, i, digests + 32 * i, &ply);
    if (status == GO_OK) status = go_record_add(&seat->record, &ply);
    for (int32_t at = 0; status == GO_OK && at < begun.width; at++) task->done.visits += ply.visits[at];
    if (status == GO_OK) task->done.visits++; /* the root's own */
    if (status == GO_OK && ply.move >= begun.width) status = GO_ERR_FORMAT;
    if (status == GO_OK && go_game_play(seat->game, ply.move, GO_EMPTY) != GO_OK) status = GO_ERR_MISMATCH;
    if (status == GO_OK && seat->game->end != GO_END_NONE) status = GO_ERR_MISMATCH;
  }
  return status;
}

static int begin(go_seat *seat) {
  const go_task *task = seat->task;
  const go_job *job = &task->job;
  int status = go_job_check(job);
  if (status == GO_OK) status = go_game_new(&job->rules, &seat->game);
  for (int32_t i = 0; i < job->opening_len && status == GO_OK; i++)
    status = go_game_play(seat->game, job->opening_moves[i], GO_EMPTY);
  if (status == GO_OK && seat->game->end != GO_END_NONE) status = GO_ERR_FINISHED;
  if (status == GO_OK && task->block) {
    status = go_block_parse(task->block, task->block_len, &seat->block);
    if (status == GO_OK && !header_equals(&seat->block, job)) status = GO_ERR_MISMATCH;
  }
  if (status == GO_OK && !task->block && task->begun) status = take_up(seat);
  if (status != GO_OK) return status;
  return begin_ply(seat);
}

void go_seat_begin(go_seat *seat, go_task *task, uint64_t game_no) {
  seat->task = task;
  seat->game_no = game_no;
  seat->waits = 0;
  seat->record.width = task->job.rules.rows * task->job.rules.cols + 1;
  task->done = (go_done){.id = task->job.id, .bad_ply = BAD_OUTSIDE};
  seat->status = begin(seat);
}

/* ---- end ------------------------------------------------------------------------------------------------ */

static int write_block(const go_seat *seat, int32_t score_half) {
  go_task *task = seat->task;
  const size_t len = go_block_bytes(task->job.rules.rows, seat->game->moves, seat->record.plies);
  task->played = malloc(len);
  if (!task->played) return GO_ERR_MEMORY;
  go_block_write(&task->job, seat->game, score_half, &seat->record, task->played);
  task->done.block_len = len;
  return GO_OK;
}

/* What a stopped game has, for go_pool_play_on; nothing for one without a searched ply, or for want of memory. */
static void write_begun(const go_seat *seat) {
  go_task *task = seat->task;
  const go_record *record = &seat->record;
  const int32_t size = task->job.rules.rows, moves = seat->game->moves;
  if (task->block || record->plies == 0) return;
  const size_t len = go_begun_bytes(size, moves, record->plies);
  task->played = malloc(len);
  if (!task->played) return;
  go_block_write(&task->job, seat->game, 0, record, task->played);
  memcpy(task->played + go_block_bytes(size, moves, record->plies), record->digests, 32 * (size_t)record->plies);
  task->done.block_len = len;
}

/* The game is over: its block, or a look at what the block says of the end. */
static int conclude(const go_seat *seat) {
  const go_block *block = &seat->block;
  int32_t score_half;
  const int status = go_game_score(seat->game, &score_half, NULL, 0);
  if (status != GO_OK) return status;
  if (!seat->task->block) return write_block(seat, score_half);
  const int same = seat->game->end == block->end && score_half == block->score_half &&
                   go_result_of(score_half) == block->result;
  return same ? GO_OK : GO_ERR_MISMATCH;
}

/* Frees the seat; its task is done. */
static void leave(go_seat *seat, int status) {
  go_task *task = seat->task;
  task->done.status = status;
  if (status == GO_ERR_STOPPED) write_begun(seat);
  if (status == GO_ERR_STOPPED && seat->search->nodes > 0) task->done.visits += seat->search->node[0].visits;
  if (status != GO_ERR_MISMATCH && status != GO_ERR_FORMAT) task->done.bad_ply = BAD_NONE;
  task->done.plies = seat->record.plies;
  task->digests = seat->record.digests;
  go_record_free(&seat->record);
  go_game_free(seat->game);
  seat->game = NULL;
  seat->task = NULL;
}

/* ---- plies ---------------------------------------------------------------------------------------------- */

/* Records the ply that has its visits, plays its move and begins the next. */
static int end_ply(go_seat *seat) {
  go_task *task = seat->task;
  go_ply ply;
  int status = go_search_finish(seat->search, &ply);
  if (status == GO_OK) status = go_record_add(&seat->record, &ply);
  if (status != GO_OK) return status;
  task->done.visits += seat->search->tuning.visits;
  if (task->block && !go_block_ply_equals(&seat->block, seat->record.plies - 1, &ply)) {
    task->done.bad_ply = seat->game->moves;
    return GO_ERR_MISMATCH;
  }
  status = go_game_play(seat->game, ply.move, GO_EMPTY);
  return status == GO_OK ? begin_ply(seat) : status;
}

/* A position that needs the network: answered from the cache, or made ready to be evaluated. */
static int ask(go_seat *seat, const go_game *position) {
  const go_job *job = &seat->task->job;
  go_answer answer;
  const int status =
      go_leaf_set(&seat->leaf, position, seat->search->player->net, job->ids.game_seed, seat->game_no);
  if (status != GO_OK) return status;
  if (go_cache_find(seat->cache, &seat->leaf.key, &answer)) return go_search_answer(seat->search, &answer);
  if (job->config.symmetry) go_leaf_turn(&seat->leaf);
  seat->waits = 1;
  return GO_OK;
}

int go_seat_advance(go_seat *seat, const atomic_int *stop) {
  int status = seat->status;
  while (status == GO_OK && !is_searched(seat)) {
    const go_game *position;
    status = go_search_advance(seat->search, stop, &position);
    if (status == GO_OK) status = position ? ask(seat, position) : end_ply(seat);
    if (status == GO_OK && seat->waits) return 1;
  }
  if (status == GO_OK) status = conclude(seat);
  leave(seat, status);
  return 0;
}

void go_seat_answer(go_seat *seat, const go_output *output) {
  const go_answer answer = go_leaf_answer(&seat->leaf, output);
  go_cache_add(seat->cache, &seat->leaf.key, &answer);
  seat->task->done.evaluations++;
  seat->waits = 0;
  seat->status = go_search_answer(seat->search, &answer);
}

void go_seat_fail(go_seat *seat, int status) {
  seat->waits = 0;
  if (seat->status == GO_OK) seat->status = status;
}
