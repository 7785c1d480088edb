#ifndef GO_POOL_JOBS_H
#define GO_POOL_JOBS_H
/* Jobs, networks and results for the tests of the pool. */
#include <stdlib.h>
#include <string.h>

#include "../src/block.h"
#include "check.h"

static inline go_job job_of(uint64_t counter, const go_net *net) {
  go_job job = {.id = 100 + counter,
                .counter = counter,
                .rules = {.rows = 7, .cols = 7, .ko = GO_KO_POSITIONAL, .komi_half = 13, .move_cap = 24},
                .config = {.visits_full = 20, .visits_fast = 6, .full_share_ppm = 400000, .cpuct_micro = 1100000,
                           .fpu_reduction_micro = 200000, .noise_weight_ppm = 250000, .noise_alpha_micro = 10830000,
                           .root_temperature_micro = 1100000, .forced_playouts_micro = 2000000,
                           .score_utility_micro = 100000, .temperature_start_micro = 800000,
                           .temperature_end_micro = 200000, .temperature_halflife = 7, .gumbel_considered = 8,
                           .gumbel_noise_micro = 1000000, .gumbel_c_visit_micro = 50000000,
                           .gumbel_c_scale_micro = 1000000, .symmetry = 1},
                .black = {net, {1}},
                .white = {net, {1}},
                .opening = 3,
                .opening_len = 2,
                .opening_moves = {16, 32}};
  job.ids.game_seed[0] = (uint8_t)counter;
  job.ids.config[0] = 9;
  return job;
}

static inline go_net *first_net(uint8_t first) {
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
static inline go_done finish(go_pool *pool, uint8_t **block, uint8_t **digests) {
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
  int64_t evaluations;
} go_game_bytes;

/* Plays `count` games in `pool`, in any order; games[i] is that of jobs[i], whose id is i. */
static inline void play_jobs(go_pool *pool, const go_job *jobs, int count, go_game_bytes *games) {
  for (int i = 0; i < count; i++) CHECK_EQ(go_pool_play(pool, jobs + i), GO_OK);
  for (int i = 0; i < count; i++) {
    uint8_t *block, *digests;
    const go_done done = finish(pool, &block, &digests);
    CHECK_EQ(done.status, GO_OK);
    CHECK(done.bad_ply == -1 && done.plies > 0 && done.block_len > 0 && done.visits > done.plies);
    games[done.id] = (go_game_bytes){block, digests, done.block_len, done.plies, done.evaluations};
  }
  CHECK_EQ(go_pool_pending(pool), 0);
}

static inline void free_games(go_game_bytes *games, int count) {
  for (int i = 0; i < count; i++) {
    free(games[i].block);
    free(games[i].digests);
  }
}

/* 1 if both have the same bytes, and took as many evaluations. */
static inline int games_equal(const go_game_bytes *a, const go_game_bytes *b, int count) {
  for (int i = 0; i < count; i++)
    if (a[i].len != b[i].len || a[i].evaluations != b[i].evaluations || memcmp(a[i].block, b[i].block, a[i].len) != 0 ||
        memcmp(a[i].digests, b[i].digests, 32 * (size_t)a[i].plies) != 0)
      return 0;
  return 1;
}

/* Jobs of two networks, uniform players, both roots and three board sizes, with ids 0 to count - 1. */
static inline void mixed_jobs(go_job *jobs, int count, const go_net *one, const go_net *two) {
  const int32_t sides[3] = {7, 9, 5};
  const go_net *nets[3] = {one, two, NULL};
  for (int i = 0; i < count; i++) {
    jobs[i] = job_of((uint64_t)i, nets[i % 3]);
    jobs[i].white.net = nets[i / 2 % 3];
    jobs[i].id = (uint64_t)i;
    jobs[i].rules.rows = jobs[i].rules.cols = sides[i / 3 % 3];
    jobs[i].config.symmetry = i % 4 != 1;
    jobs[i].opening_moves[1] = 18;
    if (i % 5 == 2) jobs[i].config.root = GO_ROOT_GUMBEL;
  }
}

#endif
