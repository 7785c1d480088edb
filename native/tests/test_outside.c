/* The pool with its evaluation outside: an evaluator in another thread that pulls and pushes gives the same games. */
#include <pthread.h>
#include <stdatomic.h>

#include "pool_jobs.h"

enum { JOBS = 12, POSITION = GO_FEATURE_PLANES * 9 * 9 };

/* ---- an evaluator --------------------------------------------------------------------------------------- */

typedef struct go_evaluator {
  go_pool *pool;
  const go_net *net[2];
  go_eval *eval[2];
  size_t room;             /* bytes of planes that it takes at once */
  atomic_int ended;
  int32_t largest;         /* most positions in one pull */
  pthread_t thread;
} go_evaluator;

static void evaluate(const go_evaluator *e, const go_pull *pull, const uint8_t *planes, go_output *outputs) {
  const size_t len = (size_t)(pull->count * GO_FEATURE_PLANES * pull->size * pull->size);
  CHECK(pull->net == e->net[0] || pull->net == e->net[1]);
  CHECK_EQ(go_eval_run(e->eval[pull->net != e->net[0]], pull->size, pull->size, pull->count, planes, len, outputs), GO_OK);
}

static void *serve(void *argument) {
  go_evaluator *e = argument;
  uint8_t *planes = malloc(e->room);
  go_output *outputs = malloc(e->room / (GO_FEATURE_PLANES * 25) * sizeof *outputs);
  while (!atomic_load(&e->ended)) {
    go_pull pull;
    int32_t got;
    CHECK_EQ(go_pool_pull(e->pool, 20, &pull, planes, e->room, &got), GO_OK);
    if (!got) continue;
    if (pull.count > e->largest) e->largest = pull.count;
    evaluate(e, &pull, planes, outputs);
    CHECK_EQ(go_pool_push(e->pool, pull.ticket, outputs, pull.count), GO_OK);
  }
  free(planes);
  free(outputs);
  return NULL;
}

static void start(go_evaluator *e, go_pool *pool, const go_net *one, const go_net *two, size_t room) {
  *e = (go_evaluator){.pool = pool, .net = {one, two}, .room = room};
  CHECK_EQ(go_eval_new(one, GO_KERNEL_BEST, &e->eval[0]), GO_OK);
  CHECK_EQ(go_eval_new(two, GO_KERNEL_BEST, &e->eval[1]), GO_OK);
  CHECK_EQ(pthread_create(&e->thread, NULL, serve, e), 0);
}

static void end(go_evaluator *e) {
  atomic_store(&e->ended, 1);
  pthread_join(e->thread, NULL);
  go_eval_free(e->eval[0]);
  go_eval_free(e->eval[1]);
}

/* ---- the same games ------------------------------------------------------------------------------------- */

static void test_same_games(const go_net *one, const go_net *two) {
  const int32_t threads[] = {1, 1, 2, 4}, in_flight[] = {1, 8, 3, 32};
  go_job jobs[JOBS];
  go_game_bytes want[JOBS] = {{0}};
  go_pool *pool;
  mixed_jobs(jobs, JOBS, one, two);
  CHECK_EQ(go_pool_new(1, 1, GO_KERNEL_BEST, &pool), GO_OK);
  play_jobs(pool, jobs, JOBS, want);
  go_pool_free(pool);
  for (int run = 0; run < 4; run++) {
    go_game_bytes games[JOBS] = {{0}};
    go_evaluator first, second;
    CHECK_EQ(go_pool_new(threads[run], in_flight[run], GO_KERNEL_OUTSIDE, &pool), GO_OK);
    start(&first, pool, one, two, 64 * POSITION);
    start(&second, pool, one, two, POSITION);
    play_jobs(pool, jobs, JOBS, games);
    end(&first);
    end(&second);
    go_pool_free(pool);
    CHECK(second.largest <= 3); /* a position of 9x9 has room for three of 5x5 */
    CHECK(games_equal(want, games, JOBS));
    free_games(games, JOBS);
  }
  free_games(want, JOBS);
}

/* ---- by hand -------------------------------------------------------------------------------------------- */

/* Pulls once; what comes must be of `net`. */
static go_pull pull_once(go_pool *pool, uint8_t *planes, size_t len, const go_net *net) {
  go_pull pull = {0};
  int32_t got = 0;
  CHECK_EQ(go_pool_pull(pool, 10000, &pull, planes, len, &got), GO_OK);
  CHECK(got == 1 && pull.net == net && pull.size == 7 && pull.count >= 1);
  return pull;
}

