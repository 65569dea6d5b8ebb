/*
 * scratch: the buffers in which documents are put together. Making one takes a text and a tape of
 * unknown size for a moment, then one block of the right size; each thread keeps a few of those
 * buffers, so that only the block is allocated. For the files of this folder.
 */
#ifndef JSON_SCRATCH_H
#define JSON_SCRATCH_H

#include "base/strbuf.h"
#include "base/vec.h"

typedef VEC(uint64_t) tape_vec;

/* Empty, with the memory of one that was given back; grows as any other. */
struct strbuf scratch_text(void);
tape_vec scratch_tape(void);
/* Gives the memory back; the buffer is empty afterwards. */
void scratch_text_done(struct strbuf *b);
void scratch_tape_done(tape_vec *t);

#endif
