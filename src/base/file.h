/* Whole files and directories, for configuration and state at the edges. Blocking: start-up,
 * shutdown and the command line only. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/err.h"
#include "base/strbuf.h"

/* Appends the contents; ERR_NOT_FOUND when there is none, ERR_TOO_LARGE beyond the buffer's limit.
 */
int file_read(const char *path, struct strbuf *out, struct err *err);
/* Writes beside it and renames, so that readers see the old file or the whole new one. */
int file_write(const char *path, str content, unsigned mode, struct err *err);
/* With its parents; not an error when it is there. */
int dir_make(const char *path, unsigned mode, struct err *err);
/* Everything below it, and itself. Symbolic links are removed, not followed. */
int dir_remove(const char *path, struct err *err);

#endif
