/* The files of the page, as the build puts them into the program (tools/embed-assets). */
#ifndef UI_ASSETS_H
#define UI_ASSETS_H

#include <stddef.h>

struct asset {
    const char *path; /* NULL: the end of the table */
    const char *type;
    const char *etag; /* with its quotes */
    const unsigned char *gzip;
    size_t gzip_len, len;
};
extern const struct asset assets[];

#endif
