/* The trace digest D: SHA-256 over what identifies the ply and every node of its tree. */
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "search.h"

static const char TAG[16] = "gonode/trace/v1"; /* with its final NUL */
enum { PREFIX = sizeof TAG + 3 * 32 + 8, NODE = 4 + 2 + 4 + 8 + 8 };

int go_search_trace(go_search *search, const uint8_t release[32], const go_search_ids *ids, uint32_t ply,
                    uint8_t digest[32]) {
  const size_t len = PREFIX + (size_t)search->nodes * NODE;
  if (len > search->trace_capacity) {
    uint8_t *trace = realloc(search->trace, len);
    if (!trace) return GO_ERR_MEMORY;
    search->trace = trace;
    search->trace_capacity = len;
  }
  uint8_t *at = search->trace;
  memcpy(at, TAG, sizeof TAG);
  at += sizeof TAG;
  memcpy(at, release, 32);
  memcpy(at + 32, ids->config, 32);
  memcpy(at + 64, ids->game_seed, 32);
  go_write_u32(at + 96, ply);
  go_write_u32(at + 100, search->nodes);
  at += 104;
  for (uint32_t i = 0; i < search->nodes; i++, at += NODE) {
    const go_node *node = search->node + i;
    go_write_u32(at, node->parent);
    go_write_u16(at + 4, node->move);
    go_write_u32(at + 6, node->visits);
    go_write_u64(at + 10, (uint64_t)node->value_sum);
    go_write_u64(at + 18, (uint64_t)node->score_sum);
  }
  go_sha256(search->trace, len, digest);
  return GO_OK;
}
