/* The pool: games whole, in any order, on any number of threads, replayed, edited, stopped. */
#include <stdlib.h>
#include <string.h>

#include "../src/seat.h"
#include "check.h"

enum { JOBS = 6 };

static go_job job_of(uint64_t counter, const go_net *net) {
  go_job job = {.id = 100 + counter,
                .counter = counter,
                .rules = {.rows = 7, .cols = 7, .ko = GO_KO_POSITIONAL, .komi_half = 13, .move_cap = 24},
                .config = {.visits_full = 20, .visits_fast = 6, .full_share_ppm = 400000, .cpuct_micro = 1100000,
                           .fpu_reduction_micro = 200000, .noise_weight_ppm = 250000, .noise_alpha_micro = 10830000,
                           .root_temperature_micro = 1100000, .forced_playouts_micro = 2000000,
                           .score_utility_micro = 100000, .temperature_start_micro = 800000,
                           .temperature_end_micro = 200000, .temperature_halflife = 7, .gumbel_considered = 1, .symmetry = 1},
                .black = {net, {1}},
                .white = {net, {1}},
                .opening = 3,
                .opening_len = 2,
                .opening_moves = {16, 32}};
  job.ids.game_seed[0] = (uint8_t)counter;
  job.ids.config[0] = 9;
  return job;
}

static go_net *first_net(uint8_t first) {
  const uint8_t digest[32] = {first};
  char why[128];
  size_t len = 0;
  go_net *net = NULL;
  go_net_first(digest, 1, 16, NULL, &len);
  uint8_t *file = malloc(len);
  CHECK(go_net_first(digest, 1, 16, file, &len) == GO_OK);
  CHECK(go_net_load(file, len, &net, why, sizeof why) == GO_OK);
  free(file);
  return net;
}

/* Waits for one job and takes what it gave; *block may be NULL afterwards. */
static go_done finish(go_pool *pool, uint8_t **block, uint8_t **digests) {
  go_done done = {0};
  int32_t got = 0;
  CHECK(go_pool_wait(pool, 60000, &done, &got) == GO_OK && got == 1);
  *block = done.block_len ? malloc(done.block_len) : NULL;
  *digests = done.plies ? malloc(32 * (size_t)done.plies) : NULL;
  if (done.block_len || done.plies) {
    CHECK(go_pool_take(pool, done.id, *block, done.block_len, *digests, 32 * (size_t)done.plies) == GO_OK);
    CHECK(go_pool_take(pool, done.id, NULL, 0, NULL, 0) == GO_ERR_ARGUMENT);
  }
  return done;
}

typedef struct go_game_bytes {
  uint8_t *block, *digests;
  size_t len;
  int32_t plies;
} go_game_bytes;

static void play_all(int32_t threads, int reversed, const go_net *net, go_game_bytes games[JOBS]) {
  go_pool *pool;
  CHECK(go_pool_new(threads, 1, GO_KERNEL_BEST, &pool) == GO_OK);
  for (int i = 0; i < JOBS; i++) {
    const go_job job = job_of((uint64_t)(reversed ? JOBS - 1 - i : i), net);
    CHECK(go_pool_play(pool, &job) == GO_OK);
  }
  for (int i = 0; i < JOBS; i++) {
    uint8_t *block, *digests;
    const go_done done = finish(pool, &block, &digests);
    CHECK(done.status == GO_OK && done.bad_ply == -1 && done.plies > 0 && done.block_len > 0);
    CHECK(done.visits > done.plies && (net ? done.evaluations > 0 : done.evaluations == 0));
    games[done.id - 100] = (go_game_bytes){block, digests, done.block_len, done.plies};
  }
  CHECK(go_pool_pending(pool) == 0);
  go_pool_free(pool);
}

static void free_all(go_game_bytes games[JOBS]) {
  for (int i = 0; i < JOBS; i++) {
    free(games[i].block);
    free(games[i].digests);
  }
}

static void test_order_and_threads(const go_net *net) {
  go_game_bytes one[JOBS] = {{0}}, two[JOBS] = {{0}};
  play_all(1, 0, net, one);
  play_all(2, 1, net, two);
  for (int i = 0; i < JOBS; i++) {
    go_block block;
    CHECK(one[i].len == two[i].len && memcmp(one[i].block, two[i].block, one[i].len) == 0);
    CHECK(memcmp(one[i].digests, two[i].digests, 32 * (size_t)one[i].plies) == 0);
    CHECK(go_block_parse(one[i].block, one[i].len, &block) == GO_OK);
    CHECK(block.counter == (uint64_t)i && block.opening == 3 && block.opening_moves == 2 && block.plies == one[i].plies);
    const go_job job = job_of((uint64_t)i, net);
    int32_t bad_ply;
    CHECK(go_block_check(&job.rules, one[i].block, one[i].len, &bad_ply) == GO_OK);
    for (int other = 0; other < i; other++)
      CHECK(one[i].len != one[other].len || memcmp(one[i].block + 8, one[other].block + 8, one[i].len - 8) != 0);
  }
  free_all(one);
  free_all(two);
}

