/* A thread that plays its games side by side: every game goes on to its next leaf, then all leaves are evaluated. */
#include <stdlib.h>

#include "exact_math.h"
#include "pool.h"

enum { CACHE_LEAST = 4 << 20, CACHE_GAME = 512 << 10 }; /* bytes for a thread and for each of its games */

/* ---- games in and out ----------------------------------------------------------------------------------- */

static int32_t playing(const go_worker *worker) { return worker->group[0].playing + worker->group[1].playing; }

/* 1 if the group may take a job: there is one, and this thread has fewer games than an even share of all, and this group
 * fewer than its part of that. Under the lock. */
static int may_take(const go_worker *worker, const go_group *group) {
  const go_pool *pool = worker->pool;
  const int32_t all = pool->playing + atomic_load(&pool->queued);
  const int32_t share = (all + pool->threads - 1) / pool->threads;
  return pool->queue.first && group->playing < group->seats && playing(worker) < share &&
         group->playing < (share + worker->groups - 1) / worker->groups;
}

static int take(go_worker *worker, go_group *group, go_seat *seat) {
  go_pool *pool = worker->pool;
  go_task *task = NULL;
  if (atomic_load_explicit(&pool->queued, memory_order_relaxed) == 0) return 0;
  pthread_mutex_lock(&pool->lock);
  if (may_take(worker, group)) {
    task = go_list_pop(&pool->queue);
    atomic_fetch_sub(&pool->queued, 1);
    pool->playing++;
    group->playing++;
  }
  pthread_mutex_unlock(&pool->lock);
  if (!task) return 0;
  go_seat_begin(seat, task, ++worker->games);
  const int status = worker->batch ? go_batch_join(worker->batch, &task->job) : GO_OK;
  if (status != GO_OK) go_seat_fail(seat, status);
  if (atomic_load(&pool->stop)) go_seat_fail(seat, GO_ERR_STOPPED);
  return 1;
}

static void give_back(go_worker *worker, go_group *group, go_task *task) {
  go_pool *pool = worker->pool;
  if (worker->batch) go_batch_leave(worker->batch, &task->job);
  pthread_mutex_lock(&pool->lock);
  go_list_push(&pool->finished, task);
  pool->playing--;
  group->playing--;
  pthread_cond_signal(&pool->result);
  pthread_mutex_unlock(&pool->lock);
}

/* ---- groups --------------------------------------------------------------------------------------------- */

/* Every game of the group goes on until it waits for its leaf; free seats take jobs. */
static void advance(go_worker *worker, go_group *group) {
  for (go_seat *seat = group->seat; seat < group->seat + group->seats; seat++)
    while (seat->task || take(worker, group, seat)) {
      go_task *task = seat->task;
      if (go_seat_advance(seat, &worker->pool->stop)) break;
      give_back(worker, group, task);
    }
}

/* Sends the group's leaves away; none after a stop, when nobody will bring them back. */
static void send(go_worker *worker, go_group *group) {
  go_pool *pool = worker->pool;
  pthread_mutex_lock(&pool->lock);
  if (!atomic_load(&pool->stop))
    for (int32_t i = 0; i < group->seats; i++)
      if (group->seat[i].waits) go_exchange_send(&pool->exchange, group->parcel + i);
  if (group->away > 0) pthread_cond_signal(&pool->leaves);
  pthread_mutex_unlock(&pool->lock);
}

/* Hands the outputs that are back to their seats. */
static void receive(go_group *group) {
  for (int32_t i = 0; i < group->seats; i++)
    if (group->seat[i].waits) go_seat_answer(group->seat + i, &group->parcel[i].output);
}

static void fail(go_group *group) {
  for (int32_t i = 0; i < group->seats; i++)
    if (group->seat[i].task) go_seat_fail(group->seat + i, GO_ERR_STOPPED);
}

/* ---- the thread ----------------------------------------------------------------------------------------- */

/* A group that can go on, in turn; NULL: none now. Under the lock. */
static go_group *find_ready(go_worker *worker) {
  for (int32_t i = 0; i < worker->groups; i++) {
    worker->turn = (worker->turn + 1) % worker->groups;
    go_group *group = worker->group + worker->turn;
    if (group->away == 0 && (group->playing > 0 || may_take(worker, group))) return group;
  }
  return NULL;
}

