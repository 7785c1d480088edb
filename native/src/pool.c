/* Threads that play and replay whole games: one queue in, one queue out, one mutex. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exact_math.h"
#include "play.h"

enum { THREADS_MAX = 1024, CACHE_BYTES = 8 << 20 };

/* A job on its way through the pool; in exactly one of the lists, or with one worker. */
typedef struct go_task {
  struct go_task *next;
  go_job job;
  uint8_t *block; /* to replay; NULL: to play */
  size_t block_len;
  go_played played;
} go_task;

typedef struct go_list {
  go_task *first, **last;
} go_list;

struct go_pool {
  pthread_mutex_t lock;
  pthread_cond_t work, result;
  go_list queue, finished;
  go_task *kept;      /* returned by wait, not yet taken */
  int32_t pending;    /* given, not yet returned by wait */
  int32_t kernel, threads;
  int closing;
  atomic_int stop;
  pthread_t thread[];
};

/* ---- tasks and lists ------------------------------------------------------------------------------------ */

static void list_init(go_list *list) {
  list->first = NULL;
  list->last = &list->first;
}

static void list_push(go_list *list, go_task *task) {
  task->next = NULL;
  *list->last = task;
  list->last = &task->next;
}

static go_task *list_pop(go_list *list) {
  go_task *task = list->first;
  list->first = task->next;
  if (!list->first) list->last = &list->first;
  return task;
}

static void task_free(go_task *task) {
  free(task->block);
  free(task->played.block);
  free(task->played.digests);
  free(task);
}

static void chain_free(go_task *task) {
  while (task) {
    go_task *next = task->next;
    task_free(task);
    task = next;
  }
}

/* ---- workers -------------------------------------------------------------------------------------------- */

static void work_on(go_pool *pool, go_search *search, go_task *task) {
  if (!search || atomic_load(&pool->stop))
    task->played.done = (go_done){.id = task->job.id, .status = search ? GO_ERR_STOPPED : GO_ERR_MEMORY, .bad_ply = -1};
  else if (task->block)
    go_replay_job(search, &task->job, task->block, task->block_len, &pool->stop, &task->played);
  else
    go_play_job(search, &task->job, &pool->stop, &task->played);
}

static void *worker(void *argument) {
  go_pool *pool = argument;
  go_search *search = NULL;
  go_fp_enter();
  if (go_search_new(pool->kernel, CACHE_BYTES, &search) != GO_OK) search = NULL;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (!pool->queue.first && !pool->closing) pthread_cond_wait(&pool->work, &pool->lock);
    if (!pool->queue.first) break;
    go_task *task = list_pop(&pool->queue);
    pthread_mutex_unlock(&pool->lock);
    work_on(pool, search, task);
    pthread_mutex_lock(&pool->lock);
    list_push(&pool->finished, task);
    pthread_cond_signal(&pool->result);
  }
  pthread_mutex_unlock(&pool->lock);
  go_search_free(search);
  return NULL;
}

/* ---- life ----------------------------------------------------------------------------------------------- */

static void pool_release(go_pool *pool) {
  pthread_cond_destroy(&pool->result);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

static int pool_init(go_pool *pool) {
  pthread_condattr_t attr;
  if (pthread_mutex_init(&pool->lock, NULL) != 0) return GO_ERR_MEMORY;
  int ok = pthread_condattr_init(&attr) == 0;
  if (ok) {
    ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&pool->result, &attr) == 0;
    pthread_condattr_destroy(&attr);
  }
  if (ok && pthread_cond_init(&pool->work, NULL) != 0) {
    pthread_cond_destroy(&pool->result);
    ok = 0;
  }
  if (!ok) pthread_mutex_destroy(&pool->lock);
  return ok ? GO_OK : GO_ERR_MEMORY;
}

static void join_all(go_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  atomic_store(&pool->stop, 1);
  pool->closing = 1;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (int32_t i = 0; i < pool->threads; i++) pthread_join(pool->thread[i], NULL);
}

int go_pool_new(int32_t threads, int32_t kernel, go_pool **out) {
  if (!out || threads < 1 || threads > THREADS_MAX) return GO_ERR_ARGUMENT;
  if (kernel != GO_KERNEL_BEST && !go_kernel_available(kernel)) return GO_ERR_KERNEL;
  go_pool *pool = calloc(1, sizeof *pool + (size_t)threads * sizeof(pthread_t));
  if (!pool) return GO_ERR_MEMORY;
  if (pool_init(pool) != GO_OK) {
    free(pool);
    return GO_ERR_MEMORY;
  }
  pool->kernel = kernel;
  list_init(&pool->queue);
  list_init(&pool->finished);
  while (pool->threads < threads) {
    if (pthread_create(&pool->thread[pool->threads], NULL, worker, pool) != 0) {
      join_all(pool);
      pool_release(pool);
      return GO_ERR_MEMORY;
    }
    pool->threads++;
  }
  *out = pool;
  return GO_OK;
}

void go_pool_free(go_pool *pool) {
  if (!pool) return;
  join_all(pool);
  chain_free(pool->queue.first);
  chain_free(pool->finished.first);
  chain_free(pool->kept);
  pool_release(pool);
}

void go_pool_stop(go_pool *pool) { atomic_store(&pool->stop, 1); }

int32_t go_pool_pending(const go_pool *pool) {
  go_pool *locked = (go_pool *)pool;
  pthread_mutex_lock(&locked->lock);
  const int32_t pending = pool->pending;
  pthread_mutex_unlock(&locked->lock);
  return pending;
}

/* ---- jobs in -------------------------------------------------------------------------------------------- */

static int submit(go_pool *pool, const go_job *job, const uint8_t *block, size_t len) {
  if (!pool || !job) return GO_ERR_ARGUMENT;
  const int status = go_job_check(job);
  if (status != GO_OK) return status;
  if (atomic_load(&pool->stop)) return GO_ERR_STOPPED;
  go_task *task = calloc(1, sizeof *task);
  if (!task) return GO_ERR_MEMORY;
  task->job = *job;
  if (block) {
    task->block = malloc(len + 1); /* an empty block is a block too */
    if (!task->block) {
      free(task);
      return GO_ERR_MEMORY;
    }
    memcpy(task->block, block, len);
    task->block_len = len;
  }
  pthread_mutex_lock(&pool->lock);
  list_push(&pool->queue, task);
  pool->pending++;
  pthread_cond_signal(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  return GO_OK;
}

int go_pool_play(go_pool *pool, const go_job *job) { return submit(pool, job, NULL, 0); }

int go_pool_replay(go_pool *pool, const go_job *job, const uint8_t *block, size_t len) {
  return block ? submit(pool, job, block, len) : GO_ERR_ARGUMENT;
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
    go_task *task = list_pop(&pool->finished);
    *done = task->played.done;
    *got = 1;
    pool->pending--;
    if (task->played.block || task->played.digests) {
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
  int status = GO_ERR_ARGUMENT;
  if (task) {
    const go_done *done = &task->played.done;
    if ((!block || block_len == done->block_len) && (!digests || digests_len == 32 * (size_t)done->plies)) {
      *link = task->next;
      status = GO_OK;
    }
  }
  pthread_mutex_unlock(&pool->lock);
  if (status != GO_OK) return status;
  if (block && block_len) memcpy(block, task->played.block, block_len);
  if (digests && digests_len) memcpy(digests, task->played.digests, digests_len);
  task_free(task);
  return GO_OK;
}
