/* A game in flight and what it keeps: cache, symmetries, and the same game whatever the cache holds. */
#include "../src/seat.h"
#include "pool_jobs.h"

enum { SIDE = 7, POINTS = SIDE * SIDE, PLANES = GO_FEATURE_PLANES * POINTS };

/* ---- cache ---------------------------------------------------------------------------------------------- */

static void test_keys(void) {
  static uint8_t planes[PLANES];
  static go_key key, other;
  for (int i = 0; i < PLANES; i++) planes[i] = i % 5 == 0 ? (uint8_t)(1 + i / POINTS) : 0;
  go_key_set(&key, 1, NULL, planes, SIDE);
  CHECK_EQ(key.size, SIDE);
  for (int i = 0; i < PLANES; i++) { /* every point of every plane is in it */
    const uint8_t before = planes[i];
    planes[i] = before ? 0 : (uint8_t)(1 + i / POINTS);
    go_key_set(&other, 1, NULL, planes, SIDE);
    CHECK(other.size == SIDE && other.hash != key.hash && memcmp(other.bytes, key.bytes, key.len) != 0);
    planes[i] = before;
  }
  planes[0] = 127;
  go_key_set(&other, 1, NULL, planes, SIDE); /* two values in one plane */
  CHECK_EQ(other.size, 0);
  for (int i = 0; i < POINTS; i++) planes[i] = planes[i] ? 127 : 0;
  go_key_set(&other, 1, NULL, planes, SIDE); /* the same points with another value */
  CHECK(other.size == SIDE && memcmp(other.bytes, key.bytes, key.len) != 0);
  go_key_set(&other, 2, NULL, planes, SIDE);
  CHECK(other.hash != key.hash);
}

static void key_of(go_key *key, uint64_t game, int number) {
  uint8_t planes[PLANES] = {0};
  for (int bit = 0; bit < 16; bit++) planes[bit] = number >> bit & 1 ? 64 : 0;
  go_key_set(key, game, NULL, planes, SIDE);
}

static void test_cache(void) {
  enum { MANY = 4096 };
  const size_t bytes[3] = {0, 4000, 8 << 20};
  static int32_t policy[POINTS + 1];
  static go_key key;
  for (int b = 0; b < 3; b++) {
    go_cache *cache;
    go_answer answer;
    int found = 0;
    CHECK_EQ(go_cache_new(bytes[b], &cache), GO_OK);
    for (int i = 0; i < MANY; i++) {
      key_of(&key, 1, i);
      CHECK(!go_cache_find(cache, &key, &answer));
      policy[0] = policy[POINTS] = i;
      go_cache_add(cache, &key, &(go_answer){policy, i + 1, i + 2});
      CHECK_EQ(go_cache_find(cache, &key, &answer), bytes[b] > 0);
    }
    for (int i = 0; i < MANY; i++) {
      key_of(&key, 2, i);
      CHECK(!go_cache_find(cache, &key, &answer)); /* another game */
      key_of(&key, 1, i);
      if (!go_cache_find(cache, &key, &answer)) continue;
      found++;
      CHECK(answer.policy[0] == i && answer.policy[POINTS] == i && answer.value == i + 1 && answer.score_mean == i + 2);
    }
    CHECK(b == 0 ? found == 0 : b == 1 ? found > 0 && found < 16 : found > MANY * 9 / 10);
    key_of(&key, 1, 1);
    key.net = (const go_net *)&key;
    CHECK(!go_cache_find(cache, &key, &answer)); /* another network */
    go_cache_free(cache);
  }
}

/* ---- symmetries ----------------------------------------------------------------------------------------- */

