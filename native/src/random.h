#ifndef GO_RANDOM_H
#define GO_RANDOM_H
/* Counter-based random numbers of one ply (docs/spec/search.md, "Random numbers").
 *
 * A stream is named by (game seed, ply, purpose, slot); its draws are Philox blocks with counter
 * (draw, slot, ply, purpose), so no number depends on how many others were drawn. */
#include "go_engine.h"

enum { GO_PURPOSE_KIND = 1, GO_PURPOSE_NOISE = 2, GO_PURPOSE_MOVE = 3, GO_PURPOSE_GUMBEL = 4 };

typedef struct go_stream {
  uint32_t key[2];
  uint32_t counter[4]; /* of the next block */
} go_stream;

go_stream go_stream_open(const uint8_t seed[32], uint32_t ply, uint32_t purpose, uint32_t slot);
/* The next block of four words. */
void go_stream_words(go_stream *stream, uint32_t out[4]);
/* The next block as two numbers of the open interval (0, 1). */
void go_stream_pair(go_stream *stream, double out[2]);
/* Standard normal: Marsaglia's polar method (Marsaglia and Bray, 1964), its second number thrown away. */
double go_stream_normal(go_stream *stream);
/* log of a Gamma(alpha, 1) number, alpha > 0 (Marsaglia and Tsang, 2000); in log space, since for small alpha the
 * number itself underflows. */
double go_stream_log_gamma(go_stream *stream, double alpha);
/* The standard Gumbel number of a move in ply `ply` of this game. */
double go_gumbel_draw(const uint8_t seed[32], uint32_t ply, uint16_t move);

#endif
