/* The pool: games whole, in any order, with any number of threads and games in flight, replayed, edited, stopped. */
#include "pool_jobs.h"

enum { JOBS = 12 };

/* The same bytes and as many evaluations with any numbers of threads and games in flight, in any order. */
static void test_threads_and_games(const go_net *one, const go_net *two) {
  const int32_t threads[] = {1, 2, 4, 1, 2, 1}, in_flight[] = {1, 1, 2, 8, 8, 32};
  go_job jobs[JOBS];
  go_game_bytes want[JOBS] = {{0}};
  mixed_jobs(jobs, JOBS, one, two);
  for (int run = 0; run < 6; run++) {
    go_game_bytes games[JOBS] = {{0}};
    go_pool *pool;
    CHECK_EQ(go_pool_new(threads[run], in_flight[run], run == 1 ? GO_KERNEL_SCALAR : GO_KERNEL_BEST, &pool), GO_OK);
    play_jobs(pool, jobs, JOBS, run ? games : want);
    go_pool_free(pool);
    if (run == 0) continue;
    CHECK(games_equal(want, games, JOBS));
    free_games(games, JOBS);
  }
  for (int i = 0; i < JOBS; i++) {
    go_block block;
    int32_t bad_ply;
    CHECK_EQ(go_block_parse(want[i].block, want[i].len, &block), GO_OK);
    CHECK(block.counter == (uint64_t)i && block.opening == 3 && block.opening_moves == 2 && block.plies == want[i].plies);
    CHECK_EQ(go_block_check(&jobs[i].rules, want[i].block, want[i].len, &bad_ply), GO_OK);
    CHECK((want[i].evaluations > 0) == (jobs[i].black.net || jobs[i].white.net));
    for (int other = 0; other < i; other++)
      CHECK(want[i].len != want[other].len || memcmp(want[i].block + 8, want[other].block + 8, want[i].len - 8) != 0);
  }
  free_games(want, JOBS);
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

/* Edited blocks are found while honest ones and other games go on in the same thread. */
static void test_replays_side_by_side(const go_net *one, const go_net *two) {
  go_job jobs[JOBS];
  go_game_bytes games[JOBS] = {{0}};
  go_pool *pool;
  mixed_jobs(jobs, JOBS, one, two);
  CHECK_EQ(go_pool_new(1, 5, GO_KERNEL_BEST, &pool), GO_OK);
  play_jobs(pool, jobs, JOBS, games);
  for (int i = 0; i < JOBS; i++) {
    go_block block;
    CHECK_EQ(go_block_parse(games[i].block, games[i].len, &block), GO_OK);
    if (i % 2) games[i].block[block.value - games[i].block + 4 * (i % block.plies)] ^= 1;
    CHECK_EQ(go_pool_replay(pool, jobs + i, games[i].block, games[i].len), GO_OK);
  }
  for (int i = 0; i < JOBS; i++) {
    uint8_t *none, *digests;
    const go_done done = finish(pool, &none, &digests);
    const int n = (int)done.id, bad = n % games[n].plies;
    CHECK_EQ(done.status, n % 2 ? GO_ERR_MISMATCH : GO_OK);
    CHECK_EQ(done.bad_ply, n % 2 ? bad + 2 : -1);
    CHECK_EQ(done.plies, n % 2 ? bad + 1 : games[n].plies);
    CHECK(none == NULL && memcmp(digests, games[n].digests, 32 * (size_t)done.plies) == 0);
    free(digests);
  }
  go_pool_free(pool);
  free_games(games, JOBS);
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
  CHECK(go_pool_new(1, 0, GO_KERNEL_SCALAR, &pool) == GO_ERR_ARGUMENT);
  CHECK(go_pool_new(1, 1025, GO_KERNEL_SCALAR, &pool) == GO_ERR_ARGUMENT);
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
  test_threads_and_games(one, two);
  test_replay(NULL);
  test_replay(one);
  test_replays_side_by_side(one, two);
  test_two_networks(one, two);
  test_refusals();
  test_stop();
  go_net_free(one);
  go_net_free(two);
  return CHECK_RESULT;
}
