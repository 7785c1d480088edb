/* The pool's face: jobs in, results out, leaves out and outputs back. worker.c plays. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 1024, GAMES_MAX = 1024 };

/* ---- tasks ---------------------------------------------------------------------------------------------- */

static void task_free(go_task *task) {
  free(task->block);
  free(task->begun);
  free(task->played);
  free(task->digests);
  free(task);
}

static void chain_free(go_task *task) {
  while (task) {
    go_task *next = task->next;
    task_free(task);
    task = next;
  }
}

/* A copy; an empty one is one too. NULL for want of memory. */
static uint8_t *copy_of(const uint8_t *data, size_t len) {
  uint8_t *copy = malloc(len + 1);
  if (copy) memcpy(copy, data, len);
  return copy;
}

/* `block` and `begun` are copied, NULL when there is none; at most one is there. */
static go_task *task_new(const go_job *job, const uint8_t *block, const uint8_t *begun, size_t len) {
  go_task *task = calloc(1, sizeof *task);
  if (!task) return NULL;
  task->job = *job;
  if (block) task->block = copy_of(block, task->block_len = len);
  if (begun) task->begun = copy_of(begun, task->begun_len = len);
  if ((block && !task->block) || (begun && !task->begun)) {
    free(task);
    return NULL;
  }
  return task;
}

/* ---- life ----------------------------------------------------------------------------------------------- */

/* A condition whose waits end by the monotonic clock. */
static int timed_init(pthread_cond_t *condition) {
  pthread_condattr_t attr;
  if (pthread_condattr_init(&attr) != 0) return GO_ERR_MEMORY;
  const int ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 && pthread_cond_init(condition, &attr) == 0;
  pthread_condattr_destroy(&attr);
  return ok ? GO_OK : GO_ERR_MEMORY;
}

static int locks_init(go_pool *pool) {
  if (pthread_mutex_init(&pool->lock, NULL) != 0) return GO_ERR_MEMORY;
  if (timed_init(&pool->result) == GO_OK) {
    if (timed_init(&pool->leaves) == GO_OK) return GO_OK;
    pthread_cond_destroy(&pool->result);
  }
  pthread_mutex_destroy(&pool->lock);
  return GO_ERR_MEMORY;
}

static void stop(go_pool *pool, int closing) {
  pthread_mutex_lock(&pool->lock);
  atomic_store(&pool->stop, 1);
  pool->closing |= closing;
  go_exchange_clear(&pool->exchange);
  for (int32_t i = 0; i < pool->started; i++) pthread_cond_signal(&pool->worker[i].wake);
  pthread_mutex_unlock(&pool->lock);
}

void go_pool_stop(go_pool *pool) { stop(pool, 0); }

void go_pool_free(go_pool *pool) {
  if (!pool) return;
  stop(pool, 1);
  for (int32_t i = 0; i < pool->started; i++) go_worker_end(pool->worker + i);
  chain_free(pool->queue.first);
  chain_free(pool->finished.first);
  chain_free(pool->kept);
  go_exchange_free(&pool->exchange);
  pthread_cond_destroy(&pool->leaves);
  pthread_cond_destroy(&pool->result);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

int go_pool_new(int32_t threads, int32_t games, int32_t kernel, go_pool **out) {
  if (!out || threads < 1 || threads > THREADS_MAX || games < 1 || games > GAMES_MAX) return GO_ERR_ARGUMENT;
  if (kernel != GO_KERNEL_OUTSIDE && kernel != GO_KERNEL_BEST && !go_kernel_available(kernel)) return GO_ERR_KERNEL;
  go_pool *pool = calloc(1, sizeof *pool + (size_t)threads * sizeof *pool->worker);
  if (!pool) return GO_ERR_MEMORY;
  if (locks_init(pool) != GO_OK) {
    free(pool);
    return GO_ERR_MEMORY;
  }
  pool->threads = threads;
  pool->games = games;
  pool->kernel = kernel;
  pool->queue.last = &pool->queue.first;
  pool->finished.last = &pool->finished.first;
  go_exchange_init(&pool->exchange);
  while (pool->started < threads) {
    const int status = go_worker_start(pool->worker + pool->started, pool);
    if (status != GO_OK) {
      go_pool_free(pool);
      return status;
    }
    pool->started++;
  }
  *out = pool;
  return GO_OK;
}

int32_t go_pool_pending(const go_pool *pool) {
  go_pool *locked = (go_pool *)pool;
  pthread_mutex_lock(&locked->lock);
  const int32_t pending = pool->pending;
  pthread_mutex_unlock(&locked->lock);
  return pending;
}

/* ---- jobs in -------------------------------------------------------------------------------------------- */

static int submit(go_pool *pool, const go_job *job, const uint8_t *block, const uint8_t *begun, size_t len) {
  if (!pool || !job) return GO_ERR_ARGUMENT;
  const int status = go_job_check(job);
  if (status != GO_OK) return status;
  if (atomic_load(&pool->stop)) return GO_ERR_STOPPED;
  go_task *task = task_new(job, block, begun, len);
  if (!task) return GO_ERR_MEMORY;
  pthread_mutex_lock(&pool->lock);
  go_list_push(&pool->queue, task);
  atomic_fetch_add(&pool->queued, 1);
  pool->pending++;
  go_worker_wake(pool);
  pthread_mutex_unlock(&pool->lock);
  return GO_OK;
}

int go_pool_play(go_pool *pool, const go_job *job) { return submit(pool, job, NULL, NULL, 0); }

int go_pool_play_on(go_pool *pool, const go_job *job, const uint8_t *begun, size_t len) {
  return begun ? submit(pool, job, NULL, begun, len) : GO_ERR_ARGUMENT;
}

int go_pool_replay(go_pool *pool, const go_job *job, const uint8_t *block, size_t len) {
  return block ? submit(pool, job, block, NULL, len) : GO_ERR_ARGUMENT;
}

/* ---- results out ---------------------------------------------------------------------------------------- */

static struct timespec deadline_after(int32_t timeout_ms) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += timeout_ms / 1000;
  t.tv_nsec += (long)(timeout_ms % 1000) * 1000000L;
  if (t.tv_nsec >= 1000000000L) {
    t.tv_sec++;
    t.tv_nsec -= 1000000000L;
  }
  return t;
}