/* What comes back for a point is what the network said of the place where the point went. */
static void test_turns(void) {
  const go_rules rules = {.rows = SIDE, .cols = SIDE, .move_cap = 20};
  static go_leaf leaf;
  static go_output output;
  uint8_t seed[32] = {0}, before[PLANES];
  int seen[8] = {0};
  go_game *game;
  CHECK_EQ(go_game_new(&rules, &game), GO_OK);
  CHECK_EQ(go_game_play(game, 3, GO_EMPTY), GO_OK);
  CHECK_EQ(go_game_play(game, 9, GO_EMPTY), GO_OK);
  for (int i = 0; i < 64; i++) {
    seed[0] = (uint8_t)i;
    CHECK_EQ(go_leaf_set(&leaf, game, NULL, seed, 1), GO_OK);
    memcpy(before, go_leaf_planes(&leaf), PLANES);
    go_leaf_turn(&leaf);
    seen[leaf.symmetry]++;
    for (int plane = 0; plane < GO_FEATURE_PLANES; plane++) {
      for (int p = 0; p < POINTS; p++) output.policy[p] = 1000 * plane + go_leaf_planes(&leaf)[plane * POINTS + p];
      output.policy[POINTS] = -7;
      const go_answer answer = go_leaf_answer(&leaf, &output);
      for (int p = 0; p < POINTS; p++) CHECK_EQ(answer.policy[p], 1000 * plane + before[plane * POINTS + p]);
      CHECK_EQ(answer.policy[POINTS], -7);
    }
  }
  for (int k = 0; k < 8; k++) CHECK(seen[k] > 0);
  go_game_free(game);
}

/* ---- games ---------------------------------------------------------------------------------------------- */

/* Plays the job in a seat with a cache of that size. */
static go_task play(const go_job *job, go_eval *eval, size_t bytes) {
  static go_seat seat;
  static go_output output;
  go_task task = {.job = *job};
  go_cache *cache;
  CHECK_EQ(go_cache_new(bytes, &cache), GO_OK);
  CHECK_EQ(go_seat_init(&seat, cache), GO_OK);
  go_seat_begin(&seat, &task, 1);
  while (go_seat_advance(&seat, NULL)) {
    CHECK_EQ(go_eval_run(eval, SIDE, SIDE, 1, go_leaf_planes(&seat.leaf), PLANES, &output), GO_OK);
    go_seat_answer(&seat, &output);
  }
  go_seat_clear(&seat);
  go_cache_free(cache);
  return task;
}

/* Plays the job until so many leaves were answered, on from what `before` left unless that is NULL; then stops it. */
static go_task play_some(const go_job *job, go_eval *eval, go_task *before, int leaves) {
  static go_seat seat;
  static go_output output;
  go_task task = {.job = *job};
  go_cache *cache;
  if (before) {
    task.begun = before->played;
    task.begun_len = before->done.block_len;
  }
  CHECK_EQ(go_cache_new(0, &cache), GO_OK);
  CHECK_EQ(go_seat_init(&seat, cache), GO_OK);
  go_seat_begin(&seat, &task, 1);
  while (go_seat_advance(&seat, NULL)) {
    CHECK_EQ(go_eval_run(eval, SIDE, SIDE, 1, go_leaf_planes(&seat.leaf), PLANES, &output), GO_OK);
    go_seat_answer(&seat, &output);
    if (--leaves <= 0) go_seat_fail(&seat, GO_ERR_STOPPED);
  }
  go_seat_clear(&seat);
  go_cache_free(cache);
  return task;
}

static void task_clear(go_task *task) {
  free(task->played);
  free(task->digests);
}

/* With and without a cache, and with one of a few entries, it is the same game, also as plies searched one by one. */
static void test_games(const go_net *net, int32_t root) {
  go_eval *eval;
  go_job job = job_of(3, net);
  job.config.root = root;
  CHECK_EQ(go_eval_new(net, GO_KERNEL_BEST, &eval), GO_OK);
  go_task none = play(&job, eval, 0), few = play(&job, eval, 4000), all = play(&job, eval, 8 << 20);
  CHECK_EQ(none.done.status, GO_OK);
  CHECK(none.done.block_len == all.done.block_len && memcmp(none.played, all.played, all.done.block_len) == 0);
  CHECK(none.done.block_len == few.done.block_len && memcmp(none.played, few.played, few.done.block_len) == 0);
  CHECK(all.done.evaluations < none.done.evaluations && few.done.evaluations <= none.done.evaluations);
  go_game *game;
  go_block block;
  CHECK_EQ(go_block_parse(all.played, all.done.block_len, &block), GO_OK);
  CHECK_EQ(go_game_new(&job.rules, &game), GO_OK);
  for (int32_t i = 0; i < block.moves; i++) {
    const int32_t searched = i - block.opening_moves;
    go_ply ply;
    if (searched >= 0) {
      CHECK_EQ(go_search_ply(&job.black, GO_KERNEL_BEST, &job.config, &job.ids, game, &ply), GO_OK);
      CHECK(memcmp(ply.digest, all.digests + 32 * searched, 32) == 0);
    }
    CHECK_EQ(go_game_play(game, go_read_u16(block.move + 2 * i), GO_EMPTY), GO_OK);
  }
  go_game_free(game);
  go_eval_free(eval);
  task_clear(&none);
  task_clear(&few);
  task_clear(&all);
}