/* The next group to go on with; NULL: the pool is closing and everything is given back. */
static go_group *next_group(go_worker *worker) {
  go_pool *pool = worker->pool;
  if (worker->batch && worker->group->playing > 0) return worker->group;
  pthread_mutex_lock(&pool->lock);
  go_group *group = find_ready(worker);
  while (!group && !(pool->closing && !pool->queue.first && playing(worker) == 0)) {
    worker->asleep = 1;
    pthread_cond_wait(&worker->wake, &pool->lock);
    worker->asleep = 0;
    group = find_ready(worker);
  }
  pthread_mutex_unlock(&pool->lock);
  return group;
}

static void *work(void *argument) {
  go_worker *worker = argument;
  go_group *group;
  go_fp_enter();
  while ((group = next_group(worker)) != NULL) {
    if (atomic_load_explicit(&worker->pool->stop, memory_order_relaxed)) fail(group);
    else if (!worker->batch) receive(group);
    advance(worker, group);
    if (worker->batch) go_batch_run(worker->batch, group->seat, group->seats);
    else send(worker, group);
  }
  return NULL;
}

/* ---- life ----------------------------------------------------------------------------------------------- */

static void release(go_worker *worker) {
  for (int32_t i = 0; worker->seat && i < worker->pool->games; i++) go_seat_clear(worker->seat + i);
  free(worker->seat);
  free(worker->parcel);
  go_batch_free(worker->batch);
  go_cache_free(worker->cache);
}

/* The groups of the seats, and what comes back to which. */
static void divide(go_worker *worker) {
  const int32_t games = worker->pool->games;
  worker->groups = worker->batch ? 1 : 2;
  const int32_t first = worker->batch ? games : (games + 1) / 2;
  worker->group[0] = (go_group){.seat = worker->seat, .parcel = worker->parcel, .seats = first};
  worker->group[1] = (go_group){.seat = worker->seat + first, .parcel = NULL, .seats = games - first};
  if (worker->batch) return;
  worker->group[1].parcel = worker->parcel + first;
  for (int32_t i = 0; i < games; i++) {
    worker->parcel[i].leaf = &worker->seat[i].leaf;
    worker->parcel[i].away = &worker->group[i >= first].away;
    worker->parcel[i].back = &worker->wake;
  }
}

static int prepare(go_worker *worker) {
  const size_t games = (size_t)worker->pool->games;
  const int32_t kernel = worker->pool->kernel;
  const size_t bytes = games * CACHE_GAME > CACHE_LEAST ? games * CACHE_GAME : CACHE_LEAST;
  int status = go_cache_new(bytes, &worker->cache);
  worker->seat = calloc(games, sizeof *worker->seat);
  if (!worker->seat) status = GO_ERR_MEMORY;
  for (size_t i = 0; i < games && status == GO_OK; i++) status = go_seat_init(worker->seat + i, worker->cache);
  if (status == GO_OK && kernel != GO_KERNEL_OUTSIDE) status = go_batch_new(kernel, (int32_t)games, &worker->batch);
  if (kernel == GO_KERNEL_OUTSIDE) worker->parcel = calloc(games, sizeof *worker->parcel);
  if (kernel == GO_KERNEL_OUTSIDE && !worker->parcel) status = GO_ERR_MEMORY;
  if (status == GO_OK) divide(worker);
  return status;
}

int go_worker_start(go_worker *worker, go_pool *pool) {
  worker->pool = pool;
  int status = prepare(worker);
  if (status == GO_OK && pthread_cond_init(&worker->wake, NULL) != 0) status = GO_ERR_MEMORY;
  if (status == GO_OK && pthread_create(&worker->thread, NULL, work, worker) != 0) {
    pthread_cond_destroy(&worker->wake);
    status = GO_ERR_MEMORY;
  }
  if (status != GO_OK) release(worker);
  return status;
}

void go_worker_end(go_worker *worker) {
  pthread_join(worker->thread, NULL);
  pthread_cond_destroy(&worker->wake);
  release(worker);
}

void go_worker_wake(go_pool *pool) {
  go_worker *idlest = NULL;
  for (go_worker *worker = pool->worker; worker < pool->worker + pool->threads; worker++)
    if (worker->asleep && (!idlest || playing(worker) < playing(idlest))) idlest = worker;
  if (!idlest) return;
  idlest->asleep = 0; /* so that the next job wakes another */
  pthread_cond_signal(&idlest->wake);
}