int go_pool_wait(go_pool *pool, int32_t timeout_ms, go_done *done, int32_t *got) {
  if (!pool || !done || !got || timeout_ms < 0) return GO_ERR_ARGUMENT;
  const struct timespec deadline = deadline_after(timeout_ms);
  *got = 0;
  pthread_mutex_lock(&pool->lock);
  int late = 0;
  while (!pool->finished.first && !late) late = pthread_cond_timedwait(&pool->result, &pool->lock, &deadline) != 0;
  if (pool->finished.first) {
    go_task *task = go_list_pop(&pool->finished);
    *done = task->done;
    *got = 1;
    pool->pending--;
    if (task->played || task->digests) {
      task->next = pool->kept;
      pool->kept = task;
    } else {
      task_free(task);
    }
  }
  pthread_mutex_unlock(&pool->lock);
  return GO_OK;
}

int go_pool_take(go_pool *pool, uint64_t id, uint8_t *block, size_t block_len, uint8_t *digests, size_t digests_len) {
  if (!pool) return GO_ERR_ARGUMENT;
  pthread_mutex_lock(&pool->lock);
  go_task **link = &pool->kept;
  while (*link && (*link)->job.id != id) link = &(*link)->next;
  go_task *task = *link;
  const int fits = task && (!block || block_len == task->done.block_len) &&
                   (!digests || digests_len == 32 * (size_t)task->done.plies);
  if (fits) *link = task->next;
  pthread_mutex_unlock(&pool->lock);
  if (!fits) return GO_ERR_ARGUMENT;
  if (block && block_len) memcpy(block, task->played, block_len);
  if (digests && digests_len) memcpy(digests, task->digests, digests_len);
  task_free(task);
  return GO_OK;
}

/* ---- evaluation outside --------------------------------------------------------------------------------- */

int go_pool_pull(go_pool *pool, int32_t timeout_ms, go_pull *pull, uint8_t *planes, size_t len, int32_t *got) {
  if (!pool || !pull || !planes || !got || timeout_ms < 0 || pool->kernel != GO_KERNEL_OUTSIDE) return GO_ERR_ARGUMENT;
  const struct timespec deadline = deadline_after(timeout_ms);
  *got = 0;
  pthread_mutex_lock(&pool->lock);
  int late = 0, status = GO_OK;
  while (!pool->exchange.first && !late) late = pthread_cond_timedwait(&pool->leaves, &pool->lock, &deadline) != 0;
  if (pool->exchange.first) {
    status = go_exchange_pull(&pool->exchange, pull, planes, len);
    *got = status == GO_OK;
    if (pool->exchange.first) pthread_cond_signal(&pool->leaves); /* for whoever else pulls */
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

int go_pool_push(go_pool *pool, uint64_t ticket, const go_output *outputs, int32_t count) {
  if (!pool || !outputs) return GO_ERR_ARGUMENT;
  pthread_mutex_lock(&pool->lock);
  const int status = go_exchange_push(&pool->exchange, ticket, outputs, count);
  pthread_mutex_unlock(&pool->lock);
  return status;
}
