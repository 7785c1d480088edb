#include "batch.h"

#include <stdlib.h>
#include <string.h>

/* A network that games in flight use. */
typedef struct go_scratch {
  const go_net *net;
  go_eval *eval; /* NULL: there was no memory for it */
  int32_t users;
} go_scratch;

struct go_batch {
  int32_t kernel, nets;
  go_scratch *scratch; /* [2 * seats] */
  go_seat **member;    /* [seats] of the run under way */
  uint8_t *planes;
  go_output *output;
};

/* ---- life ----------------------------------------------------------------------------------------------- */

int go_batch_new(int32_t kernel, int32_t seats, go_batch **out) {
  const size_t n = (size_t)seats;
  go_batch *batch = calloc(1, sizeof *batch);
  if (!batch) return GO_ERR_MEMORY;
  batch->kernel = kernel;
  batch->scratch = calloc(2 * n, sizeof *batch->scratch);
  batch->member = malloc(n * sizeof *batch->member);
  batch->planes = malloc(n * GO_PLANES_MAX);
  batch->output = malloc(n * sizeof *batch->output);
  if (!batch->scratch || !batch->member || !batch->planes || !batch->output) {
    go_batch_free(batch);
    return GO_ERR_MEMORY;
  }
  *out = batch;
  return GO_OK;
}

void go_batch_free(go_batch *batch) {
  if (!batch) return;
  for (int32_t i = 0; i < batch->nets; i++) go_eval_free(batch->scratch[i].eval);
  free(batch->scratch);
  free(batch->member);
  free(batch->planes);
  free(batch->output);
  free(batch);
}

/* ---- networks ------------------------------------------------------------------------------------------- */

static go_scratch *find(go_batch *batch, const go_net *net) {
  go_scratch *scratch = batch->scratch;
  while (scratch < batch->scratch + batch->nets && scratch->net != net) scratch++;
  return scratch; /* or the first free one */
}

static int join(go_batch *batch, const go_net *net) {
  if (!net) return GO_OK;
  go_scratch *scratch = find(batch, net);
  if (scratch == batch->scratch + batch->nets) {
    *scratch = (go_scratch){.net = net};
    batch->nets++;
  }
  scratch->users++;
  return scratch->eval ? GO_OK : go_eval_new(net, batch->kernel, &scratch->eval);
}

static void leave(go_batch *batch, const go_net *net) {
  if (!net) return;
  go_scratch *scratch = find(batch, net);
  if (--scratch->users > 0) return;
  go_eval_free(scratch->eval);
  *scratch = batch->scratch[--batch->nets];
}

int go_batch_join(go_batch *batch, const go_job *job) {
  const int black = join(batch, job->black.net), white = join(batch, job->white.net);
  return black != GO_OK ? black : white;
}

void go_batch_leave(go_batch *batch, const go_job *job) {
  leave(batch, job->black.net);
  leave(batch, job->white.net);
}

/* ---- runs ----------------------------------------------------------------------------------------------- */

/* Evaluates `count` members' leaves, which share a network and a size. */
static void run(go_batch *batch, const go_leaf *like, int32_t count) {
  const size_t len = GO_FEATURE_PLANES * go_leaf_points(like);
  for (int32_t i = 0; i < count; i++)
    memcpy(batch->planes + (size_t)i * len, go_leaf_planes(&batch->member[i]->leaf), len);
  const int status = go_eval_run(find(batch, like->net)->eval, like->size, like->size, count, batch->planes,
                                 (size_t)count * len, batch->output);
  for (int32_t i = 0; i < count; i++) {
    go_seat *seat = batch->member[i];
    if (status == GO_OK) go_seat_answer(seat, batch->output + i);
    else go_seat_fail(seat, status);
  }
}

void go_batch_run(go_batch *batch, go_seat *seat, int32_t seats) {
  for (int32_t first = 0; first < seats; first++) {
    const go_leaf *like = &seat[first].leaf;
    int32_t count = 0;
    if (!seat[first].waits) continue;
    for (int32_t i = first; i < seats; i++)
      if (seat[i].waits && seat[i].leaf.net == like->net && seat[i].leaf.size == like->size)
        batch->member[count++] = seat + i;
    run(batch, like, count);
  }
}