/* ---- replay --------------------------------------------------------------------------------------------- */

static void expect(go_pool *pool, const go_job *job, const uint8_t *data, size_t len, int status, int32_t bad_ply) {
  uint8_t *block, *digests;
  CHECK(go_pool_replay(pool, job, data, len) == GO_OK);
  const go_done done = finish(pool, &block, &digests);
  CHECK(done.status == status);
  CHECK(done.bad_ply == bad_ply);
  CHECK(block == NULL && done.id == job->id);
  if (status == GO_ERR_MISMATCH && bad_ply >= 0) CHECK(done.plies == bad_ply - job->opening_len + 1);
  free(digests);
}

static void expect_edit(go_pool *pool, const go_job *job, const uint8_t *data, size_t len, const uint8_t *at, int status,
                        int32_t bad_ply) {
  uint8_t *copy = malloc(len);
  memcpy(copy, data, len);
  copy[at - data] ^= 1;
  expect(pool, job, copy, len, status, bad_ply);
  free(copy);
}

static void test_replay(const go_net *net) {
  go_pool *pool;
  go_block block;
  const go_job job = job_of(4, net);
  CHECK(go_pool_new(2, 1, GO_KERNEL_SCALAR, &pool) == GO_OK);
  CHECK(go_pool_play(pool, &job) == GO_OK);
  uint8_t *data, *digests, *again;
  const go_done done = finish(pool, &data, &digests);
  const size_t len = done.block_len;
  CHECK(go_pool_replay(pool, &job, data, len) == GO_OK);
  uint8_t *none;
  const go_done replayed = finish(pool, &none, &again);
  CHECK(replayed.status == GO_OK && replayed.bad_ply == -1 && none == NULL && replayed.plies == done.plies);
  CHECK(memcmp(digests, again, 32 * (size_t)done.plies) == 0);
  free(again);

  CHECK(go_block_parse(data, len, &block) == GO_OK);
  const size_t row = 2 * (size_t)block.width;
  const int places[3] = {0, block.plies / 2, block.plies - 1};
  for (int i = 0; i < 3; i++) {
    const size_t p = (size_t)places[i];
    const int32_t bad = 2 + places[i];
    expect_edit(pool, &job, data, len, block.move + 2 * (p + 2), GO_ERR_MISMATCH, bad);
    expect_edit(pool, &job, data, len, block.kind + p, GO_ERR_MISMATCH, bad);
    expect_edit(pool, &job, data, len, block.visits + row * p + 2, GO_ERR_MISMATCH, bad);
    expect_edit(pool, &job, data, len, block.policy_target + row * (p + 1) - 2, GO_ERR_MISMATCH, bad);
    expect_edit(pool, &job, data, len, block.value + 4 * p, GO_ERR_MISMATCH, bad);
    expect_edit(pool, &job, data, len, block.score + 4 * p + 3, GO_ERR_MISMATCH, bad);
    expect_edit(pool, &job, data, len, block.trace_hash + 32 * p + 31, GO_ERR_MISMATCH, bad);
  }
  expect_edit(pool, &job, data, len, data + GO_BLOCK_COUNTER, GO_ERR_MISMATCH, -2);
  expect_edit(pool, &job, data, len, data + GO_BLOCK_END, block.end == GO_END_PASSES ? GO_ERR_FORMAT : GO_ERR_MISMATCH, -2);
  expect_edit(pool, &job, data, len, data + GO_BLOCK_RESULT, GO_ERR_FORMAT, -2);
  expect_edit(pool, &job, data, len, data + GO_BLOCK_OPENING, GO_ERR_MISMATCH, -2);
  expect_edit(pool, &job, data, len, block.move, GO_ERR_MISMATCH, -2);
  expect(pool, &job, data, len - 1, GO_ERR_FORMAT, -2);
  expect(pool, &job, data, 0, GO_ERR_FORMAT, -2);
  uint8_t *score = malloc(len); /* two half points off: the form is right, the number is not */
  memcpy(score, data, len);
  go_write_u32(score + GO_BLOCK_SCORE, (uint32_t)(block.score_half + (block.score_half > 0 ? 2 : -2)));
  expect(pool, &job, score, len, GO_ERR_MISMATCH, -2);
  free(score);
  free(data);
  free(digests);
  go_pool_free(pool);
}

