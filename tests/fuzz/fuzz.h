/*
 * The contract of a fuzz target, libFuzzer's: feed the bytes to one parser, abort when it breaks a
 * promise, return 0. A target is one file fuzz-NAME.c with seeds in corpus/NAME/; nothing else
 * needs to be told about it.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