/* ---- begun games ---------------------------------------------------------------------------------------- */

/* A game that is stopped over and over, and taken up from the bytes that it left, is the same game, and no ply is searched
 * twice; stopped at once it leaves what it had. */
static void test_taken_up(const go_net *net) {
  enum { LEAVES = 45 };
  go_eval *eval;
  const go_job job = job_of(5, net);
  CHECK_EQ(go_eval_new(net, GO_KERNEL_BEST, &eval), GO_OK);
  go_task whole = play(&job, eval, 0), now = play_some(&job, eval, NULL, LEAVES);
  int64_t searched = 0; /* the plies that were searched to their end */
  int stops = 0;
  while (now.done.status == GO_ERR_STOPPED && now.done.plies > 0) {
    CHECK(now.done.block_len == go_begun_bytes(SIDE, now.done.plies + job.opening_len, now.done.plies));
    CHECK(now.done.plies > searched);
    searched = now.done.plies;
    go_task same = play_some(&job, eval, &now, 1), more = play_some(&job, eval, &now, LEAVES);
    CHECK(same.done.block_len == now.done.block_len && memcmp(same.played, now.played, now.done.block_len) == 0);
    task_clear(&same);
    task_clear(&now);
    now = more;
    stops++;
  }
  CHECK(stops > 3 && now.done.status == GO_OK && now.done.plies == whole.done.plies);
  CHECK(now.done.block_len == whole.done.block_len && memcmp(now.played, whole.played, whole.done.block_len) == 0);
  CHECK(memcmp(now.digests, whole.digests, 32 * (size_t)whole.done.plies) == 0);
  task_clear(&now);
  task_clear(&whole);
  go_eval_free(eval);
}

/* Bytes that are no begun game of the job end it, and are never followed out of bounds. */
static void test_damaged(const go_net *net) {
  go_eval *eval;
  const go_job job = job_of(5, net), other = job_of(6, net);
  CHECK_EQ(go_eval_new(net, GO_KERNEL_BEST, &eval), GO_OK);
  go_task begun = play_some(&job, eval, NULL, 60);
  CHECK(begun.done.plies > 1);
  go_task no = play_some(&other, eval, &begun, 1);
  CHECK(no.done.status == GO_ERR_MISMATCH && no.played == NULL);
  task_clear(&no);
  const size_t len = begun.done.block_len, digests = len - 32 * (size_t)begun.done.plies;
  for (size_t i = 0; i < len; i++) {
    begun.played[i] ^= 0x81;
    no = play_some(&job, eval, &begun, 1);
    if (i < GO_BLOCK_HEADER || i >= digests - 32) CHECK(no.done.status == GO_ERR_FORMAT || no.done.status == GO_ERR_MISMATCH);
    task_clear(&no);
    begun.played[i] ^= 0x81;
  }
  for (size_t cut = 0; cut < len; cut += 7) {
    begun.done.block_len = cut;
    no = play_some(&job, eval, &begun, 1);
    CHECK_EQ(no.done.status, GO_ERR_FORMAT);
    task_clear(&no);
  }
  task_clear(&begun);
  go_eval_free(eval);
}

int main(void) {
  go_net *net = first_net(4);
  test_keys();
  test_cache();
  test_turns();
  test_games(net, GO_ROOT_PUCT);
  test_games(net, GO_ROOT_GUMBEL);
  test_taken_up(net);
  test_damaged(net);
  go_net_free(net);
  return CHECK_RESULT;
}