/* A gate game: each colour searches with its own network, and D names the release to move. */
static void test_two_networks(const go_net *one, const go_net *two) {
  go_pool *pool;
  go_job job = job_of(5, one), alike = job_of(5, one);
  job.white = (go_player){two, {2}};
  job.id = 1;
  CHECK(go_pool_new(1, 1, GO_KERNEL_BEST, &pool) == GO_OK);
  CHECK(go_pool_play(pool, &job) == GO_OK);
  CHECK(go_pool_play(pool, &alike) == GO_OK);
  uint8_t *a, *b, *da, *db;
  const go_done mixed = finish(pool, &a, &da), same = finish(pool, &b, &db);
  CHECK(mixed.status == GO_OK && same.status == GO_OK);
  CHECK(memcmp(da, db, 32) == 0);           /* black's first ply does not know white */
  CHECK(memcmp(da + 32, db + 32, 32) != 0); /* white's does */
  expect(pool, &job, a, mixed.block_len, GO_OK, -1);
  expect(pool, &alike, a, mixed.block_len, GO_ERR_MISMATCH, 3);
  free(a);
  free(b);
  free(da);
  free(db);
  go_pool_free(pool);
}

/* ---- arguments and stop --------------------------------------------------------------------------------- */

static void test_refusals(void) {
  go_pool *pool;
  CHECK(go_pool_new(0, 1, GO_KERNEL_SCALAR, &pool) == GO_ERR_ARGUMENT);
  CHECK(go_pool_new(1, 1, 99, &pool) == GO_ERR_KERNEL);
  CHECK(go_pool_new(1, 1, GO_KERNEL_SCALAR, &pool) == GO_OK);
  go_job job = job_of(0, NULL);
  job.rules.cols = 9;
  CHECK(go_pool_play(pool, &job) == GO_ERR_ARGUMENT);
  job = job_of(0, NULL);
  job.rules.move_cap = 0;
  CHECK(go_pool_play(pool, &job) == GO_ERR_ARGUMENT);
  job = job_of(0, NULL);
  job.opening_len = 65;
  CHECK(go_pool_play(pool, &job) == GO_ERR_ARGUMENT);
  job = job_of(0, NULL);
  job.opening_moves[1] = 16; /* occupied: found when the game begins */
  CHECK(go_pool_play(pool, &job) == GO_OK);
  uint8_t *block, *digests;
  const go_done done = finish(pool, &block, &digests);
  CHECK(done.status == GO_ERR_OCCUPIED && done.plies == 0 && block == NULL && digests == NULL);
  go_done late;
  int32_t got = 1;
  CHECK(go_pool_wait(pool, 1, &late, &got) == GO_OK && got == 0);
  CHECK(go_pool_wait(pool, -1, &late, &got) == GO_ERR_ARGUMENT);
  go_pool_free(pool);
}

static void test_stop(void) {
  go_pool *pool;
  go_job job = job_of(0, NULL);
  job.config.visits_full = job.config.visits_fast = 60000;
  CHECK(go_pool_new(2, 1, GO_KERNEL_SCALAR, &pool) == GO_OK);
  for (int i = 0; i < 4; i++) {
    job.id = (uint64_t)i;
    CHECK(go_pool_play(pool, &job) == GO_OK);
  }
  go_pool_stop(pool);
  CHECK(go_pool_play(pool, &job) == GO_ERR_STOPPED);
  for (int i = 0; i < 4; i++) {
    uint8_t *block, *digests;
    const go_done done = finish(pool, &block, &digests);
    CHECK(done.status == GO_ERR_STOPPED && done.block_len == 0);
    free(digests);
  }
  go_pool_free(pool);

  CHECK(go_pool_new(2, 1, GO_KERNEL_SCALAR, &pool) == GO_OK); /* freed with work queued, running and not taken */
  CHECK(go_pool_play(pool, &(go_job){0}) == GO_ERR_ARGUMENT);
  for (int i = 0; i < 4; i++) CHECK(go_pool_play(pool, &job) == GO_OK);
  go_pool_free(pool);
  go_pool_free(NULL);
}

int main(void) {
  go_net *one = first_net(1), *two = first_net(2);
  test_order_and_threads(NULL);
  test_order_and_threads(one);
  test_replay(NULL);
  test_replay(one);
  test_two_networks(one, two);
  test_refusals();
  test_stop();
  go_net_free(one);
  go_net_free(two);
  return CHECK_RESULT;
}