static void test_tickets(const go_net *one) {
  static uint8_t planes[8 * POSITION];
  static go_output outputs[8];
  go_pool *pool;
  go_pull none;
  int32_t got = 1;
  CHECK_EQ(go_pool_new(1, 1, GO_KERNEL_BEST, &pool), GO_OK);
  CHECK_EQ(go_pool_pull(pool, 0, &none, planes, sizeof planes, &got), GO_ERR_ARGUMENT);
  CHECK_EQ(go_pool_push(pool, 1, outputs, 1), GO_ERR_ARGUMENT);
  go_pool_free(pool);

  CHECK_EQ(go_pool_new(1, 8, GO_KERNEL_OUTSIDE, &pool), GO_OK);
  CHECK_EQ(go_pool_pull(pool, 1, &none, planes, sizeof planes, &got), GO_OK);
  CHECK_EQ(got, 0);
  CHECK_EQ(go_pool_pull(pool, -1, &none, planes, sizeof planes, &got), GO_ERR_ARGUMENT);
  for (int i = 0; i < 8; i++) {
    go_job job = job_of((uint64_t)i, one);
    CHECK_EQ(go_pool_play(pool, &job), GO_OK);
  }
  const go_pull first = pull_once(pool, planes, sizeof planes, one);
  CHECK_EQ(go_pool_push(pool, first.ticket + 1, outputs, first.count), GO_ERR_ARGUMENT);
  CHECK_EQ(go_pool_push(pool, first.ticket, outputs, first.count + 1), GO_ERR_ARGUMENT);
  CHECK_EQ(go_pool_push(pool, first.ticket, outputs, 0), GO_ERR_ARGUMENT);
  CHECK_EQ(go_pool_push(pool, first.ticket, NULL, first.count), GO_ERR_ARGUMENT);
  CHECK_EQ(go_pool_push(pool, first.ticket, outputs, first.count), GO_OK);
  CHECK_EQ(go_pool_push(pool, first.ticket, outputs, first.count), GO_ERR_ARGUMENT);
  const go_pull next = pull_once(pool, planes, sizeof planes, one);
  CHECK(next.ticket != first.ticket);
  CHECK_EQ(go_pool_push(pool, next.ticket, outputs, next.count), GO_OK);
  while (!pull_once(pool, planes, POSITION, one).count) continue; /* out when the pool goes */
  CHECK_EQ(go_pool_pull(pool, 10000, &none, planes, 100, &got), GO_ERR_ARGUMENT); /* no room for one position */
  go_pool_free(pool);
}

/* A stop brings every job back, whether its leaves wait or are out; a push that comes late is taken. */
static void test_stop(const go_net *one) {
  static uint8_t planes[8 * POSITION];
  static go_output outputs[8];
  go_pool *pool;
  go_pull late;
  int32_t got;
  CHECK_EQ(go_pool_new(2, 4, GO_KERNEL_OUTSIDE, &pool), GO_OK);
  for (int i = 0; i < 20; i++) {
    go_job job = job_of((uint64_t)i, one);
    CHECK_EQ(go_pool_play(pool, &job), GO_OK);
  }
  const go_pull pull = pull_once(pool, planes, sizeof planes, one);
  go_pool_stop(pool);
  for (int i = 0; i < 20; i++) {
    uint8_t *block, *digests;
    const go_done done = finish(pool, &block, &digests);
    CHECK_EQ(done.status, GO_ERR_STOPPED);
    CHECK(block == NULL && done.bad_ply == -1);
    free(digests);
  }
  CHECK_EQ(go_pool_push(pool, pull.ticket, outputs, pull.count), GO_OK);
  CHECK_EQ(go_pool_push(pool, pull.ticket, outputs, pull.count), GO_ERR_ARGUMENT);
  CHECK_EQ(go_pool_pull(pool, 1, &late, planes, sizeof planes, &got), GO_OK);
  CHECK_EQ(got, 0);
  go_pool_free(pool);
}

int main(void) {
  go_net *one = first_net(1), *two = first_net(2);
  test_same_games(one, two);
  test_tickets(one);
  test_stop(one);
  go_net_free(one);
  go_net_free(two);
  return CHECK_RESULT;
}
